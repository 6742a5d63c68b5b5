/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* lock/waiting: a waiter that stands in line, what it is told, and how seldom it asks. */
#include <string.h>

#include "lock_bench.h"
#include "tap.h"

static struct bench bench;

#define HINT_GAP (100 * MS)

static void
answer_place(int64_t left_ns, int64_t rank, bool followed)
{
	bench_answer_place(&bench, left_ns,
	    (struct place){.rank = rank, .ticket = 4711, .told = true, .followed = followed});
}

/* In line and told, with the first answer had. */
static void
stand_in_line(int64_t left_ns, int64_t rank)
{
	bench_acquire(&bench, 30 * S, WAIT_FOR_EVER);
	bench.known = true;
	answer_place(left_ns, rank, false);
	CHECK_INT(bench.lock.state, LOCK_WAITING);
}

/* How long it takes to the next request: an acquire. */
static int64_t
pause_before_asking(void)
{
	struct instant before = bench.now;
	CHECK(bench.store.under_way || bench_pass_until_asked(&bench, 100 * S));
	CHECK(bench_is_asked(&bench, STORE_ACQUIRE));
	return instant_between(before, bench.now);
}

static void
check_about(int64_t pause, int64_t wanted)
{
	CHECK(pause >= wanted - wanted / 10 && pause <= wanted + wanted / 10);
}

/* -- timers ----------------------------------------------------------------------------------- */

static void
test_head(void)
{
	tap_case("the first in line asks after 1 s, and has the key followed then");
	stand_in_line(20 * S, 0);
	CHECK(!bench.store.request.follow);
	CHECK_INT(pause_before_asking(), 1 * S);
	CHECK(bench.store.request.follow);
	CHECK(!bench.store.request.confirm);

	tap_case("and when it is, each 5 s");
	bool differ = false;
	int64_t before = 0;
	for (int i = 0; i < 50; i++) {
		/* Another key each time: one whose time stands still is another matter. */
		answer_place(20 * S + i, 0, true);
		int64_t pause = pause_before_asking();
		check_about(pause, 5 * S);
		CHECK(bench.store.request.follow);
		differ = differ || (before != 0 && pause != before);
		before = pause;
	}
	CHECK(differ);

	static const int64_t lefts[] = {0, 1, 300 * MS, 900 * MS};
	for (size_t i = 0; i < COUNT_OF(lefts); i++) {
		tap_case("just behind the key's expiry, if that is sooner: in %d us",
		    (int)(lefts[i] / NS_PER_US));
		stand_in_line(lefts[i], 0);
		CHECK_INT(pause_before_asking(), lefts[i] + 5 * MS);
		tap_case("and again when it was renewed, in %d us", (int)(lefts[i] / NS_PER_US));
		answer_place(2 * S + lefts[i], 0, true);
		CHECK_INT(pause_before_asking(), 2 * S + lefts[i] + 5 * MS);
	}

	tap_case("R82: not of a key whose time does not pass");
	stand_in_line(3 * MS, 0);
	CHECK_INT(pause_before_asking(), 8 * MS);
	for (int i = 0; i < 5; i++) {
		answer_place(3 * MS, 0, false);
		CHECK(pause_before_asking() >= 1 * S);
	}

	tap_case("a lock of no dlock that cannot be followed: each second");
	stand_in_line(-1, 0);
	bench.known = false;
	for (int i = 0; i < 5; i++) {
		CHECK_INT(pause_before_asking(), 1 * S);
		answer_place(-1, 0, false);
	}
	tap_case("and of a dlock each 5 s: it tells when it lets go");
	bench.known = true;
	CHECK_INT(pause_before_asking(), 1 * S);
	answer_place(-1, 0, false);
	check_about(pause_before_asking(), 5 * S);
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
		stand_in_line(20 * MS, ranks[i]);
		for (int k = 0; k < 50; k++) {
			int64_t pause = pause_before_asking();
			check_about(pause, seconds[i] * S);
			CHECK(!bench.store.request.follow);
			differ = differ || (before != 0 && pause != before);
			before = pause;
			answer_place(20 * MS, ranks[i], false);
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
		int64_t pause = pause_before_asking();
		CHECK(pause >= 100 * MS && pause <= 1 * S);
		if (i == 0)
			CHECK(pause <= 150 * MS);
		if (i >= 20)
			CHECK(pause >= 500 * MS);
	}

	tap_case("and no later than just behind the key's expiry, whatever its rank");
	bench_answer_place(&bench, 30 * MS, (struct place){.rank = 7, .ticket = 5});
	CHECK_INT(pause_before_asking(), 35 * MS);
}

/* -- messages --------------------------------------------------------------------------------- */

