/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* lock/: acquiring when the server does not answer, refuses, or goes away; and giving up. */
#include <string.h>

#include "lock_bench.h"
#include "tap.h"

static struct bench bench;

/* One that has been told once that another has the lock. */
static void
wait_behind_another(int64_t ttl_ns, int64_t wait_ns)
{
	bench_acquire(&bench, ttl_ns, wait_ns);
	bench_answer_held(&bench, 20 * S);
	CHECK_INT(bench.lock.state, LOCK_WAITING);
}

static void
test_first_contact(void)
{
	static const enum outcome outcomes[] = {OUTCOME_UNREACHABLE, OUTCOME_REFUSED,
	    OUTCOME_DENIED};
	static const int64_t waits[] = {0, 5 * S, WAIT_FOR_EVER};
	for (size_t i = 0; i < COUNT_OF(outcomes); i++) {
		for (size_t k = 0; k < COUNT_OF(waits); k++) {
			tap_case("a first contact that fails ends it at once: outcome %d, wait %zu",
			    (int)outcomes[i], k);
			bench_acquire(&bench, 30 * S, waits[k]);
			bench_pass(&bench, 20 * MS);
			bench_answer(&bench, outcomes[i]);
			bench_check_failed(&bench, outcomes[i]);
			CHECK_INT(bench.store.total, 1);
			CHECK_HAS(bench.lock.problem.text, "outcome");
		}
	}
}

static void
test_slow_first_contact(void)
{
	tap_case("P36: -n waits for its first answer as long as the requests' own limits say");
	bench_acquire(&bench, 30 * S, 0);
	bench_pass(&bench, 7 * S);
	CHECK_INT(bench.lock.state, LOCK_ASKING);
	CHECK_INT(bench.store.total, 1);
	bench_answer(&bench, OUTCOME_UNREACHABLE);
	bench_check_failed(&bench, OUTCOME_UNREACHABLE);

	static const int64_t waits[] = {300 * MS, 5 * S};
	for (size_t k = 0; k < COUNT_OF(waits); k++) {
		tap_case("P36: -w ends before the first answer: undone, and no conflict: wait %zu",
		    k);
		bench_acquire(&bench, 30 * S, waits[k]);
		bench_pass(&bench, waits[k] + 50 * MS - 1);
		CHECK_INT(bench.lock.state, LOCK_ASKING);
		bench_pass(&bench, 1);
		CHECK_INT(bench.lock.state, LOCK_LEAVING);
		CHECK(bench_is_asked(&bench, STORE_RELEASE));
		bench_pass(&bench, 80 * MS);
		bench_check_failed(&bench, OUTCOME_UNREACHABLE);
		CHECK_TEXT(bench.lock.problem.text, "no answer in time");
		CHECK(bench.lock.in_doubt); /* --if-unreachable is for servers that are not there */
	}
}

