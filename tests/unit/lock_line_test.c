/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* lock/waiting: a waiter that stands in line, what it is told, and how seldom it asks. */
#include <string.h>

#include "lock_bench.h"
#include "tap.h"

static struct bench bench;

#define HINT_GAP (100 * MS)

/* -- timers ----------------------------------------------------------------------------------- */

static void
test_head(void)
{
	tap_case("the first in line asks after 1 s, and has the key followed then");
	bench_stand_in_line(&bench, 20 * S, 0);
	CHECK(!bench.store.request.follow);
	CHECK_INT(bench_pause_before_asking(&bench), 1 * S);
	CHECK(bench.store.request.follow);
	CHECK(!bench.store.request.confirm);

	tap_case("and when it is, each 5 s");
	bool differ = false;
	int64_t before = 0;
	for (int i = 0; i < 50; i++) {
		/* Another key each time: one whose time stands still is another matter. */
		bench_answer_line(&bench, 20 * S + i, 0, true);
		int64_t pause = bench_pause_before_asking(&bench);
		bench_check_about(pause, 5 * S);
		CHECK(bench.store.request.follow);
		differ = differ || (before != 0 && pause != before);
		before = pause;
	}
	CHECK(differ);

	static const int64_t lefts[] = {0, 1, 300 * MS, 900 * MS};
	for (size_t i = 0; i < COUNT_OF(lefts); i++) {
		tap_case("just behind the key's expiry, if that is sooner: in %d us",
		    (int)(lefts[i] / NS_PER_US));
		bench_stand_in_line(&bench, lefts[i], 0);
		CHECK_INT(bench_pause_before_asking(&bench), lefts[i] + 5 * MS);
		tap_case("and again when it was renewed, in %d us", (int)(lefts[i] / NS_PER_US));
		bench_answer_line(&bench, 2 * S + lefts[i], 0, true);
		CHECK_INT(bench_pause_before_asking(&bench), 2 * S + lefts[i] + 5 * MS);
	}

	tap_case("R82: not of a key whose time does not pass");
	bench_stand_in_line(&bench, 3 * MS, 0);
	CHECK_INT(bench_pause_before_asking(&bench), 8 * MS);
	for (int i = 0; i < 5; i++) {
		bench_answer_line(&bench, 3 * MS, 0, false);
		CHECK(bench_pause_before_asking(&bench) >= 1 * S);
	}

	tap_case("a lock of no dlock that cannot be followed: each second");
	bench_stand_in_line(&bench, -1, 0);
	bench.known = false;
	for (int i = 0; i < 5; i++) {
		CHECK_INT(bench_pause_before_asking(&bench), 1 * S);
		bench_answer_line(&bench, -1, 0, false);
	}
	tap_case("and of a dlock each 5 s: it tells when it lets go");
	bench.known = true;
	CHECK_INT(bench_pause_before_asking(&bench), 1 * S);
	bench_answer_line(&bench, -1, 0, false);
	bench_check_about(bench_pause_before_asking(&bench), 5 * S);
}

static void
test_ranks(void)
{
	static const int64_t ranks[] = {1, 2, 5, 10, 11, 12, 99, 1000, INT64_MAX};
	static const int64_t seconds[] = {10, 15, 30, 55, 60, 60, 60, 60, 60};
	for (size_t i = 0; i < COUNT_OF(ranks); i++) {
		tap_case("rank %d asks about each %d s, whenever the key expires", (int)ranks[i],
		    (int)seconds[i]);
		int64_t before = 0;
		bool differ = false;
		bench_stand_in_line(&bench, 20 * MS, ranks[i]);
		for (int k = 0; k < 50; k++) {
			int64_t pause = bench_pause_before_asking(&bench);
			bench_check_about(pause, seconds[i] * S);
			CHECK(!bench.store.request.follow);
			differ = differ || (before != 0 && pause != before);
			before = pause;
			bench_answer_line(&bench, 20 * MS, ranks[i], false);
		}
		CHECK(differ);
	}
}

static void
test_untold(void)
{
	tap_case("in line without being told: it polls, from 100 ms growing to 1 s");
	bench_acquire(&bench, 30 * S, WAIT_FOR_EVER);
	for (int i = 0; i < 50; i++) {
		bench_answer_place(&bench, 20 * S, (struct place){.rank = 7, .ticket = 5});
		CHECK_HAS(bench.lock.untold.text, "no messages");
		int64_t pause = bench_pause_before_asking(&bench);
		CHECK(pause >= 100 * MS && pause <= 1 * S);
		if (i == 0)
			CHECK(pause <= 150 * MS);
		if (i >= 20)
			CHECK(pause >= 500 * MS);
	}

	tap_case("and no later than just behind the key's expiry, whatever its rank");
	bench_answer_place(&bench, 30 * MS, (struct place){.rank = 7, .ticket = 5});
	CHECK_INT(bench_pause_before_asking(&bench), 35 * MS);
}

/* -- messages --------------------------------------------------------------------------------- */

