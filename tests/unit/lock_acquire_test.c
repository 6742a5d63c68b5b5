/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* lock/: acquiring and waiting. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lock_bench.h"
#include "tap.h"

static struct bench bench;

static void
test_granted(void)
{
	tap_case("what an acquire asks for");
	bench_acquire(&bench, 30 * S, WAIT_FOR_EVER);
	CHECK_INT(bench.lock.state, LOCK_ASKING);
	CHECK_INT(bench.store.request.ttl_ns, 30 * S);
	CHECK_INT(bench.store.request.connect_limit_ns, 5 * S);
	CHECK_INT(bench.store.request.answer_limit_ns, 2 * S);
	CHECK_INT(bench.store.request.not_later.ns, INT64_MAX);

	tap_case("granted: held from the instant of the send, not of the answer");
	struct instant sent = bench.now;
	bench_pass(&bench, 700 * MS);
	CHECK_INT(bench.store.total, 1);
	bench_answer(&bench, OUTCOME_OK);
	CHECK_INT(bench.lock.state, LOCK_HELD);
	CHECK(lock_is_held(&bench.lock));
	CHECK_INT(bench.told, 1);
	CHECK_INT(bench.told_state, LOCK_HELD);
	CHECK_INT(bench.lock.t0.ns, sent.ns);
	CHECK_INT(bench.lock.acquired_at.ns, sent.ns);
	CHECK_TEXT(bench.lock.fence, "1764000000000001");
	CHECK_INT(lock_due(&bench.lock).ns, sent.ns + 10 * S);

	tap_case("a grant that is a third of its lease old is confirmed afresh before it counts");
	bench_acquire(&bench, 30 * S, WAIT_FOR_EVER);
	bench_sleep(&bench, 10 * S);
	bench_answer(&bench, OUTCOME_OK);
	CHECK(!lock_is_held(&bench.lock));
	CHECK_INT(bench.told, 0);
	CHECK(bench_is_asked(&bench, STORE_ACQUIRE));
	struct instant again = bench.now;
	bench_pass(&bench, 5 * MS);
	bench_answer(&bench, OUTCOME_OK);
	CHECK_INT(bench.lock.state, LOCK_HELD);
	CHECK_INT(bench.lock.t0.ns, again.ns);

	tap_case("one that is a nanosecond younger counts");
	bench_acquire(&bench, 30 * S, WAIT_FOR_EVER);
	bench_sleep(&bench, 10 * S - 1);
	bench_answer(&bench, OUTCOME_OK);
	CHECK_INT(bench.lock.state, LOCK_HELD);
	CHECK_INT(bench.store.total, 1);

	tap_case("-n: an old grant is confirmed afresh, too");
	bench_acquire(&bench, 30 * S, 0);
	bench_sleep(&bench, 10 * S);
	bench_answer(&bench, OUTCOME_OK);
	bench_pass(&bench, 5 * MS);
	if (CHECK(bench_is_asked(&bench, STORE_ACQUIRE)))
		bench_answer(&bench, OUTCOME_OK);
	CHECK_INT(bench.lock.state, LOCK_HELD);

	tap_case("such an old grant is given back when it cannot be confirmed");
	bench_acquire(&bench, 30 * S, 0);
	bench_sleep(&bench, 10 * S);
	bench_answer(&bench, OUTCOME_OK);
	for (int i = 0; i < 10 && !bench.store.started[STORE_RELEASE]; i++) {
		if (bench.store.under_way)
			bench_answer(&bench, OUTCOME_UNREACHABLE);
		bench_pass(&bench, 5 * S);
	}
	CHECK_INT(bench.store.started[STORE_RELEASE], 1);
	CHECK(!lock_is_held(&bench.lock));
}

static void
test_limits(void)
{
	tap_case("-w bounds a slow first contact, -n and a long -w do not");
	bench_acquire(&bench, 30 * S, 300 * MS);
	CHECK_INT(bench.store.request.connect_limit_ns, 300 * MS);
	bench_acquire(&bench, 30 * S, 0);
	CHECK_INT(bench.store.request.connect_limit_ns, 5 * S);
	bench_acquire(&bench, 30 * S, 60 * S);
	CHECK_INT(bench.store.request.connect_limit_ns, 5 * S);
	bench_acquire(&bench, 3 * S, WAIT_FOR_EVER);
	CHECK_INT(bench.store.request.connect_limit_ns, 1 * S);
	CHECK_INT(bench.store.request.answer_limit_ns, 500 * MS);
}

static void
test_early_tick(void)
{
	tap_case("a tick before its time does nothing");
	bench_acquire(&bench, 30 * S, WAIT_FOR_EVER);
	lock_tick(&bench.lock, bench.now);
	CHECK_INT(bench.store.total, 1);
	bench_answer_held(&bench, 20 * S);
	struct instant due = lock_due(&bench.lock);
	bench.now = instant_plus(due, -1);
	lock_tick(&bench.lock, bench.now);
	CHECK_INT(bench.store.total, 1);
	CHECK_INT(lock_due(&bench.lock).ns, due.ns);
	CHECK_INT(bench.lock.state, LOCK_WAITING);
	bench_pass(&bench, 1);
	bench_answer(&bench, OUTCOME_OK);
	lock_tick(&bench.lock, bench.now);
	CHECK_INT(bench.store.total, 2);
	CHECK_INT(bench.lock.state, LOCK_HELD);
	CHECK_INT(lock_due(&bench.lock).ns, bench.lock.t0.ns + 10 * S);
}

