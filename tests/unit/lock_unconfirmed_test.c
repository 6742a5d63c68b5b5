/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* lock/: what the server has done, and too few replicas have (--wait-replicas). */
#include "lock_bench.h"
#include "tap.h"

static struct bench bench;

static void
test_acquire(void)
{
	tap_case("an acquire that is not confirmed is no lock, and is asked for again within -w");
	bench_acquire(&bench, 30 * S, 5 * S);
	for (int i = 0; i < 4; i++) {
		bench_answer(&bench, OUTCOME_UNCONFIRMED);
		CHECK_INT(bench.lock.state, LOCK_WAITING);
		CHECK(bench_pass_until_asked(&bench, 3 * S));
		CHECK(bench_is_asked(&bench, STORE_ACQUIRE));
	}
	bench_answer(&bench, OUTCOME_OK);
	CHECK_INT(bench.lock.state, LOCK_HELD);
	/* The lease counts from the request that was confirmed, not from the first. */
	CHECK_INT(instant_between(bench.lock.t0, bench.store.started_at), 0);

	tap_case("when -w is over it is undone, and it was a refusal, no conflict and no absence");
	bench_acquire(&bench, 30 * S, 1 * S);
	for (int i = 0; i < 50 && bench.store.request.verb == STORE_ACQUIRE; i++) {
		bench_pass(&bench, 10 * MS);
		bench_answer(&bench, OUTCOME_UNCONFIRMED);
		if (bench.store.under_way || !bench_pass_until_asked(&bench, 3 * S))
			break;
	}
	CHECK(bench_is_asked(&bench, STORE_RELEASE));
	bench_answer(&bench, OUTCOME_OK);
	CHECK_INT(bench.lock.state, LOCK_FAILED);
	CHECK_INT(bench.lock.failure, OUTCOME_REFUSED);
	CHECK(instant_between(bench.lock.asked_at, bench.now) < 3 * S);

	tap_case("-n: once more, then it is undone");
	bench_acquire(&bench, 30 * S, 0);
	bench_answer(&bench, OUTCOME_UNCONFIRMED);
	CHECK(bench_pass_until_asked(&bench, 1 * S));
	CHECK(bench_is_asked(&bench, STORE_ACQUIRE));
	bench_answer(&bench, OUTCOME_UNCONFIRMED);
	CHECK(bench_is_asked(&bench, STORE_RELEASE));
	bench_answer(&bench, OUTCOME_OK);
	CHECK_INT(bench.lock.state, LOCK_FAILED);
	CHECK_INT(bench.lock.failure, OUTCOME_REFUSED);

	tap_case("without -w it is tried for two leases at first contact, too, then undone");
	bench_acquire(&bench, 40 * S, WAIT_FOR_EVER);
	int tries = 0;
	for (; tries < 1000 && bench.store.request.verb == STORE_ACQUIRE; tries++) {
		bench_answer(&bench, OUTCOME_UNCONFIRMED);
		if (bench.store.under_way || !bench_pass_until_asked(&bench, 5 * S))
			break;
	}
	CHECK(bench_is_asked(&bench, STORE_RELEASE));
	int64_t tried = instant_between(bench.lock.asked_at, bench.now);
	CHECK(tried > 70 * S && tried < 81 * S);

	tap_case("given up by a signal: it is undone");
	bench_acquire(&bench, 30 * S, WAIT_FOR_EVER);
	bench_answer(&bench, OUTCOME_UNCONFIRMED);
	lock_give_up(&bench.lock, bench.now);
	CHECK_INT(bench.store.request.verb, STORE_RELEASE);
}

static void
test_renew(void)
{
	tap_case(
	    "a renewal that is not confirmed is none: the lease ends as if it were unanswered");
	bench_hold(&bench, 30 * S);
	struct instant t0 = bench.lock.t0;
	CHECK(bench_pass_until_asked(&bench, 11 * S));
	while (bench.lock.state != LOCK_LOST && instant_between(t0, bench.now) < 40 * S) {
		if (bench.store.under_way)
			bench_answer(&bench, OUTCOME_UNCONFIRMED);
		bench_pass(&bench, 10 * MS);
	}
	CHECK_INT(bench.lock.state, LOCK_LOST);
	CHECK_INT(bench.lock.loss, LOSS_UNCONFIRMED);
	CHECK(instant_between(t0, bench.lock.t0) == 0);
	CHECK(instant_between(t0, bench.now) < 24 * S);

	tap_case("one that is confirmed in time ends the doubt");
	bench_hold(&bench, 30 * S);
	CHECK(bench_pass_until_asked(&bench, 11 * S));
	bench_answer(&bench, OUTCOME_UNCONFIRMED);
	CHECK_INT(bench.lock.state, LOCK_DOUBTFUL);
	CHECK(bench_pass_until_asked(&bench, 3 * S));
	bench_answer(&bench, OUTCOME_OK);
	CHECK_INT(bench.lock.state, LOCK_HELD);
}

int
main(void)
{
	test_acquire();
	test_renew();
	return tap_end();
}