static void
test_granted(void)
{
	tap_case("told that it is its turn, it asks at once, with nothing to follow");
	stand_in_line(20 * S, 0);
	bench_pass(&bench, 30 * MS);
	bench_wake(&bench, WAKE_GRANTED, -1);
	CHECK(!lock_is_held(&bench.lock));
	CHECK_INT(pause_before_asking(), 0);
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
	stand_in_line(20 * S, 3);
	bench_pass(&bench, 1 * S);
	bench_wake(&bench, WAKE_GRANTED, -1);
	CHECK_INT(pause_before_asking(), 0);
	answer_place(20 * S, 3, false);
	bench_pass(&bench, 10 * MS);
	bench_wake(&bench, WAKE_GRANTED, -1);
	CHECK_INT(pause_before_asking(), HINT_GAP - 10 * MS);
	CHECK(bench.store.request.confirm);
	answer_place(20 * S, 3, false);
	CHECK(pause_before_asking() > 1 * S);
	CHECK(!bench.store.request.confirm);
	answer_place(20 * S, 3, false);
	bench_pass(&bench, 1 * S);
	bench_wake(&bench, WAKE_GRANTED, -1);
	CHECK_INT(pause_before_asking(), 0);

	tap_case("a flood of such messages is ten scripts a second");
	int total = bench.store.total;
	for (int i = 0; i < 2000; i++) {
		if (bench.store.under_way)
			answer_place(20 * S, 3, false);
		bench_wake(&bench, WAKE_GRANTED, -1);
		bench_pass(&bench, 1 * MS);
	}
	CHECK(bench.store.total - total >= 10 && bench.store.total - total <= 21);

	tap_case("and an answer to nobody's message ends that suspicion");
	if (bench.store.under_way)
		answer_place(20 * S, 3, false);
	pause_before_asking();
	answer_place(20 * S, 3, false);
	pause_before_asking();
	answer_place(20 * S, 3, false);
	bench_pass(&bench, 10 * MS);
	bench_wake(&bench, WAKE_GRANTED, -1);
	CHECK_INT(pause_before_asking(), 0);
	CHECK_INT(bench.store.overlaps, 0);
}

static void
test_head_message(void)
{
	static const struct {
		int64_t left_ns, pause_ns;
	} rows[] = {{700 * MS, 705 * MS}, {0, 5 * MS}, {20 * S, 1 * S}, {-1, 1 * S},
	    {INT64_MAX, 1 * S}};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		tap_case("told that it is first now, it asks when the first would: row %zu", i + 1);
		stand_in_line(20 * S, 8);
		bench_pass(&bench, 2 * S);
		bench_wake(&bench, WAKE_HEAD, rows[i].left_ns);
		CHECK_INT(pause_before_asking(), rows[i].pause_ns);
		CHECK(bench.store.request.follow);
	}
}

static void
test_head_messages_without_end(void)
{
	static const int64_t lefts[] = {0, 1, 20 * MS, -1};
	for (size_t i = 0; i < COUNT_OF(lefts); i++) {
		tap_case("a flood of such messages, %d us left, is ten scripts a second",
		    (int)(lefts[i] / NS_PER_US));
		stand_in_line(20 * S, 3);
		int total = bench.store.total;
		for (int k = 0; k < 2000; k++) {
			if (bench.store.under_way)
				answer_place(20 * S + k, 3, false);
			bench_wake(&bench, WAKE_HEAD, lefts[i]);
			bench_pass(&bench, 1 * MS);
		}
		CHECK(bench.store.total - total <= 21);
		/* And none of them puts off what the one before has brought. */
		CHECK(bench.store.total - total >= (lefts[i] >= 0 ? 10 : 1));
		CHECK_INT(bench.store.overlaps, 0);
	}

	tap_case("the message is heeded soon, and still behind the key's expiry");
	stand_in_line(20 * S, 3);
	bench_pass(&bench, 30 * MS);
	bench_wake(&bench, WAKE_HEAD, 0);
	CHECK_INT(pause_before_asking(), HINT_GAP - 30 * MS);
	stand_in_line(20 * S, 3);
	bench_pass(&bench, 30 * MS);
	bench_wake(&bench, WAKE_HEAD, 90 * MS);
	CHECK_INT(pause_before_asking(), 95 * MS);
}

static void
test_changed(void)
{
	tap_case(
	    "told of a change it asks at once, but not sooner than 100 ms after it last asked");
	stand_in_line(20 * S, 0);
	bench_pass(&bench, 30 * MS);
	bench_wake(&bench, WAKE_CHANGED, -1);
	CHECK_INT(pause_before_asking(), HINT_GAP - 30 * MS);
	answer_place(20 * S + 1, 0, true);
	bench_pass(&bench, 1 * S);
	bench_wake(&bench, WAKE_CHANGED, -1);
	CHECK_INT(pause_before_asking(), 0);
	CHECK(bench.store.request.follow);
	CHECK(!bench.store.request.confirm);

	tap_case("a key that is written to without end is asked about ten times a second");
	int total = bench.store.total;
	for (int i = 0; i < 2000; i++) {
		if (bench.store.under_way)
			answer_place(20 * S + i, 0, true);
		bench_wake(&bench, WAKE_CHANGED, -1);
		bench_pass(&bench, 1 * MS);
	}
	CHECK(bench.store.total - total >= 10 && bench.store.total - total <= 21);
	CHECK_INT(bench.store.overlaps, 0);
}

