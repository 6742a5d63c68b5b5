/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* lock/: somebody asks whether the lock is held for certain (lock_confirm). */
#include <string.h>

#include "lock_bench.h"
#include "tap.h"

static struct bench bench;

static void
test_asked(void)
{
	tap_case("it is renewed at once, and t0 says which instant is confirmed");
	bench_hold(&bench, 30 * S);
	bench_pass(&bench, 3 * S);
	struct instant asked = bench.now;
	lock_confirm(&bench.lock, bench.now);
	CHECK_INT(lock_due(&bench.lock).ns, asked.ns);
	bench_pass(&bench, 0);
	CHECK(bench_is_asked(&bench, STORE_RENEW));
	bench.now = instant_plus(bench.now, 10 * MS);
	bench_answer(&bench, OUTCOME_OK);
	CHECK_INT(bench.lock.state, LOCK_HELD);
	CHECK_INT(bench.lock.t0.ns, asked.ns);
	CHECK_INT(lock_due(&bench.lock).ns, asked.ns + 10 * S);

	tap_case(
	    "a renewal under way was sent before the question: t0 tells, the next is asked for");
	bench_hold(&bench, 30 * S);
	CHECK(bench_pass_until_asked(&bench, 30 * S));
	bench.now = instant_plus(bench.now, 60 * MS);
	asked = bench.now;
	lock_confirm(&bench.lock, bench.now);
	CHECK_INT(bench.store.total, 2);
	bench_answer(&bench, OUTCOME_OK);
	CHECK(bench.lock.t0.ns < asked.ns);
	lock_confirm(&bench.lock, bench.now);
	bench_pass(&bench, 0);
	CHECK(bench_is_asked(&bench, STORE_RENEW));
	bench_answer(&bench, OUTCOME_OK);
	CHECK(bench.lock.t0.ns >= asked.ns);

	tap_case("asked again and again it renews every 50 ms and no faster");
	bench_hold(&bench, 30 * S);
	int before = bench.store.total;
	struct instant until = instant_plus(bench.now, 1 * S);
	while (bench.now.ns < until.ns && !tap_failed()) {
		lock_confirm(&bench.lock, bench.now);
		bench_pass(&bench, 1 * MS);
		if (bench.store.under_way)
			bench_answer(&bench, OUTCOME_OK);
	}
	CHECK(bench.store.total - before >= 19 && bench.store.total - before <= 20);

	tap_case("it never puts a renewal off");
	bench_hold(&bench, 30 * S);
	bench_pass(&bench, 10 * S - 1 * MS);
	lock_confirm(&bench.lock, bench.now);
	CHECK(lock_due(&bench.lock).ns <= bench.now.ns);

	tap_case("a lock that was stolen is lost by it, long before the next renewal");
	bench_hold(&bench, 30 * S);
	bench_pass(&bench, 1 * S);
	lock_confirm(&bench.lock, bench.now);
	bench_pass(&bench, 0);
	bench_answer_lost(&bench, false);
	CHECK_INT(bench.lock.state, LOCK_LOST);
	CHECK_INT(bench.lock.loss, LOSS_ANOTHER);
}

static void
test_not_held(void)
{
	tap_case("who does not hold it renews nothing: lost, releasing, released, waiting");
	bench_hold(&bench, 30 * S);
	CHECK(bench_pass_until_asked(&bench, 30 * S));
	bench_answer_lost(&bench, true);
	int total = bench.store.total;
	lock_confirm(&bench.lock, bench.now);
	bench_pass(&bench, 60 * S);
	CHECK_INT(bench.store.total, total);
	bench_hold(&bench, 30 * S);
	lock_release(&bench.lock, bench.now, 0);
	lock_confirm(&bench.lock, bench.now);
	CHECK(bench_is_asked(&bench, STORE_RELEASE));
	bench_answer(&bench, OUTCOME_OK);
	lock_confirm(&bench.lock, bench.now);
	bench_pass(&bench, 60 * S);
	CHECK_INT(bench.store.started[STORE_RENEW], 0);
	bench_acquire(&bench, 30 * S, WAIT_FOR_EVER);
	lock_confirm(&bench.lock, bench.now);
	bench_pass(&bench, 0);
	CHECK_INT(bench.store.started[STORE_RENEW], 0);
}

/* The limits of what is under way, ms. */
static int64_t
answer_limit_ms(void)
{
	return bench.store.request.answer_limit_ns / MS;
}

