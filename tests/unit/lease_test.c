/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* lock/lease: the numbers of SPEC section 5 and DESIGN.md section 4. */
#include "lock/lease.h"

#include <inttypes.h>
#include <string.h>

#include "base/values.h"
#include "tap.h"

#define MS NS_PER_MS
#define S NS_PER_S
#define HOUR (3600 * NS_PER_S)
#define DAY (24 * HOUR)

/* Worked out by hand: D = T/100 + 2 ms; s = T/20 within 20 and 500 ms; G = min(5 s, T/4). All but
 * the TTL in ms; what is no whole number of ms in ns. `room` is the longest grace. */
static const struct {
	int64_t ttl_ns;
	int64_t drift, slack, grace, term, kill, guard, sure;
	int64_t renew_ns, renew_limit_ns, request_limit_ns, connect_ns, room_ns, patience;
} rows[] = {
    {1 * S, 12, 50, 250, 638, 888, 938, 988, 333333333, 100 * MS, 166666666, 333333333, 354666667,
	60000},
    {1200 * MS, 14, 60, 300, 766, 1066, 1126, 1186, 400 * MS, 100 * MS, 200 * MS, 400 * MS,
	466 * MS, 60000},
    {2 * S, 22, 100, 500, 1278, 1778, 1878, 1978, 666666666, 166666666, 333333333, 666666666,
	778000002, 60000},
    {3 * S, 32, 150, 750, 1918, 2668, 2818, 2968, 1 * S, 250 * MS, 500 * MS, 1 * S, 1168 * MS,
	60000},
    {6 * S, 62, 300, 1500, 3838, 5338, 5638, 5938, 2 * S, 500 * MS, 1 * S, 2 * S, 2338 * MS, 60000},
    {12 * S, 122, 500, 3000, 7878, 10878, 11378, 11878, 4 * S, 1 * S, 2 * S, 4 * S, 4878 * MS,
	60000},
    {20 * S, 202, 500, 5000, 13798, 18798, 19298, 19798, 6666666666, 1666666666, 2 * S, 5 * S,
	8798000002, 60000},
    /* SPEC: with T = 30s renew at 10, TERM at 23.7, KILL at 28.7, free at 30. */
    {30 * S, 302, 500, 5000, 23698, 28698, 29198, 29698, 10 * S, 2500 * MS, 2 * S, 5 * S,
	13698 * MS, 60000},
    {36 * S, 362, 500, 5000, 29638, 34638, 35138, 35638, 12 * S, 3 * S, 2 * S, 5 * S, 16638 * MS,
	72000},
    {60 * S, 602, 500, 5000, 53398, 58398, 58898, 59398, 20 * S, 5 * S, 2 * S, 5 * S, 28398 * MS,
	120000},
    {1 * HOUR, 36002, 500, 5000, 3557998, 3562998, 3563498, 3563998, 1200 * S, 300 * S, 2 * S,
	5 * S, 1762998 * MS, 7200000},
    {30 * DAY, 25920002, 500, 5000, 2566073998, 2566078998, 2566079498, 2566079998, 10 * DAY,
	216000 * S, 2 * S, 5 * S, 1270078998 * MS, 5184000000},
};

