/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include <string.h>

#include "lock/lock_parts.h"

static void
on_answered(void *context, const struct store_answer *answer);
static void
on_disturbed(void *context, struct instant now);
static void
on_woken(void *context, enum wake wake, int64_t left_ns, struct instant now);
static void
on_ended(void *context, const struct problem *why, struct instant now);

void
lock_init(struct lock *lock, struct store *store, const struct lock_settings *settings,
    uint64_t seed)
{
	static const struct store_events events = {
	    .answered = on_answered,
	    .disturbed = on_disturbed,
	    .woken = on_woken,
	    .ended = on_ended,
	};
	memset(lock, 0, sizeof *lock);
	lock->settings = *settings;
	lock->store = store;
	lock->due = INSTANT_NEVER;
	lock->random = seed | 1;
	store->events = &events;
	store->context = lock;
}

struct instant
lock_due(const struct lock *lock)
{
	return lock->due;
}

bool
lock_is_held(const struct lock *lock)
{
	return lock->state == LOCK_HELD || lock->state == LOCK_DOUBTFUL;
}

void
lock_change(struct lock *lock, enum lock_state state, struct instant now)
{
	lock->state = state;
	if (lock->changed != NULL)
		lock->changed(lock->context, lock, now);
}

bool
lock_stands_in_line(const struct lock *lock)
{
	return lock->settings.wait_ns != 0;
}

void
lock_ask(struct lock *lock, enum store_verb verb, struct instant not_later)
{
	const struct lease_terms *terms = &lock->settings.terms;
	struct store_request request = {
	    .verb = verb,
	    .connect_limit_ns = lock->settings.connect_limit_ns,
	    .answer_limit_ns = lease_request_limit(terms),
	    .not_later = not_later,
	    .ttl_ns = terms->ttl_ns,
	    .rest_ns = lock->rest_ns,
	    .undo = lock->state == LOCK_LEAVING,
	    .wait = verb == STORE_ACQUIRE && lock_stands_in_line(lock),
	    .ticket = lock->place.ticket,
	    .confirm = lock->woken,
	    .follow = lock->follow,
	    .ancestor = lock->settings.ancestor,
	    .under = lock->settings.under,
	};
	/* -w bounds a first contact that is slow, too. */
	if (verb == STORE_ACQUIRE && lock->settings.wait_ns > 0 &&
	    request.connect_limit_ns > lock->settings.wait_ns)
		request.connect_limit_ns = lock->settings.wait_ns;
	if (verb == STORE_RENEW || verb == STORE_TOUCH) {
		/* A connection attempt that hangs must leave room for others: a packet that is
		 * sent into a hole is only sent again after seconds. */
		if (request.connect_limit_ns > 2 * lease_renew_limit(terms))
			request.connect_limit_ns = 2 * lease_renew_limit(terms);
		request.answer_limit_ns = lease_renew_limit(terms);
		int64_t half = lease_confirm_limit(terms) / 2;
		if (lock->hurried_tries > 0 && request.answer_limit_ns > half)
			request.answer_limit_ns = half;
	}
	/* A connection that has been silent for long may be dead without a sign: a release is
	 * tried on a new one while there is time. */
	if (verb == STORE_RELEASE && request.answer_limit_ns > LOCK_RELEASE_LIMIT / 4)
		request.answer_limit_ns = LOCK_RELEASE_LIMIT / 4;
	lock->busy = true;
	lock->verb = verb;
	lock->store->operations->start(lock->store, &request);
}

/* The pause before the next try after a row of failures: none, then 50 ms, doubling. */
int64_t
lock_retry_pause(const struct lock *lock)
{
	int64_t longest = lease_renew_limit(&lock->settings.terms);
	int64_t pause = LOCK_RETRY_FIRST;
	if (lock->failures <= 1)
		return 0;
	for (unsigned int i = 2; i < lock->failures && pause < longest; i++)
		pause *= 2;
	return pause < longest ? pause : longest;
}

void
lock_count_failure(struct lock *lock, const struct store_answer *answer)
{
	if (lock->failures++ == 0)
		lock->trouble_since = answer->received_at;
	lock->unconfirmed = answer->outcome == OUTCOME_UNCONFIRMED;
	lock->problem = answer->problem;
}

void
lock_end_trouble(struct lock *lock)
{
	lock->failures = 0;
	lock->unconfirmed = false;
	lock->trouble_since = INSTANT_NEVER;
	lock->problem = (struct problem){.text = ""};
}

static void
on_answered(void *context, const struct store_answer *answer)
{
	struct lock *lock = context;
	lock->busy = false;
	switch (lock->state) {
	case LOCK_ASKING:
	case LOCK_WAITING:
		lock_on_acquire_answer(lock, answer);
		break;
	case LOCK_HELD:
	case LOCK_DOUBTFUL:
		lock_on_renew_answer(lock, answer);
		break;
	case LOCK_LOST:
		lock_on_look_answer(lock, answer);
		break;
	case LOCK_RELEASING:
		lock_on_release_answer(lock, answer);
		break;
	case LOCK_LEAVING:
		lock_on_undo_answer(lock, answer);
		break;
	case LOCK_IDLE:
	case LOCK_RELEASED:
	case LOCK_FAILED:
		break;
	}
}

static void
on_disturbed(void *context, struct instant now)
{
	struct lock *lock = context;
	if (lock->state == LOCK_WAITING)
		lock_rejoin(lock, now);
	else
		lock_verify(lock, now);
}

static void
on_woken(void *context, enum wake wake, int64_t left_ns, struct instant now)
{
	lock_wake(context, wake, left_ns, now);
}

static void
on_ended(void *context, const struct problem *why, struct instant now)
{
	lock_end_session(context, why, now);
}

void
lock_tick(struct lock *lock, struct instant now)
{
	if (!instant_reached(lock->due, now))
		return;
	lock->due = INSTANT_NEVER;
	switch (lock->state) {
	case LOCK_ASKING:
	case LOCK_WAITING:
		lock_tick_waiting(lock, now);
		break;
	case LOCK_HELD:
	case LOCK_DOUBTFUL:
		lock_tick_held(lock, now);
		break;
	case LOCK_RELEASING:
		lock_tick_releasing(lock, now);
		break;
	case LOCK_LEAVING:
		lock_tick_leaving(lock, now);
		break;
	case LOCK_LOST:
		if (lock->release_waits) {
			lock->explained = true; /* as far as it can be */
			lock_release(lock, now, 0);
		}
		break;
	case LOCK_IDLE:
	case LOCK_RELEASED:
	case LOCK_FAILED:
		break;
	}
}