/* Whatever the message: it changes nothing. */
static void
check_not_woken(void)
{
	struct instant due = lock_due(&bench.lock);
	int total = bench.store.total, told = bench.told;
	enum lock_state state = bench.lock.state;
	for (int wake = WAKE_GRANTED; wake <= WAKE_CHANGED; wake++) {
		bench_wake(&bench, (enum wake)wake, 0);
		CHECK_INT(lock_due(&bench.lock).ns, due.ns);
		CHECK_INT(bench.lock.state, state);
	}
	CHECK_INT(bench.store.total, total);
	CHECK_INT(bench.told, told);
	CHECK(!bench.lock.woken);
}

static void
test_messages_of_no_use(void)
{
	tap_case("before the first answer a message changes nothing");
	bench_acquire(&bench, 30 * S, WAIT_FOR_EVER);
	check_not_woken();

	tap_case("nor while it asks: the answer is younger, and counts");
	stand_in_line(20 * S, 0);
	pause_before_asking();
	check_not_woken();
	answer_place(20 * S, 4, false);
	check_about(pause_before_asking(), 25 * S);

	tap_case("nor in trouble: the next try is planned");
	bench_answer(&bench, OUTCOME_UNREACHABLE);
	bench_pass(&bench, 0);
	CHECK(bench_is_asked(&bench, STORE_ACQUIRE));
	bench_answer(&bench, OUTCOME_UNREACHABLE);
	check_not_woken();
	CHECK_INT(pause_before_asking(), 50 * MS);

	tap_case("nor when it leaves, and has left");
	lock_give_up(&bench.lock, bench.now);
	CHECK_INT(bench.lock.state, LOCK_LEAVING);
	check_not_woken();
	bench_answer(&bench, OUTCOME_LOST);
	CHECK_INT(bench.lock.state, LOCK_FAILED);
	check_not_woken();

	tap_case("nor when it holds, and has released");
	bench_hold(&bench, 30 * S);
	check_not_woken();
	lock_release(&bench.lock, bench.now, 0);
	check_not_woken();
	bench_answer(&bench, OUTCOME_OK);
	check_not_woken();
	CHECK_INT(bench.lock.state, LOCK_RELEASED);
}

/* -- the connection, the ticket --------------------------------------------------------------- */

static void
test_disturbed(void)
{
	tap_case("its connection lost, it is in line again at once, with its ticket");
	stand_in_line(20 * S, 6);
	bench_pass(&bench, 3 * S);
	bench_disturb(&bench);
	CHECK_INT(pause_before_asking(), 0);
	CHECK_INT(bench.store.request.ticket, 4711);
	CHECK(bench.store.request.wait);

	tap_case("a server that hangs up again and again is met ten times a second");
	int total = bench.store.total;
	for (int i = 0; i < 2000; i++) {
		if (bench.store.under_way)
			answer_place(20 * S, 6, false);
		bench_disturb(&bench);
		bench_pass(&bench, 1 * MS);
	}
	CHECK(bench.store.total - total >= 10 && bench.store.total - total <= 21);

	tap_case("in trouble that does not bring the next try forward");
	static const int64_t pauses[] = {0, 50 * MS, 100 * MS, 200 * MS, 400 * MS};
	if (!bench.store.under_way)
		pause_before_asking();
	for (size_t i = 0; i < COUNT_OF(pauses); i++) {
		bench_answer(&bench, OUTCOME_UNREACHABLE);
		bench_disturb(&bench);
		CHECK_INT(pause_before_asking(), pauses[i]);
	}
}

static void
test_ticket(void)
{
	static const enum outcome failures[] = {OUTCOME_UNREACHABLE, OUTCOME_REFUSED,
	    OUTCOME_UNKNOWN};
	tap_case("the ticket is kept through all that goes wrong, until another is given");
	stand_in_line(20 * S, 0);
	bool first = true;
	for (size_t i = 0; i < 3 * COUNT_OF(failures); i++) {
		pause_before_asking();
		CHECK_INT(bench.store.request.ticket, 4711);
		/* In trouble nothing is followed: a server is to have as little to do as may be. */
		CHECK_INT(bench.store.request.follow, first);
		first = false;
		bench_answer(&bench, failures[i % COUNT_OF(failures)]);
	}
	pause_before_asking();
	bench_answer_place(&bench, 20 * S, (struct place){.rank = 2, .ticket = 9, .told = true});
	pause_before_asking();
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
	test_head_message();
	test_head_messages_without_end();
	test_changed();
	test_messages_of_no_use();
	test_disturbed();
	test_ticket();
	return tap_end();
}