static void
test_granted(void)
{
	tap_case("told that it is its turn, it asks at once, with nothing to follow");
	bench_stand_in_line(&bench, 20 * S, 0);
	bench_pass(&bench, 30 * MS);
	bench_wake(&bench, WAKE_GRANTED, -1);
	CHECK(!lock_is_held(&bench.lock));
	CHECK_INT(bench_pause_before_asking(&bench), 0);
	CHECK(!bench.store.request.follow);
	CHECK(bench.store.request.confirm);
	CHECK_INT(bench.store.request.ticket, 4711);
	struct instant sent = bench.now;
	bench_pass(&bench, 3 * MS);
	bench_answer(&bench, OUTCOME_OK);
	CHECK_INT(bench.lock.state, LOCK_HELD);
	CHECK_INT(bench.lock.t0.ns, sent.ns);

	tap_case(
	    "a message that was not true is followed at once; the next one not sooner than 100 ms");
	bench_stand_in_line(&bench, 20 * S, 3);
	bench_pass(&bench, 1 * S);
	bench_wake(&bench, WAKE_GRANTED, -1);
	CHECK_INT(bench_pause_before_asking(&bench), 0);
	bench_answer_line(&bench, 20 * S, 3, false);
	bench_pass(&bench, 10 * MS);
	bench_wake(&bench, WAKE_GRANTED, -1);
	CHECK_INT(bench_pause_before_asking(&bench), HINT_GAP - 10 * MS);
	CHECK(bench.store.request.confirm);
	bench_answer_line(&bench, 20 * S, 3, false);
	CHECK(bench_pause_before_asking(&bench) > 1 * S);
	CHECK(!bench.store.request.confirm);
	bench_answer_line(&bench, 20 * S, 3, false);
	bench_pass(&bench, 1 * S);
	bench_wake(&bench, WAKE_GRANTED, -1);
	CHECK_INT(bench_pause_before_asking(&bench), 0);

	tap_case("a flood of such messages is ten scripts a second");
	int total = bench.store.total;
	for (int i = 0; i < 2000; i++) {
		if (bench.store.under_way)
			bench_answer_line(&bench, 20 * S, 3, false);
		bench_wake(&bench, WAKE_GRANTED, -1);
		bench_pass(&bench, 1 * MS);
	}
	CHECK(bench.store.total - total >= 10 && bench.store.total - total <= 21);

	tap_case("and an answer to nobody's message ends that suspicion");
	if (bench.store.under_way)
		bench_answer_line(&bench, 20 * S, 3, false);
	bench_pause_before_asking(&bench);
	bench_answer_line(&bench, 20 * S, 3, false);
	bench_pause_before_asking(&bench);
	bench_answer_line(&bench, 20 * S, 3, false);
	bench_pass(&bench, 10 * MS);
	bench_wake(&bench, WAKE_GRANTED, -1);
	CHECK_INT(bench_pause_before_asking(&bench), 0);
	CHECK_INT(bench.store.overlaps, 0);
}

/* -- the connection, the ticket --------------------------------------------------------------- */

static void
test_disturbed(void)
{
	tap_case("its connection lost, it is in line again at once, with its ticket");
	bench_stand_in_line(&bench, 20 * S, 6);
	bench_pass(&bench, 3 * S);
	bench_disturb(&bench);
	CHECK_INT(bench_pause_before_asking(&bench), 0);
	CHECK_INT(bench.store.request.ticket, 4711);
	CHECK(bench.store.request.wait);

	tap_case("a server that hangs up again and again is met ten times a second");
	int total = bench.store.total;
	for (int i = 0; i < 2000; i++) {
		if (bench.store.under_way)
			bench_answer_line(&bench, 20 * S, 6, false);
		bench_disturb(&bench);
		bench_pass(&bench, 1 * MS);
	}
	CHECK(bench.store.total - total >= 10 && bench.store.total - total <= 21);

	tap_case("in trouble that does not bring the next try forward");
	static const int64_t pauses[] = {0, 50 * MS, 100 * MS, 200 * MS, 400 * MS};
	if (!bench.store.under_way)
		bench_pause_before_asking(&bench);
	for (size_t i = 0; i < COUNT_OF(pauses); i++) {
		bench_answer(&bench, OUTCOME_UNREACHABLE);
		bench_disturb(&bench);
		CHECK_INT(bench_pause_before_asking(&bench), pauses[i]);
	}
}

static void
test_ticket(void)
{
	static const enum outcome failures[] = {OUTCOME_UNREACHABLE, OUTCOME_REFUSED,
	    OUTCOME_UNKNOWN};
	tap_case("the ticket is kept through all that goes wrong, until another is given");
	bench_stand_in_line(&bench, 20 * S, 0);
	bool first = true;
	for (size_t i = 0; i < 3 * COUNT_OF(failures); i++) {
		bench_pause_before_asking(&bench);
		CHECK_INT(bench.store.request.ticket, 4711);
		/* In trouble nothing is followed: a server is to have as little to do as may be. */
		CHECK_INT(bench.store.request.follow, first);
		first = false;
		bench_answer(&bench, failures[i % COUNT_OF(failures)]);
	}
	bench_pause_before_asking(&bench);
	bench_answer_place(&bench, 20 * S, (struct place){.rank = 2, .ticket = 9, .told = true});
	bench_pause_before_asking(&bench);
	CHECK_INT(bench.store.request.ticket, 9);
	CHECK_INT(bench.store.overlaps, 0);

	tap_case("the first request has none, and so it is for another lock's");
	bench_acquire(&bench, 30 * S, WAIT_FOR_EVER);
	CHECK_INT(bench.store.request.ticket, 0);
}

int
main(void)
{
	test_head();
	test_ranks();
	test_untold();
	test_granted();
	test_disturbed();
	test_ticket();
	return tap_end();
}