static void
test_numbers(void)
{
	/* Not 0: an instant must be counted from t0. */
	const struct instant t0 = {INT64_C(123456789012345678)};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct lease_terms terms;
		struct problem problem;
		int64_t ttl_ns = rows[i].ttl_ns;
		tap_case("the lease of a TTL of %" PRId64 " ms", ttl_ns / MS);
		if (!CHECK(lease_terms_make(&terms, ttl_ns, rows[i].grace * MS, &problem)))
			continue;
		CHECK_INT(terms.ttl_ns, ttl_ns);
		CHECK_INT(terms.drift_ns, rows[i].drift * MS);
		CHECK_INT(terms.slack_ns, rows[i].slack * MS);
		CHECK_INT(terms.grace_ns, rows[i].grace * MS);
		CHECK_INT(lease_default_grace(ttl_ns), rows[i].grace * MS);
		CHECK_INT(lease_renew_at(&terms, t0).ns - t0.ns, rows[i].renew_ns);
		CHECK_INT(lease_term_at(&terms, t0).ns - t0.ns, rows[i].term * MS);
		CHECK_INT(lease_kill_at(&terms, t0).ns - t0.ns, rows[i].kill * MS);
		CHECK_INT(lease_guard_at(&terms, t0).ns - t0.ns, rows[i].guard * MS);
		CHECK_INT(lease_sure_until(&terms, t0).ns - t0.ns, rows[i].sure * MS);
		CHECK_INT(lease_renew_limit(&terms), rows[i].renew_limit_ns);
		CHECK_INT(lease_request_limit(&terms), rows[i].request_limit_ns);
		CHECK_INT(lease_default_connect_limit(ttl_ns), rows[i].connect_ns);
		CHECK_INT(lease_patience(&terms), rows[i].patience * MS);
		/* One that begins just before a renewal; two tries of it may be in vain. */
		int64_t outage_ns = rows[i].term * MS - rows[i].renew_ns;
		CHECK_INT(lease_longest_outage(&terms), outage_ns);
		CHECK_INT(lease_sure_outage(&terms), outage_ns - 2 * rows[i].renew_limit_ns);
		CHECK(lease_sure_outage(&terms) >= 0);
	}
}

static void
test_grace(void)
{
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct lease_terms terms;
		struct problem problem;
		char shown[32];
		int64_t room = rows[i].room_ns;
		tap_case("the longest grace of a TTL of %" PRId64 " ms", rows[i].ttl_ns / MS);
		CHECK(lease_terms_make(&terms, rows[i].ttl_ns, room, &problem));
		CHECK_INT(terms.grace_ns, room);
		/* It leaves time for a renewal that is given up, and for another. */
		struct instant t0 = {0};
		CHECK(lease_term_at(&terms, t0).ns >=
		    lease_renew_at(&terms, t0).ns + 2 * lease_renew_limit(&terms));
		CHECK(!lease_terms_make(&terms, rows[i].ttl_ns, room + 1, &problem));
		/* The message names the numbers: grace, TTL, and what would be possible. */
		CHECK_HAS(problem.text, "--kill-after");
		CHECK_HAS(problem.text, value_print_duration(shown, sizeof shown, room + 1));
		CHECK_HAS(problem.text, value_print_duration(shown, sizeof shown, rows[i].ttl_ns));
		CHECK(!lease_terms_make(&terms, rows[i].ttl_ns, INT64_MAX, &problem));
		CHECK(lease_terms_make(&terms, rows[i].ttl_ns, 0, &problem));
		CHECK_INT(lease_term_at(&terms, t0).ns, lease_kill_at(&terms, t0).ns);
	}
	tap_case("the message about a grace gives the three numbers");
	struct lease_terms terms;
	struct problem problem;
	CHECK(!lease_terms_make(&terms, 30 * S, 20 * S, &problem));
	CHECK_HAS(problem.text, "20.0s");
	CHECK_HAS(problem.text, "30.0s");
	CHECK_HAS(problem.text, "13.6s");
}

static void
test_ttl_bounds(void)
{
	static const struct {
		int64_t ttl_ns;
		bool good;
	} bounds[] = {
	    {1 * S, true},
	    {1 * S - 1, false},
	    {999 * MS, false},
	    {0, false},
	    {-1, false},
	    {INT64_MIN, false},
	    {30 * DAY, true},
	    {30 * DAY + 1, false},
	    {INT64_MAX, false},
	};
	for (size_t i = 0; i < COUNT_OF(bounds); i++) {
		struct lease_terms terms;
		struct problem problem = {.text = ""};
		tap_case("a TTL of %" PRId64 " ns is %s", bounds[i].ttl_ns,
		    bounds[i].good ? "taken" : "refused");
		CHECK(lease_terms_make(&terms, bounds[i].ttl_ns, 0, &problem) == bounds[i].good);
		if (!bounds[i].good)
			CHECK_HAS(problem.text, "between 1s and 30d");
	}
}