static void
test_conflict(void)
{
	tap_case("-n: busy is a conflict at once, and names who has it");
	bench_acquire(&bench, 30 * S, 0);
	bench_pass(&bench, 3 * MS);
	bench_answer_held(&bench, 20 * S);
	CHECK_TEXT(bench.lock.holder.token, "another");
	CHECK_INT(bench.told, 1);
	bench_check_failed(&bench, OUTCOME_HELD);
	CHECK_INT(bench.store.total, 1);

	tap_case("busy, then granted");
	bench_acquire(&bench, 30 * S, WAIT_FOR_EVER);
	bench_answer_held(&bench, 20 * S);
	CHECK_INT(bench.lock.state, LOCK_WAITING);
	CHECK_INT(bench.told_state, LOCK_WAITING);
	CHECK(!lock_is_held(&bench.lock));
	CHECK(bench_pass_until_asked(&bench, 1 * S));
	CHECK(bench_is_asked(&bench, STORE_ACQUIRE));
	struct instant sent = bench.now;
	bench_pass(&bench, 2 * MS);
	bench_answer(&bench, OUTCOME_OK);
	CHECK_INT(bench.lock.state, LOCK_HELD);
	CHECK_INT(bench.lock.t0.ns, sent.ns);
	CHECK_INT(bench.lock.acquired_at.ns, sent.ns);
}

static void
test_polling(void)
{
	tap_case(
	    "P58: without -w a waiter polls for ever, from 100 ms growing to 1 s, with jitter");
	bench_acquire(&bench, 2 * S, WAIT_FOR_EVER);
	bool differ = false;
	int64_t before = 0;
	for (int i = 0; i < 1000 && !tap_failed(); i++) {
		struct instant answered = bench.now;
		tap_note("poll %d", i);
		bench_answer_held(&bench, 20 * S);
		CHECK(bench_pass_until_asked(&bench, 10 * S));
		int64_t pause = instant_between(answered, bench.now);
		CHECK(pause >= 100 * MS && pause <= 1 * S);
		if (i == 0)
			CHECK(pause <= 150 * MS);
		if (i >= 20) {
			CHECK(pause >= 500 * MS);
			differ = differ || (before != 0 && pause != before);
			before = pause;
		}
	}
	CHECK(differ);

	tap_case("two waiters with different seeds do not poll in step");
	struct bench other;
	bench_acquire(&other, 30 * S, WAIT_FOR_EVER);
	struct lock_settings settings = other.lock.settings;
	other.store.under_way = false;
	lock_init(&other.lock, &other.store.store, &settings, 4711);
	lock_acquire(&other.lock, other.now);
	bench_acquire(&bench, 30 * S, WAIT_FOR_EVER);
	for (int i = 0; i < 10; i++) {
		bench_answer_held(&bench, 20 * S);
		bench_answer_held(&other, 20 * S);
		CHECK(bench_pass_until_asked(&bench, 10 * S));
		CHECK(bench_pass_until_asked(&other, 10 * S));
	}
	CHECK(bench.now.ns != other.now.ns);

	static const int64_t lefts[] = {0, 1, 30 * MS, 90 * MS};
	for (size_t i = 0; i < COUNT_OF(lefts); i++) {
		tap_case("a key that expires in %d us is polled just behind its expiry",
		    (int)(lefts[i] / NS_PER_US));
		bench_acquire(&bench, 30 * S, WAIT_FOR_EVER);
		struct instant answered = bench.now;
		bench_answer_held(&bench, lefts[i]);
		CHECK(bench_pass_until_asked(&bench, 10 * S));
		int64_t pause = instant_between(answered, bench.now);
		CHECK(pause > lefts[i] && pause <= lefts[i] + 10 * MS);
	}

	tap_case("R82: a key whose time does not pass is polled as one that does not expire");
	bench_acquire(&bench, 30 * S, WAIT_FOR_EVER);
	struct instant begin = bench.now;
	for (int i = 0; i < 20; i++) {
		bench_answer_held(&bench, 3 * MS);
		CHECK(bench_pass_until_asked(&bench, 10 * S));
	}
	CHECK(instant_between(begin, bench.now) >= 5 * S);

	tap_case("a key that does not expire is polled as any other");
	bench_acquire(&bench, 30 * S, WAIT_FOR_EVER);
	struct instant answered = bench.now;
	bench_answer_held(&bench, -1);
	CHECK(bench_pass_until_asked(&bench, 10 * S));
	CHECK(instant_between(answered, bench.now) >= 100 * MS);
	CHECK(instant_between(answered, bench.now) <= 150 * MS);
}