/* Promise 5: ambiguous is not acquired. */
static void
test_unknown(void)
{
	static const int64_t waits[] = {0, 5 * S, WAIT_FOR_EVER};
	for (size_t k = 0; k < COUNT_OF(waits); k++) {
		tap_case("a lost answer is asked for again at once, and OWNED is a grant: wait %zu",
		    k);
		bench_acquire(&bench, 30 * S, waits[k]);
		bench_pass(&bench, 20 * MS);
		bench_answer(&bench, OUTCOME_UNKNOWN);
		CHECK(!lock_is_held(&bench.lock));
		CHECK_INT(bench.told, 0);
		bench_pass(&bench, 0);
		CHECK(bench_is_asked(&bench, STORE_ACQUIRE));
		struct instant sent = bench.now;
		bench_pass(&bench, 3 * MS);
		bench_answer(&bench, OUTCOME_OK);
		CHECK_INT(bench.lock.state, LOCK_HELD);
		CHECK_INT(bench.lock.t0.ns, sent.ns);
		CHECK_INT(bench.store.total, 2);
	}

	tap_case("-n: a lost answer, then another has it: a conflict");
	bench_acquire(&bench, 30 * S, 0);
	bench_pass(&bench, 2 * S);
	bench_answer(&bench, OUTCOME_UNKNOWN);
	bench_pass(&bench, 0);
	bench_answer_held(&bench, 20 * S);
	bench_check_failed(&bench, OUTCOME_HELD);
	CHECK_INT(bench.store.total, 2);

	static const enum outcome seconds[] = {OUTCOME_UNKNOWN, OUTCOME_UNREACHABLE,
	    OUTCOME_REFUSED, OUTCOME_DENIED};
	static const enum outcome failures[] = {OUTCOME_UNREACHABLE, OUTCOME_UNREACHABLE,
	    OUTCOME_REFUSED, OUTCOME_DENIED};
	for (size_t i = 0; i < COUNT_OF(seconds); i++) {
		tap_case("-n: a lost answer, then outcome %d: undone by a release, and no conflict",
		    (int)seconds[i]);
		bench_acquire(&bench, 30 * S, 0);
		bench_pass(&bench, 2 * S);
		bench_answer(&bench, OUTCOME_UNKNOWN);
		bench_pass(&bench, 0);
		bench_pass(&bench, 2 * S);
		bench_answer(&bench, seconds[i]);
		CHECK(bench_is_asked(&bench, STORE_RELEASE));
		CHECK_INT(bench.lock.state, LOCK_LEAVING);
		bench_answer(&bench, OUTCOME_OK);
		bench_check_failed(&bench, failures[i]);
		CHECK_INT(bench.store.total, 3);
	}
}

/* Answers all tries by `outcome`, each after `delay_ns`, until no more come. The pauses between the
 * answers and the next tries go to `pauses`; returns how many. */
static int
fail_all(enum outcome outcome, int64_t delay_ns, int64_t *pauses, int size)
{
	int count = 0;
	for (;;) {
		bench_pass(&bench, delay_ns);
		if (!bench_is_asked(&bench, STORE_ACQUIRE))
			return count;
		struct instant answered = bench.now;
		bench_answer(&bench, outcome);
		if (bench.lock.state == LOCK_FAILED || bench.lock.state == LOCK_LEAVING ||
		    !bench_pass_until_asked(&bench, 100 * S) || count == size)
			return count;
		pauses[count++] = instant_between(answered, bench.now);
	}
}

static void
check_pauses(const int64_t *pauses, int count, int64_t longest)
{
	int64_t wanted = 50 * MS;
	CHECK(count > 3);
	CHECK_INT(pauses[0], 0);
	for (int i = 1; i < count && !tap_failed(); i++) {
		tap_note("retry %d", i);
		CHECK_INT(pauses[i], wanted);
		wanted = 2 * wanted < longest ? 2 * wanted : longest;
	}
	tap_note("%s", "");
}