/* Promise 1 in the order of its instants, for any TTL. */
static void
test_order(void)
{
	uint64_t random = 7;
	tap_case("renewal, signal, KILL, guard and the end come in this order for 20,000 TTLs");
	for (int i = 0; i < 20000 && !tap_failed(); i++) {
		struct lease_terms terms;
		struct problem problem;
		const struct instant t0 = {tap_random_below(&random, 365 * DAY)};
		int64_t most = i % 2 ? 30 * DAY : 60 * S;
		int64_t ttl_ns = S + tap_random_below(&random, most - S);
		tap_note("TTL %" PRId64 " ns", ttl_ns);
		if (!CHECK(lease_terms_make(&terms, ttl_ns, lease_default_grace(ttl_ns), &problem)))
			break;
		CHECK(lease_renew_at(&terms, t0).ns + 2 * lease_renew_limit(&terms) <=
		    lease_term_at(&terms, t0).ns);
		CHECK(lease_term_at(&terms, t0).ns < lease_kill_at(&terms, t0).ns);
		CHECK(lease_guard_at(&terms, t0).ns - lease_kill_at(&terms, t0).ns >= 20 * MS);
		CHECK(lease_sure_until(&terms, t0).ns - lease_guard_at(&terms, t0).ns >= 20 * MS);
		/* A server whose clock runs 1 % faster frees the key here at the earliest. */
		CHECK(lease_sure_until(&terms, t0).ns <= t0.ns + ttl_ns * 99 / 100);
	}
}

/* base/clock, on which all of this stands. */
static void
test_instants(void)
{
	const struct instant never = INSTANT_NEVER;
	tap_case("never stays never, and what overflows becomes it");
	CHECK_INT(instant_plus(never, -S).ns, INT64_MAX);
	CHECK_INT(instant_plus(never, S).ns, INT64_MAX);
	CHECK_INT(instant_plus((struct instant){INT64_MAX - 5}, 6).ns, INT64_MAX);
	CHECK_INT(instant_plus((struct instant){5}, INT64_MAX).ns, INT64_MAX);
	CHECK_INT(instant_plus((struct instant){5}, -3).ns, 2);
	tap_case("an instant is reached when it is there, never is not");
	CHECK(instant_reached((struct instant){5}, (struct instant){5}));
	CHECK(!instant_reached((struct instant){5}, (struct instant){4}));
	CHECK(!instant_reached(never, never));
	tap_case("the time between two instants, also beyond 63 bits");
	CHECK_INT(instant_between((struct instant){5}, (struct instant){2}), -3);
	CHECK_INT(instant_between((struct instant){-2}, never), INT64_MAX);
	CHECK_INT(instant_between(never, (struct instant){-2}), INT64_MIN);
	tap_case("the earlier of two instants");
	CHECK_INT(instant_earlier((struct instant){5}, (struct instant){2}).ns, 2);
	CHECK_INT(instant_earlier((struct instant){2}, never).ns, 2);
	tap_case("milliseconds for a server are rounded down");
	CHECK_INT(ms_from_ns(1999999), 1);
	CHECK_INT(ms_from_ns(999999), 0);
	tap_case("the clock is BOOTTIME and goes on");
	struct instant before = clock_now();
	struct instant after = clock_now();
	CHECK(before.ns > 0 && after.ns >= before.ns && after.ns - before.ns < 10 * S);
}

int
main(void)
{
	test_numbers();
	test_grace();
	test_ttl_bounds();
	test_order();
	test_instants();
	return tap_end();
}
