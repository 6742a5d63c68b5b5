/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* lock/waiting: what messages do to a waiter that stands in line, and how many it heeds. */
#include "lock_bench.h"
#include "tap.h"

static struct bench bench;

#define HINT_GAP (100 * MS)

static void
test_head_message(void)
{
	static const struct {
		int64_t left_ns, pause_ns;
	} rows[] = {{700 * MS, 705 * MS}, {0, 5 * MS}, {20 * S, 1 * S}, {-1, 1 * S},
	    {INT64_MAX, 1 * S}};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		tap_case("told that it is first now, it asks when the first would: row %zu", i + 1);
		bench_stand_in_line(&bench, 20 * S, 8);
		bench_pass(&bench, 2 * S);
		bench_wake(&bench, WAKE_HEAD, rows[i].left_ns);
		CHECK_INT(bench_pause_before_asking(&bench), rows[i].pause_ns);
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
		bench_stand_in_line(&bench, 20 * S, 3);
		int total = bench.store.total;
		for (int k = 0; k < 2000; k++) {
			if (bench.store.under_way)
				bench_answer_line(&bench, 20 * S + k, 3, false);
			bench_wake(&bench, WAKE_HEAD, lefts[i]);
			bench_pass(&bench, 1 * MS);
		}
		CHECK(bench.store.total - total <= 21);
		/* And none of them puts off what the one before has brought. */
		CHECK(bench.store.total - total >= (lefts[i] >= 0 ? 10 : 1));
		CHECK_INT(bench.store.overlaps, 0);
	}

	tap_case("the message is heeded soon, and still behind the key's expiry");
	bench_stand_in_line(&bench, 20 * S, 3);
	bench_pass(&bench, 30 * MS);
	bench_wake(&bench, WAKE_HEAD, 0);
	CHECK_INT(bench_pause_before_asking(&bench), HINT_GAP - 30 * MS);
	bench_stand_in_line(&bench, 20 * S, 3);
	bench_pass(&bench, 30 * MS);
	bench_wake(&bench, WAKE_HEAD, 90 * MS);
	CHECK_INT(bench_pause_before_asking(&bench), 95 * MS);
}

static void
test_changed(void)
{
	tap_case(
	    "told of a change it asks at once, but not sooner than 100 ms after it last asked");
	bench_stand_in_line(&bench, 20 * S, 0);
	bench_pass(&bench, 30 * MS);
	bench_wake(&bench, WAKE_CHANGED, -1);
	CHECK_INT(bench_pause_before_asking(&bench), HINT_GAP - 30 * MS);
	bench_answer_line(&bench, 20 * S + 1, 0, true);
	bench_pass(&bench, 1 * S);
	bench_wake(&bench, WAKE_CHANGED, -1);
	CHECK_INT(bench_pause_before_asking(&bench), 0);
	CHECK(bench.store.request.follow);
	CHECK(!bench.store.request.confirm);

	tap_case("a key that is written to without end is asked about ten times a second");
	int total = bench.store.total;
	for (int i = 0; i < 2000; i++) {
		if (bench.store.under_way)
			bench_answer_line(&bench, 20 * S + i, 0, true);
		bench_wake(&bench, WAKE_CHANGED, -1);
		bench_pass(&bench, 1 * MS);
	}
	CHECK(bench.store.total - total >= 10 && bench.store.total - total <= 21);
	CHECK_INT(bench.store.overlaps, 0);
}

/* In a cluster: a lock that was free 50 ms after somebody had come was had by him 50 ms later. */
static void
test_listens(void)
{
	tap_case("who can be told from now on says so at once, however soon that is");
	bench_stand_in_line(&bench, 20 * S, 0);
	int total = bench.store.total;
	bench_pass(&bench, 1 * MS);
	bench_wake(&bench, WAKE_LISTENS, -1);
	CHECK_INT(bench.store.total, total + 1);
	CHECK(bench.store.under_way);
}

/* Whatever the message: it changes nothing. */
static void
check_not_woken(void)
{
	struct instant due = lock_due(&bench.lock);
	int total = bench.store.total, told = bench.told;
	enum lock_state state = bench.lock.state;
	for (int wake = WAKE_GRANTED; wake <= WAKE_LISTENS; wake++) {
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
	bench_stand_in_line(&bench, 20 * S, 0);
	bench_pause_before_asking(&bench);
	check_not_woken();
	bench_answer_line(&bench, 20 * S, 4, false);
	bench_check_about(bench_pause_before_asking(&bench), 25 * S);

	tap_case("nor in trouble: the next try is planned");
	bench_answer(&bench, OUTCOME_UNREACHABLE);
	bench_pass(&bench, 0);
	CHECK(bench_is_asked(&bench, STORE_ACQUIRE));
	bench_answer(&bench, OUTCOME_UNREACHABLE);
	check_not_woken();
	CHECK_INT(bench_pause_before_asking(&bench), 50 * MS);

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

int
main(void)
{
	test_head_message();
	test_head_messages_without_end();
	test_changed();
	test_listens();
	test_messages_of_no_use();
	return tap_end();
}
