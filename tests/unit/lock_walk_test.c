/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* lock/: thousands of random schedules, the same in every run. A server that answers anything at
 * any time, a machine that sleeps, a user who gives up: what must hold always is checked after each
 * step. `lock_walk_test SEED` runs one schedule and tells each step. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"
#include "walk.h"

#define SCHEDULES 20000
#define STEPS 60

static bool
has_ended(const struct walk *walk)
{
	enum lock_state state = walk->bench.lock.state;
	return state == LOCK_FAILED || state == LOCK_RELEASED;
}

/* How often each state was seen, each kind of loss, each kind of end: a walk that never gets
 * anywhere proves nothing. */
static int states[LOCK_FAILED + 1], losses[LOSS_UNCONFIRMED + 1], releases[RELEASE_UNCONFIRMED + 1];
static int failures_seen[OUTCOME_UNKNOWN + 1], verbs[VERBS];

/* -- what must hold --------------------------------------------------------------------------- */

static void
check_requests(struct walk *walk, enum lock_state before)
{
	const struct fake_store *store = &walk->bench.store;
	CHECK_INT(store->overlaps, 0);
	if (store->total == walk->total)
		return;
	CHECK_INT(store->total, walk->total + 1);
	switch (store->request.verb) {
	case STORE_ACQUIRE:
		/* A lost lock is never recreated, a held one not acquired again. */
		CHECK(!walk->was_held);
		/* With the ticket that the server gave, through whatever has happened since. */
		CHECK_INT(store->request.ticket, walk->place.ticket);
		CHECK(store->request.wait == (walk->bench.lock.settings.wait_ns != 0));
		break;
	case STORE_RENEW:
	case STORE_TOUCH:
		CHECK(before == LOCK_HELD || before == LOCK_DOUBTFUL);
		CHECK(store->started_at.ns < walk->term_at.ns);
		CHECK_INT(store->request.not_later.ns, walk->term_at.ns);
		break;
	case STORE_RELEASE:
	case STORE_LOOK:
		break;
	}
}

static void
check_state(struct walk *walk, enum lock_state before, const char *step)
{
	const struct bench *bench = &walk->bench;
	const struct lock *lock = &bench->lock;
	const struct lease_terms *terms = &lock->settings.terms;
	bool answered = strcmp(step, "answer") == 0;

	if (lock_is_held(lock)) {
		/* Only an answer makes a holder, and it is one of OK. */
		if (!walk->was_held)
			CHECK(answered && bench->store.request.verb == STORE_ACQUIRE);
		walk->was_held = true;
		CHECK(lock->t0.ns >= walk->last_t0.ns);
		CHECK(lock->t0.ns <= bench->now.ns);
		CHECK(lock->acquired_at.ns <= lock->t0.ns);
		if (lock->t0.ns != walk->last_t0.ns)
			CHECK(answered);
		/* Never held when it is too late, as soon as the clock has been looked at. */
		if (strcmp(step, "wake") == 0 || answered)
			CHECK(bench->now.ns < lease_term_at(terms, lock->t0).ns);
	}
	/* No way back. */
	if (before == LOCK_LOST)
		CHECK(lock->state == LOCK_LOST || lock->state == LOCK_RELEASING ||
		    lock->state == LOCK_RELEASED);
	if (before == LOCK_RELEASING)
		CHECK(lock->state == LOCK_RELEASING || lock->state == LOCK_RELEASED);
	if (before == LOCK_LEAVING)
		CHECK(lock->state == LOCK_LEAVING || lock->state == LOCK_FAILED);
	if (before == LOCK_FAILED || before == LOCK_RELEASED)
		CHECK_INT(lock->state, before);
	if (lock->state == LOCK_LOST)
		CHECK(lock->loss != LOSS_NONE);
	if (lock->state == LOCK_RELEASED || lock->state == LOCK_FAILED)
		CHECK(lock->state == LOCK_FAILED || walk->was_held);
	/* Somebody will wake it. A loss waits for whoever runs the command. */
	bool wakes = lock_due(lock).ns != INT64_MAX || bench->store.under_way;
	CHECK(wakes || has_ended(walk) || lock->state == LOCK_LOST);
}

static void
check_end(struct walk *walk)
{
	const struct bench *bench = &walk->bench;
	if (!has_ended(walk))
		return;
	/* After FAILED nothing of ours is left, as far as can be told. */
	if (bench->lock.state == LOCK_FAILED) {
		CHECK(!walk->in_doubt);
		CHECK(!walk->in_line);
	}
	if (walk->ended_total < 0)
		walk->ended_total = bench->store.total;
	CHECK_INT(bench->store.total, walk->ended_total);
}

/* Does the server perhaps hold a key of ours that nobody is going to undo? A release that has been
 * started follows an acquire that was sent, on the same connection. */
static void
note_doubt(struct walk *walk, bool answered, enum store_verb verb)
{
	const struct fake_store *store = &walk->bench.store;
	if (answered && verb == STORE_ACQUIRE) {
		switch (store->answered) {
		case OUTCOME_OK:
		case OUTCOME_UNCONFIRMED:
		case OUTCOME_UNKNOWN:
			walk->in_doubt = true;
			break;
		case OUTCOME_HELD:
			walk->in_doubt = false;
			walk->in_line = walk->place.rank >= 0;
			break;
		case OUTCOME_LOST:
		case OUTCOME_UNREACHABLE:
		case OUTCOME_REFUSED:
		case OUTCOME_DENIED:
			/* This one took nothing; what an earlier one did is as open as before. */
			break;
		}
	}
	if (store->total > walk->total && store->request.verb == STORE_RELEASE) {
		walk->in_doubt = false;
		walk->in_line = false;
	}
	if (!store->under_way && verb == STORE_ACQUIRE && !answered && store->closed > walk->closed)
		walk->in_doubt = true;
}