static void
wait_behind_long_expiry(const void *context)
{
	const int64_t *left_ns = context;
	bench_acquire(&bench, 30 * S, WAIT_FOR_EVER);
	bench_answer_held(&bench, *left_ns);
	int64_t pause = instant_between(bench.now, lock_due(&bench.lock));
	_exit(pause >= 100 * MS && pause <= 150 * MS ? 0 : 1);
}

static void
test_long_expiry(void)
{
	static const int64_t lefts[] = {INT64_MAX, INT64_MAX - 5 * MS, INT64_MAX - 1,
	    INT64_MAX / 2};
	for (size_t i = 0; i < COUNT_OF(lefts); i++) {
		tap_case("a key that expires in centuries does not make its waiter spin: row %zu",
		    i + 1);
		tap_survives(wait_behind_long_expiry, &lefts[i]);
	}
}

static void
test_wait(void)
{
	tap_case("P52: -w 0.3 tries until its end, once more just then, and is a conflict");
	bench_acquire(&bench, 30 * S, 300 * MS);
	struct instant start = bench.now;
	struct instant last = start;
	int tries = 0;
	while (bench.lock.state != LOCK_FAILED && tries < 10) {
		last = bench.store.started_at;
		tries++;
		bench_pass(&bench, 1 * MS);
		bench_answer_held(&bench, 20 * S);
		if (bench.lock.state != LOCK_FAILED)
			CHECK(bench_pass_until_asked(&bench, 1 * S));
	}
	CHECK_INT(instant_between(start, last), 300 * MS);
	CHECK_INT(instant_between(start, bench.told_at), 301 * MS);
	CHECK(tries >= 3 && tries <= 4);
	CHECK_TEXT(bench.lock.holder.token, "another");
	bench_check_failed(&bench, OUTCOME_HELD);
	CHECK_INT(bench.store.started[STORE_RELEASE], 0);

	tap_case("-w: freed in the last moment is still acquired");
	bench_acquire(&bench, 30 * S, 300 * MS);
	start = bench.now;
	bench_answer_held(&bench, 20 * S);
	for (int i = 0; i < 10 && instant_between(start, bench.now) < 300 * MS; i++) {
		if (bench.store.under_way)
			bench_answer_held(&bench, 20 * S);
		CHECK(bench_pass_until_asked(&bench, 1 * S));
	}
	bench_pass(&bench, 40 * MS);
	CHECK(bench_is_asked(&bench, STORE_ACQUIRE));
	bench_answer(&bench, OUTCOME_OK);
	CHECK_INT(bench.lock.state, LOCK_HELD);
}

/* A waiter whose -w of 300 ms ends while its last poll is under way; at 350 ms. */
static void
run_out_while_asking(void)
{
	bench_acquire(&bench, 30 * S, 300 * MS);
	bench_answer_held(&bench, 250 * MS);
	for (int i = 0; i < 10 && !bench.store.started[STORE_RELEASE]; i++) {
		if (bench.store.under_way && bench.now.ns < bench.lock.asked_at.ns + 300 * MS)
			bench_answer_held(&bench, 20 * S);
		if (!bench_pass_until_asked(&bench, 1 * S))
			break;
	}
}

static void
test_wait_ends_while_asking(void)
{
	tap_case("-w ends while a poll is under way: what it may do is undone by a release");
	run_out_while_asking();
	CHECK(bench_is_asked(&bench, STORE_RELEASE));
	CHECK_INT(bench.lock.state, LOCK_LEAVING);
	CHECK_INT(instant_between(bench.lock.asked_at, bench.now), 350 * MS);
	CHECK_INT(bench.store.request.rest_ns, 0);
	bench_pass(&bench, 10 * MS);
	bench_answer(&bench, OUTCOME_OK);
	bench_check_failed(&bench, OUTCOME_HELD);
	CHECK_INT(bench.store.closed, 0);

	tap_case("and the answer to that release is not waited for longer than 80 ms");
	run_out_while_asking();
	bench_pass(&bench, 80 * MS - 1);
	CHECK_INT(bench.lock.state, LOCK_LEAVING);
	bench_pass(&bench, 1);
	CHECK_INT(bench.store.closed, 1);
	bench_check_failed(&bench, OUTCOME_HELD);

	static const enum outcome outcomes[] = {OUTCOME_LOST, OUTCOME_UNREACHABLE, OUTCOME_REFUSED,
	    OUTCOME_DENIED, OUTCOME_UNKNOWN};
	for (size_t i = 0; i < COUNT_OF(outcomes); i++) {
		tap_case("whatever that release is answered, it is a conflict: outcome %d",
		    (int)outcomes[i]);
		run_out_while_asking();
		bench_answer(&bench, outcomes[i]);
		bench_pass(&bench, 80 * MS);
		bench_check_failed(&bench, OUTCOME_HELD);
	}
}

int
main(void)
{
	test_granted();
	test_limits();
	test_early_tick();
	test_conflict();
	test_polling();
	test_long_expiry();
	test_wait();
	test_wait_ends_while_asking();
	return tap_end();
}
