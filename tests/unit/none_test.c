/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* store/none: what it promises lock.c, alone and under a whole lock. */
#include "store/none.h"

#include <string.h>

#include "lock/lock.h"
#include "tap.h"

static struct {
	struct loop loop;
	struct none_store none;
	struct store *store;
	int answers;
	struct store_answer last;
} bench;

static void
on_answered(void *context, const struct store_answer *answer)
{
	CHECK(context == &bench);
	bench.answers++;
	bench.last = *answer;
}

static void
on_disturbed(void *context, struct instant now)
{
	(void)context;
	(void)now;
	CHECK(false);
}

static void
begin(void)
{
	static const struct store_events events = {
	    .answered = on_answered,
	    .disturbed = on_disturbed,
	};
	memset(&bench, 0, sizeof bench);
	CHECK_INT(loop_open(&bench.loop), 0);
	bench.store = none_store_init(&bench.none, &bench.loop, "no server");
	bench.store->events = &events;
	bench.store->context = &bench;
}

static void
ask(enum store_verb verb)
{
	const struct store_request request = {.verb = verb, .not_later = INSTANT_NEVER};
	bench.store->operations->start(bench.store, &request);
}

static void
turn(void)
{
	CHECK_INT(loop_run_once(&bench.loop), 0);
}

static void
test_answers(void)
{
	static const enum store_verb verbs[] = {STORE_ACQUIRE, STORE_RENEW, STORE_TOUCH,
	    STORE_RELEASE, STORE_LOOK};
	for (size_t i = 0; i < COUNT_OF(verbs); i++) {
		tap_case("verb %d is granted, by the loop and not from inside start", (int)i);
		begin();
		struct instant before = clock_now();
		ask(verbs[i]);
		CHECK_INT(bench.answers, 0);
		turn();
		CHECK_INT(bench.answers, 1);
		CHECK_INT(bench.last.outcome, OUTCOME_OK);
		CHECK_TEXT(bench.last.fence, "");
		CHECK(bench.last.sent_at.ns >= before.ns);
		CHECK(bench.last.received_at.ns >= bench.last.sent_at.ns);
		loop_close(&bench.loop);
	}
}

static void
on_alarm(void *context, struct instant now)
{
	(void)now;
	*(bool *)context = true;
}

static void
test_one_at_a_time(void)
{
	bool rang;
	struct timer alarm = {.due = on_alarm, .context = &rang};

	tap_case("a release takes the place of what is under way: one answer");
	begin();
	ask(STORE_ACQUIRE);
	ask(STORE_RELEASE);
	rang = false;
	loop_set_timer(&bench.loop, &alarm, instant_plus(clock_now(), 20 * NS_PER_MS));
	while (!rang)
		turn();
	CHECK_INT(bench.answers, 1);
	loop_close(&bench.loop);

	tap_case("what was closed, or forgotten in the other process, is not answered");
	for (int i = 0; i < 2; i++) {
		begin();
		ask(STORE_RENEW);
		if (i == 0)
			bench.store->operations->close(bench.store);
		else
			bench.store->operations->forget(bench.store);
		rang = false;
		loop_set_timer(&bench.loop, &alarm, instant_plus(clock_now(), 20 * NS_PER_MS));
		while (!rang)
			turn();
		CHECK_INT(bench.answers, 0);
		loop_close(&bench.loop);
	}
}

static void
test_under_a_lock(void)
{
	struct lock lock;
	struct lock_settings settings = {.wait_ns = 0, .connect_limit_ns = NS_PER_S};
	struct problem problem;

	tap_case("a lock of the longest TTL is had, not due for days, and given back");
	begin();
	CHECK(lease_terms_make(&settings.terms, LEASE_TTL_MOST, 5 * NS_PER_S, &problem));
	lock_init(&lock, bench.store, &settings, 1);
	lock_acquire(&lock, clock_now());
	CHECK_INT(lock.state, LOCK_ASKING);
	turn();
	CHECK_INT(lock.state, LOCK_HELD);
	CHECK(instant_between(clock_now(), lock_due(&lock)) > 9 * 24 * 3600 * NS_PER_S);
	lock_tick(&lock, lock_due(&lock));
	turn();
	CHECK_INT(lock.loss, LOSS_NONE);
	lock_release(&lock, clock_now(), 0);
	turn();
	CHECK_INT(lock.state, LOCK_RELEASED);
	CHECK_INT(lock.released, RELEASE_CONFIRMED);
	loop_close(&bench.loop);
}

int
main(void)
{
	test_answers();
	test_one_at_a_time();
	test_under_a_lock();
	return tap_end();
}