static void
test_server_lost(void)
{
	static int64_t pauses[2000];
	static const struct {
		int64_t ttl_ns;
		int64_t patience_ns, longest;
	} rows[] = {
	    {1 * S, 60 * S, 100 * MS},
	    {30 * S, 60 * S, 2500 * MS},
	    {60 * S, 120 * S, 5 * S},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		tap_case("a server lost while waiting is tried for max(2 T, 60 s): row %zu", i + 1);
		wait_behind_another(rows[i].ttl_ns, WAIT_FOR_EVER);
		CHECK(bench_pass_until_asked(&bench, 1 * S));
		struct instant lost_at = bench.now;
		int count = fail_all(OUTCOME_UNREACHABLE, 0, pauses, COUNT_OF(pauses));
		check_pauses(pauses, count, rows[i].longest);
		int64_t tried = instant_between(lost_at, bench.told_at);
		CHECK(
		    tried <= rows[i].patience_ns && tried >= rows[i].patience_ns - rows[i].longest);
		bench_check_failed(&bench, OUTCOME_UNREACHABLE);
		CHECK_INT(bench.store.started[STORE_RELEASE], 0);
	}

	tap_case("with -w it is tried until that ends, and is unreachable, no conflict");
	wait_behind_another(30 * S, 10 * S);
	CHECK(bench_pass_until_asked(&bench, 1 * S));
	fail_all(OUTCOME_UNREACHABLE, 0, pauses, COUNT_OF(pauses));
	int64_t waited = instant_between(bench.lock.asked_at, bench.told_at);
	CHECK(waited >= 9900 * MS && waited <= 10 * S);
	bench_check_failed(&bench, OUTCOME_UNREACHABLE);

	tap_case("also when a try hangs at its end: a server error is never a conflict");
	wait_behind_another(30 * S, 10 * S);
	CHECK(bench_pass_until_asked(&bench, 1 * S));
	bench_answer(&bench, OUTCOME_UNREACHABLE);
	CHECK(bench_pass_until_asked(&bench, 1 * S));
	bench_answer(&bench, OUTCOME_UNREACHABLE);
	CHECK(bench_pass_until_asked(&bench, 1 * S));
	bench_pass(&bench, 10 * S);
	if (bench.store.under_way)
		bench_answer(&bench, OUTCOME_UNREACHABLE);
	bench_check_failed(&bench, OUTCOME_UNREACHABLE);

	tap_case("one that comes back is waited at as before, and its patience begins anew");
	wait_behind_another(30 * S, WAIT_FOR_EVER);
	for (int round = 0; round < 5 && !tap_failed(); round++) {
		CHECK(bench_pass_until_asked(&bench, 1 * S));
		struct instant lost_at = bench.now;
		while (instant_between(lost_at, bench.now) < 50 * S && !tap_failed()) {
			bench_answer(&bench, OUTCOME_UNREACHABLE);
			CHECK(bench_pass_until_asked(&bench, 5 * S));
			CHECK_INT(bench.lock.state, LOCK_WAITING);
		}
		bench_answer_held(&bench, 20 * S);
		CHECK_INT(bench.lock.state, LOCK_WAITING);
		CHECK_INT(bench.lock.failures, 0);
	}
	CHECK(bench_pass_until_asked(&bench, 1 * S));
	bench_answer(&bench, OUTCOME_OK);
	CHECK_INT(bench.lock.state, LOCK_HELD);

	tap_case("a refusal (LOADING, READONLY) while waiting is retried, a denial is not");
	wait_behind_another(30 * S, WAIT_FOR_EVER);
	CHECK(bench_pass_until_asked(&bench, 1 * S));
	bench_answer(&bench, OUTCOME_REFUSED);
	CHECK_INT(bench.lock.state, LOCK_WAITING);
	CHECK(bench_pass_until_asked(&bench, 1 * S));
	bench_answer(&bench, OUTCOME_DENIED);
	bench_check_failed(&bench, OUTCOME_DENIED);

	tap_case("answers lost without end: asked again for 60 s, then undone, then unreachable");
	bench_acquire(&bench, 30 * S, WAIT_FOR_EVER);
	struct instant start = bench.now;
	int count = fail_all(OUTCOME_UNKNOWN, 0, pauses, COUNT_OF(pauses));
	check_pauses(pauses, count, 2500 * MS);
	CHECK(bench_is_asked(&bench, STORE_RELEASE));
	waited = instant_between(start, bench.now);
	CHECK(waited <= 60 * S && waited >= 57500 * MS);
	bench_pass(&bench, 4 * S);
	bench_check_failed(&bench, OUTCOME_UNREACHABLE);
	CHECK_INT(bench.store.closed, 1);
}

/* -- giving up -------------------------------------------------------------------------------- */

static void
check_undone(void)
{
	CHECK(bench_is_asked(&bench, STORE_RELEASE));
	CHECK_INT(bench.store.request.rest_ns, 0);
	CHECK_INT(bench.lock.state, LOCK_LEAVING);
	bench_pass(&bench, 80 * MS);
	CHECK_INT(bench.store.closed, 1);
	bench_check_failed(&bench, OUTCOME_HELD);
	CHECK_INT(bench.store.started[STORE_RELEASE], 1);
}

