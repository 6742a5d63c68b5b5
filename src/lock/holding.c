/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "lock/lock_parts.h"

#define TOUCH_PERIOD (3600 * NS_PER_S)
/* The pause between two tries in doubt that somebody's question brings forward. */
#define CONFIRM_IN_DOUBT (200 * NS_PER_MS)

static struct instant
end_of_hope(const struct lock *lock)
{
	return lease_term_at(&lock->settings.terms, lock->t0);
}

static void
lose(struct lock *lock, enum lock_loss loss, struct instant now)
{
	lock->loss = loss;
	lock->loss_problem = lock->problem;
	lock->due = INSTANT_NEVER;
	/* Who has it now is asked for the message's sake; the command is signalled at once. */
	lock->explained = loss != LOSS_ANOTHER;
	lock->holder = (struct holder){.known = false};
	if (loss == LOSS_ANOTHER && !lock->busy)
		lock_ask(lock, STORE_LOOK, INSTANT_NEVER);
	lock_change(lock, LOCK_LOST, now);
}

void
lock_on_look_answer(struct lock *lock, const struct store_answer *answer)
{
	struct instant now = answer->received_at;
	if (lock->verb == STORE_LOOK && answer->outcome == OUTCOME_HELD) {
		lock->holder = answer->holder;
		if (lock->holder.ours)
			lock->loss = LOSS_BROKEN;
	}
	lock->explained = true;
	if (lock->release_waits)
		lock_release(lock, now, 0);
	else
		lock_change(lock, LOCK_LOST, now);
}

void
lock_end_session(struct lock *lock, const struct problem *why, struct instant now)
{
	if (!lock_is_held(lock))
		return;
	lock->problem = *why;
	lose(lock, LOSS_ENDED, now);
}

static void
renew(struct lock *lock, struct instant now)
{
	bool touch = instant_between(lock->touched_at, now) >= TOUCH_PERIOD && lock->failures == 0;
	lock->due = end_of_hope(lock);
	lock->tried_at = now;
	lock_ask(lock, touch ? STORE_TOUCH : STORE_RENEW, end_of_hope(lock));
	if (lock->hurried_tries > 0)
		lock->hurried_tries--;
}

void
lock_on_renew_answer(struct lock *lock, const struct store_answer *answer)
{
	const struct lease_terms *terms = &lock->settings.terms;
	struct instant now = answer->received_at;

	if (answer->outcome == OUTCOME_LOST && answer->ended) {
		lock_end_session(lock, &answer->problem, now);
		return;
	}
	if (answer->outcome == OUTCOME_LOST) {
		lock->partly = answer->partly;
		lose(lock, answer->gone ? LOSS_GONE : LOSS_ANOTHER, now);
		return;
	}
	/* A late confirmation revives nothing: the command may be dying already. */
	if (instant_reached(end_of_hope(lock), now)) {
		lose(lock, LOSS_UNCONFIRMED, now);
		return;
	}
	if (answer->outcome == OUTCOME_OK) {
		lock->t0 = answer->sent_at;
		if (lock->verb == STORE_TOUCH)
			lock->touched_at = answer->sent_at;
		lock_end_trouble(lock);
		lock->hurried_tries = 0;
		lock->due = lease_renew_at(terms, lock->t0);
		lock_change(lock, LOCK_HELD, now);
		return;
	}
	lock_count_failure(lock, answer);
	lock->due = instant_earlier(instant_plus(now, lock_retry_pause(lock)), end_of_hope(lock));
	lock_change(lock, LOCK_DOUBTFUL, now);
}

void
lock_tick_held(struct lock *lock, struct instant now)
{
	if (instant_reached(end_of_hope(lock), now))
		lose(lock, LOSS_UNCONFIRMED, now);
	else if (!lock->busy)
		renew(lock, now);
}

void
lock_confirm(struct lock *lock, struct instant now)
{
	if (lock->busy || !lock_is_held(lock))
		return;
	bool doubtful = lock->state == LOCK_DOUBTFUL;
	struct instant soon = doubtful ? instant_plus(lock->tried_at, CONFIRM_IN_DOUBT)
				       : instant_plus(lock->t0, LOCK_RETRY_FIRST);
	if (soon.ns < now.ns)
		soon = now;
	if (soon.ns >= lock->due.ns)
		return;
	lock->due = soon;
	/* Not again in the same row of failures: a server that is slow, but not too slow for a
	 * renewal, must not cost the lock because somebody keeps asking. */
	if (lock->failures == 0)
		lock->hurried_tries = 2;
}

void
lock_verify(struct lock *lock, struct instant now)
{
	if (lock->busy || lock->state != LOCK_HELD)
		return;
	struct instant soon = instant_plus(lock->t0, LOCK_RETRY_FIRST);
	if (soon.ns < now.ns)
		soon = now;
	lock->due = instant_earlier(lock->due, soon);
}