static void
check_step(struct walk *walk, enum lock_state before, const char *step)
{
	if (walk->telling)
		printf("# %s: state %d, now +%" PRId64 " us, %d requests, busy %d, due +%" PRId64
		       " us\n",
		    step, (int)walk->bench.lock.state, (walk->bench.now.ns - 1000 * S) / 1000,
		    walk->bench.store.total, walk->bench.store.under_way,
		    lock_due(&walk->bench.lock).ns == INT64_MAX
			? -1
			: (lock_due(&walk->bench.lock).ns - 1000 * S) / 1000);
	check_requests(walk, before);
	check_state(walk, before, step);
	check_end(walk);
	walk->last_t0 = walk->bench.lock.t0;
	states[walk->bench.lock.state]++;
}

static void
count(const struct walk *walk)
{
	const struct lock *lock = &walk->bench.lock;
	if (lock->loss != LOSS_NONE)
		losses[lock->loss]++;
	if (lock->state == LOCK_RELEASED)
		releases[lock->released]++;
	if (lock->state == LOCK_FAILED)
		failures_seen[lock->failure]++;
	for (int verb = 0; verb < VERBS; verb++)
		verbs[verb] += walk->bench.store.started[verb];
}

static void
check_that_often(const char *what, const int *counts, int first, int last)
{
	for (int i = first; i <= last; i++) {
		tap_note("%s %d: %d times", what, i, counts[i]);
		CHECK(counts[i] >= 100);
	}
}

/* -- a schedule ------------------------------------------------------------------------------- */

/* No more answers: it must come to an end by itself, soon. */
static void
wind_up(struct walk *walk)
{
	struct bench *bench = &walk->bench;
	struct lock *lock = &bench->lock;
	struct instant start = bench->now;
	int64_t limit = 80 * MS;
	if (lock_is_held(lock) || lock->state == LOCK_LOST || lock->state == LOCK_RELEASING) {
		limit = 2 * S;
		if (lock->state != LOCK_RELEASING && !walk->release_wanted)
			lock_release(lock, bench->now, 0);
	} else {
		lock_give_up(lock, bench->now);
	}
	bench_pass(bench, 10 * S);
	CHECK(has_ended(walk));
	CHECK(bench->told_at.ns <= start.ns + limit);
}

static void
run(uint64_t seed, bool telling)
{
	static const int64_t ttls[] = {1 * S, 2 * S, 3 * S, 30 * S, 3600 * S};
	static const int64_t waits[] = {0, 300 * MS, 5 * S, WAIT_FOR_EVER};
	struct walk walk = {.random = seed * 2654435761u + 1,
	    .telling = telling,
	    .ended_total = -1};
	for (int i = 0; i < 5; i++)
		tap_random(&walk.random);
	walk.ttl_ns = ttls[tap_random_below(&walk.random, COUNT_OF(ttls))];
	bench_acquire(&walk.bench, walk.ttl_ns,
	    waits[tap_random_below(&walk.random, COUNT_OF(waits))]);
	for (int i = 0; i < STEPS && !tap_failed(); i++) {
		const struct lock *lock = &walk.bench.lock;
		enum lock_state before = lock->state;
		enum store_verb verb = walk.bench.store.request.verb;
		bool under_way = walk.bench.store.under_way;
		walk.total = walk.bench.store.total;
		walk.closed = walk.bench.store.closed;
		walk.term_at = lease_term_at(&lock->settings.terms, lock->t0);
		tap_note("seed %" PRIu64 ", step %d, state %d", seed, i, (int)before);
		const char *step = walk_take_step(&walk);
		note_doubt(&walk, strcmp(step, "answer") == 0, under_way ? verb : STORE_LOOK);
		check_step(&walk, before, step);
	}
	tap_note("seed %" PRIu64 ", the end", seed);
	if (!has_ended(&walk) && !tap_failed())
		wind_up(&walk);
	count(&walk);
}

int
main(int argc, char **argv)
{
	if (argc > 1) {
		tap_case("schedule %s", argv[1]);
		run(strtoull(argv[1], NULL, 10), true);
		return tap_end();
	}
	tap_case("%d random schedules keep what is promised", SCHEDULES);
	for (uint64_t seed = 0; seed < SCHEDULES && !tap_failed(); seed++)
		run(seed, false);
	tap_case("and they go everywhere");
	check_that_often("state", states, LOCK_ASKING, LOCK_FAILED);
	check_that_often("loss", losses, LOSS_GONE, LOSS_UNCONFIRMED);
	check_that_often("release", releases, RELEASE_CONFIRMED, RELEASE_UNCONFIRMED);
	check_that_often("verb", verbs, STORE_ACQUIRE, STORE_LOOK);
	check_that_often("failure", failures_seen, OUTCOME_HELD, OUTCOME_HELD);
	check_that_often("failure", failures_seen, OUTCOME_UNREACHABLE, OUTCOME_DENIED);
	return tap_end();
}
