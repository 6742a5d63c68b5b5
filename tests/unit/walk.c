/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "walk.h"

#include "tap.h"

static bool
one_in(struct walk *walk, int64_t n)
{
	return tap_random_below(&walk->random, n) == 0;
}

/* -- steps ------------------------------------------------------------------------------------ */

static int64_t
some_time(struct walk *walk)
{
	switch (tap_random_below(&walk->random, 8)) {
	case 0:
		return 0;
	case 1:
		return walk->ttl_ns / 3;
	case 2:
		return tap_random_below(&walk->random, walk->ttl_ns);
	case 3:
		return one_in(walk, 8) ? tap_random_below(&walk->random, 4 * walk->ttl_ns) : 1;
	default:
		return tap_random_below(&walk->random, 60 * MS);
	}
}

/* Woken when due, or late. */
static void
wake(struct walk *walk)
{
	struct bench *bench = &walk->bench;
	struct instant due = lock_due(&bench->lock);
	if (due.ns != INT64_MAX && due.ns > bench->now.ns)
		bench->now = due;
	if (one_in(walk, 4))
		bench->now = instant_plus(bench->now, some_time(walk));
	lock_tick(&bench->lock, bench->now);
}

/* Where in line, if at all: a server says of -n that it is not, and one that says FULL neither. */
static void
answer_held(struct walk *walk)
{
	static const int64_t lefts[] = {-1, 0, 5 * MS, 700 * MS, 20 * S}, ranks[] = {0, 0, 1, 30};
	struct bench *bench = &walk->bench;
	int64_t left_ns = lefts[tap_random_below(&walk->random, COUNT_OF(lefts))];
	struct place place = {.rank = -1, .full = bench->store.request.wait && one_in(walk, 16)};
	if (bench->store.request.wait && !place.full && !one_in(walk, 4)) {
		place.rank = ranks[tap_random_below(&walk->random, COUNT_OF(ranks))];
		place.ticket = tap_random_below(&walk->random, INT64_MAX);
		place.told = !one_in(walk, 3);
		place.followed = bench->store.request.follow && one_in(walk, 2);
	}
	bench->known = one_in(walk, 2);
	walk->place = place;
	bench_answer_place(bench, left_ns, place);
}

/* Any answer that the verb can have. What was sent was sent between the start and now. */
static void
answer(struct walk *walk)
{
	static const enum outcome failures[] = {OUTCOME_UNREACHABLE, OUTCOME_REFUSED,
	    OUTCOME_DENIED, OUTCOME_UNKNOWN, OUTCOME_UNKNOWN};
	struct bench *bench = &walk->bench;
	enum store_verb verb = bench->store.request.verb;
	int64_t age = instant_between(bench->store.started_at, bench->now);
	struct instant sent =
	    instant_plus(bench->store.started_at, tap_random_below(&walk->random, age + 1));
	if (one_in(walk, 2))
		sent = bench->store.started_at;
	/* The engine keeps this promise: nothing is sent from not_later on. */
	bool too_late = sent.ns >= bench->store.request.not_later.ns;
	if (too_late || one_in(walk, 3)) {
		enum outcome outcome =
		    failures[tap_random_below(&walk->random, COUNT_OF(failures))];
		if (too_late)
			outcome = OUTCOME_UNREACHABLE;
		/* A denial ends a waiter: seldom, or no walk gets far. */
		if (outcome == OUTCOME_DENIED && !one_in(walk, 4))
			outcome = OUTCOME_UNREACHABLE;
		bench_answer(bench, outcome);
	} else if (verb == STORE_LOOK && one_in(walk, 2)) {
		bench_answer_broken(bench);
	} else if ((verb == STORE_ACQUIRE || verb == STORE_LOOK) && one_in(walk, 2)) {
		answer_held(walk);
	} else if (verb != STORE_ACQUIRE && one_in(walk, 6)) {
		bench_answer_lost(bench, one_in(walk, 2));
	} else {
		bench_answer_sent_at(bench, OUTCOME_OK, sent);
	}
}

const char *
walk_take_step(struct walk *walk)
{
	struct bench *bench = &walk->bench;
	struct lock *lock = &bench->lock;
	int64_t limit =
	    bench->store.request.connect_limit_ns + bench->store.request.answer_limit_ns;
	if (bench->store.under_way &&
	    (one_in(walk, 2) || instant_between(bench->store.started_at, bench->now) > limit)) {
		answer(walk);
		return "answer";
	}
	switch (tap_random_below(&walk->random, 15)) {
	case 0:
		bench->now = instant_plus(bench->now, some_time(walk));
		return "time";
	case 1:
		if (!bench->store.under_way)
			bench_disturb(bench);
		return "disturbed";
	case 2:
		if (one_in(walk, 4))
			lock_give_up(lock, bench->now);
		return "give up";
	case 3:
		if ((lock_is_held(lock) || lock->state == LOCK_LOST) && one_in(walk, 3)) {
			walk->release_wanted = true;
			lock_release(lock, bench->now, one_in(walk, 2) ? 0 : 5 * S);
		}
		return "release";
	case 4:
		lock_confirm(lock, bench->now);
		return "confirm";
	case 5:
	case 6:
		/* Whenever it comes: it may have been on its way for long. */
		bench_wake(bench, (enum wake)tap_random_below(&walk->random, WAKE_LISTENS + 1),
		    some_time(walk) - 1);
		return "message";
	default:
		wake(walk);
		return "wake";
	}
}