static void
test_limits(void)
{
	static const struct {
		int64_t ttl_ms, limit_ms, usual_ms;
	} rows[] = {{1000, 200, 100}, {2000, 333, 166}, {6000, 1000, 500}, {12000, 2000, 1000},
	    {30000, 2000, 2500}, {3600000, 2000, 300000}};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		int64_t limit_ms = rows[i].limit_ms;
		tap_case("TTL %d ms: two tries within %d ms, whatever a renewal usually has",
		    (int)rows[i].ttl_ms, (int)limit_ms);
		bench_hold(&bench, rows[i].ttl_ms * MS);
		CHECK_INT(lease_confirm_limit(&bench.lock.settings.terms) / MS, limit_ms);
		bench_pass(&bench, 100 * MS);
		lock_confirm(&bench.lock, bench.now);
		bench_pass(&bench, 0);
		CHECK(bench_is_asked(&bench, STORE_RENEW));
		CHECK(2 * answer_limit_ms() <= limit_ms);
		bench_answer(&bench, OUTCOME_UNKNOWN);
		bench_pass(&bench, 0);
		CHECK(bench_is_asked(&bench, STORE_RENEW));
		CHECK(2 * answer_limit_ms() <= limit_ms);
		/* And then as ever. */
		bench_answer(&bench, OUTCOME_UNKNOWN);
		CHECK(bench_pass_until_asked(&bench, 1 * S));
		CHECK_INT(answer_limit_ms(), rows[i].usual_ms);
		bench_answer(&bench, OUTCOME_OK);
		CHECK(bench_pass_until_asked(&bench, rows[i].ttl_ms * MS));
		CHECK_INT(answer_limit_ms(), rows[i].usual_ms);
	}
}

static void
test_in_doubt(void)
{
	tap_case("in doubt it brings the next try forward, to 200 ms after the last");
	bench_hold(&bench, 30 * S);
	CHECK(bench_pass_until_asked(&bench, 30 * S));
	for (int i = 0; i < 7; i++) {
		bench_answer(&bench, OUTCOME_REFUSED);
		CHECK(bench_pass_until_asked(&bench, 30 * S));
	}
	struct instant tried = bench.now;
	bench_answer(&bench, OUTCOME_REFUSED);
	CHECK(instant_between(bench.now, lock_due(&bench.lock)) > 1 * S);
	lock_confirm(&bench.lock, bench.now);
	CHECK_INT(instant_between(tried, lock_due(&bench.lock)), 200 * MS);

	tap_case(
	    "asked again and again in doubt: five tries a second, with the limits of any renewal");
	bench_hold(&bench, 30 * S);
	CHECK(bench_pass_until_asked(&bench, 30 * S));
	for (int i = 0; i < 7; i++) {
		bench_answer(&bench, OUTCOME_REFUSED);
		CHECK(bench_pass_until_asked(&bench, 30 * S));
	}
	bench_answer(&bench, OUTCOME_REFUSED);
	int before = bench.store.total;
	struct instant until = instant_plus(bench.now, 2 * S);
	while (bench.now.ns < until.ns && !tap_failed()) {
		lock_confirm(&bench.lock, bench.now);
		bench_pass(&bench, 1 * MS);
		if (bench.store.under_way) {
			CHECK_INT(answer_limit_ms(), 2500);
			bench_answer(&bench, OUTCOME_REFUSED);
		}
	}
	CHECK(bench.store.total - before >= 9 && bench.store.total - before <= 11);

	/* A question every 100 ms must not cost a lock that a server of 1.5 s would have kept. */
	tap_case("a slow server: questions without end do not lose the lock");
	bench_hold(&bench, 30 * S);
	struct instant answer_at = INSTANT_NEVER;
	for (int i = 0; i < 600 && !tap_failed(); i++) {
		lock_confirm(&bench.lock, bench.now);
		bench_pass(&bench, 100 * MS);
		if (bench.store.under_way && answer_at.ns == INT64_MAX)
			answer_at = instant_plus(bench.store.started_at, 1500 * MS);
		if (bench.store.under_way && bench.now.ns >= answer_at.ns) {
			bench_answer(&bench,
			    bench.store.request.answer_limit_ns < 1500 * MS ? OUTCOME_UNKNOWN
									    : OUTCOME_OK);
			answer_at = INSTANT_NEVER;
		}
		CHECK(lock_is_held(&bench.lock));
	}
	CHECK(instant_between(bench.lock.t0, bench.now) < 10 * S);
}

int
main(void)
{
	test_asked();
	test_not_held();
	test_limits();
	test_in_doubt();
	return tap_end();
}
