/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* lock/: a server that refuses for now. */
#include "lock_bench.h"
#include "tap.h"

static struct bench bench;

/* LOADING, BUSY, READONLY, MISCONF: the server is there, and it says why not. */
static void
test_passing_refusal(void)
{
	static const int64_t impatient[] = {0, WAIT_FOR_EVER};
	for (size_t i = 0; i < COUNT_OF(impatient); i++) {
		tap_case("a refusal that may pass, at first contact, %s: told at once",
		    i == 0 ? "-n" : "without -w");
		bench_acquire(&bench, 30 * S, impatient[i]);
		bench_pass(&bench, 20 * MS);
		bench_answer_passing(&bench);
		bench_check_failed(&bench, OUTCOME_REFUSED);
		CHECK_INT(bench.store.total, 1);
	}

	tap_case("with -w it is tried again, and the lock is had when it has passed");
	bench_acquire(&bench, 30 * S, 5 * S);
	for (int i = 0; i < 4; i++) {
		bench_answer_passing(&bench);
		CHECK_INT(bench.lock.state, LOCK_WAITING);
		CHECK(bench_pass_until_asked(&bench, 1 * S));
		CHECK(bench_is_asked(&bench, STORE_ACQUIRE));
	}
	bench_answer(&bench, OUTCOME_OK);
	CHECK_INT(bench.lock.state, LOCK_HELD);
	CHECK_INT(bench.lock.failures, 0);

	tap_case("until -w is over, once more just before; then it is a refusal, and no conflict");
	bench_acquire(&bench, 30 * S, 5 * S);
	struct instant last = bench.now;
	for (int i = 0; i < 20 && bench.store.under_way; i++) {
		last = bench.store.started_at;
		bench_pass(&bench, 1 * MS);
		bench_answer_passing(&bench);
		bench_pass_until_asked(&bench, 5 * S);
	}
	CHECK_INT(instant_between(bench.lock.asked_at, last), 4950 * MS);
	CHECK_INT(instant_between(bench.lock.asked_at, bench.told_at), 4951 * MS);
	CHECK(bench.store.total >= 7 && bench.store.total <= 9);
	CHECK_TEXT(bench.lock.problem.text, "for now");
	CHECK_INT(bench.store.started[STORE_RELEASE], 0);
	bench_check_failed(&bench, OUTCOME_REFUSED);

	tap_case("a server that goes away meanwhile was there: tried again until -w is over");
	bench_acquire(&bench, 30 * S, 5 * S);
	bench_answer_passing(&bench);
	CHECK(bench_pass_until_asked(&bench, 1 * S));
	bench_answer(&bench, OUTCOME_UNREACHABLE);
	CHECK(bench_pass_until_asked(&bench, 1 * S));
	bench_answer_passing(&bench);
	CHECK(bench_pass_until_asked(&bench, 1 * S));
	bench_answer(&bench, OUTCOME_OK);
	CHECK_INT(bench.lock.state, LOCK_HELD);

	tap_case("one that then refuses the user is believed at once");
	bench_acquire(&bench, 30 * S, 5 * S);
	bench_answer_passing(&bench);
	CHECK(bench_pass_until_asked(&bench, 1 * S));
	bench_answer(&bench, OUTCOME_DENIED);
	bench_check_failed(&bench, OUTCOME_DENIED);

	tap_case("-w ends while such a try is under way: no conflict, and undone");
	bench_acquire(&bench, 30 * S, 300 * MS);
	bench_answer_passing(&bench);
	CHECK(bench_pass_until_asked(&bench, 1 * S));
	bench_pass(&bench, 1 * S);
	CHECK_INT(bench.store.started[STORE_RELEASE], 1);
	bench_check_failed(&bench, OUTCOME_UNREACHABLE);
}

int
main(void)
{
	test_passing_refusal();
	return tap_end();
}