static void
test_give_up(void)
{
	tap_case("P18: given up while the first answer is awaited: undone, over within 80 ms");
	bench_acquire(&bench, 30 * S, WAIT_FOR_EVER);
	bench_pass(&bench, 20 * MS);
	lock_give_up(&bench.lock, bench.now);
	check_undone();

	tap_case("given up while a poll is under way");
	wait_behind_another(30 * S, WAIT_FOR_EVER);
	CHECK(bench_pass_until_asked(&bench, 1 * S));
	lock_give_up(&bench.lock, bench.now);
	check_undone();

	tap_case("given up between two polls: over at once, nothing is sent");
	wait_behind_another(30 * S, WAIT_FOR_EVER);
	bench_pass(&bench, 20 * MS);
	lock_give_up(&bench.lock, bench.now);
	CHECK_INT(bench.told_at.ns, bench.now.ns);
	bench_check_failed(&bench, OUTCOME_HELD);
	CHECK_INT(bench.store.total, 1);

	tap_case("given up in doubt, between two tries: undone");
	bench_acquire(&bench, 30 * S, WAIT_FOR_EVER);
	bench_answer(&bench, OUTCOME_UNKNOWN);
	bench_pass(&bench, 0);
	bench_answer(&bench, OUTCOME_UNREACHABLE);
	CHECK(!bench.store.under_way);
	lock_give_up(&bench.lock, bench.now);
	check_undone();

	tap_case("given up after a doubt was cleared up: nothing is sent");
	bench_acquire(&bench, 30 * S, WAIT_FOR_EVER);
	bench_answer(&bench, OUTCOME_UNKNOWN);
	bench_pass(&bench, 0);
	bench_answer_held(&bench, 20 * S);
	lock_give_up(&bench.lock, bench.now);
	bench_check_failed(&bench, OUTCOME_HELD);
	CHECK_INT(bench.store.total, 2);

	tap_case("given up just when it was granted: given back within 80 ms");
	bench_hold(&bench, 30 * S);
	lock_give_up(&bench.lock, bench.now);
	CHECK(bench_is_asked(&bench, STORE_RELEASE));
	CHECK_INT(bench.store.request.rest_ns, 0);
	bench_pass(&bench, 10 * MS);
	bench_answer(&bench, OUTCOME_OK);
	CHECK_INT(bench.lock.state, LOCK_RELEASED);
	CHECK_INT(bench.lock.released, RELEASE_CONFIRMED);

	tap_case("and left to its TTL when that is not answered");
	bench_hold(&bench, 30 * S);
	lock_give_up(&bench.lock, bench.now);
	bench_pass(&bench, 80 * MS - 1);
	CHECK_INT(bench.lock.state, LOCK_RELEASING);
	bench_pass(&bench, 1);
	CHECK_INT(bench.lock.state, LOCK_RELEASED);
	CHECK_INT(bench.lock.released, RELEASE_UNCONFIRMED);
	CHECK_INT(bench.store.closed, 1);

	tap_case("given up twice is given up once");
	bench_acquire(&bench, 30 * S, WAIT_FOR_EVER);
	lock_give_up(&bench.lock, bench.now);
	bench_pass(&bench, 50 * MS);
	lock_give_up(&bench.lock, bench.now);
	bench_pass(&bench, 30 * MS);
	bench_check_failed(&bench, OUTCOME_HELD);
	CHECK_INT(bench.store.started[STORE_RELEASE], 1);

	tap_case("before it was begun, and after it has failed, there is nothing to give up");
	bench_set_up(&bench, 30 * S, 0);
	lock_give_up(&bench.lock, bench.now);
	CHECK_INT(bench.lock.state, LOCK_IDLE);
	lock_acquire(&bench.lock, bench.now);
	bench_answer(&bench, OUTCOME_DENIED);
	lock_give_up(&bench.lock, bench.now);
	bench_check_failed(&bench, OUTCOME_DENIED);
	CHECK_INT(bench.store.total, 1);
}

/* What tells of a lost connection is for holders. */
static void
test_disturbed(void)
{
	tap_case("a waiter does not care for an idle connection that is lost");
	wait_behind_another(30 * S, WAIT_FOR_EVER);
	struct instant due = lock_due(&bench.lock);
	bench_disturb(&bench);
	CHECK_INT(lock_due(&bench.lock).ns, due.ns);
	CHECK_INT(bench.lock.state, LOCK_WAITING);
	CHECK_INT(bench.store.total, 1);
}

int
main(void)
{
	test_first_contact();
	test_slow_first_contact();
	test_unknown();
	test_server_lost();
	test_give_up();
	test_disturbed();
	return tap_end();
}
