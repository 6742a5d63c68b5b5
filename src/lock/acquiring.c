/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include <stdio.h>
#include <string.h>

#include "lock/lock_parts.h"

/* -w is over, but an acquire is under way: its answer decides if it comes at once. */
#define OVERTIME (50 * NS_PER_MS)

/* While a try is under way -w may end. What may be ours already is waited for a little longer, as
 * long as for any answer, also by -n; but for that -n is bounded by the limits of its requests. */
static struct instant
end_of_try(const struct lock *lock, struct instant now)
{
	struct instant end = lock_wait_until(lock);
	if (lock->in_doubt) {
		struct instant answer =
		    instant_plus(now, lease_request_limit(&lock->settings.terms));
		end = end.ns > answer.ns ? end : answer;
	} else if (!lock->contacted && lock->settings.wait_ns == 0) {
		return INSTANT_NEVER;
	}
	return instant_plus(end, OVERTIME);
}

void
lock_try_acquire(struct lock *lock, struct instant now)
{
	lock->due = end_of_try(lock, now);
	lock->tried_at = now;
	lock_ask(lock, STORE_ACQUIRE, INSTANT_NEVER);
}

void
lock_acquire(struct lock *lock, struct instant now)
{
	/* Held already, but so old that it is to be confirmed afresh: then it may well be ours. */
	lock->in_doubt = lock->state == LOCK_HELD;
	if (!lock->in_doubt)
		lock->asked_at = now;
	lock->state = LOCK_ASKING;
	lock_begin_waiting(lock);
	lock_end_trouble(lock);
	lock_try_acquire(lock, now);
}

void
lock_fail(struct lock *lock, enum outcome failure, struct instant now)
{
	lock->failure = failure;
	lock->due = INSTANT_NEVER;
	lock_change(lock, LOCK_FAILED, now);
}

static void
undo(struct lock *lock)
{
	lock->due = lock->release_until;
	lock_ask(lock, STORE_RELEASE, lock->release_until);
}

static void
leave_within(struct lock *lock, enum outcome failure, struct instant until, struct instant now)
{
	lock->failure = failure;
	lock->state = LOCK_LEAVING;
	lock->rest_ns = 0;
	lock->failures = 0;
	lock->release_until = until;
	if (lock->in_doubt || lock->busy || lock->joined)
		undo(lock);
	else if (lock->ghost_until.ns > now.ns && lock->ghost_until.ns < until.ns)
		lock->due = lock->ghost_until;
	else
		lock_fail(lock, failure, now);
}

/* What is only under way is undone by the request behind it on the same connection: that was sent,
 * whether its answer is waited for or not. In doubt a connection has failed. */
static int64_t
leave_limit(const struct lock *lock)
{
	return lock->in_doubt ? lease_request_limit(&lock->settings.terms) : LOCK_LEAVE_LIMIT;
}

/* Ends acquiring for the reason given; undoes first what may have been done, within limit_ns. While
 * a ghost may come that is not the end: it is undone, or found to have been refused, afterwards. */
static void
leave(struct lock *lock, enum outcome failure, int64_t limit_ns, struct instant now)
{
	struct instant until = instant_plus(now, limit_ns);
	if (lock->ghost_until.ns > now.ns)
		until = instant_plus(lock->ghost_until, lease_request_limit(&lock->settings.terms));
	leave_within(lock, failure, until, now);
}

/* The time of a try is over. */
void
lock_end_try(struct lock *lock, struct instant now)
{
	int64_t limit_ns = leave_limit(lock);
	/* Only a server that said so a moment ago makes it a conflict. */
	bool conflict = lock->contacted && lock->failures == 0 && !lock->in_doubt;
	if (!conflict && lock->problem.text[0] == '\0')
		problem_set(&lock->problem, "no answer in time");
	/* A first contact that failed before the acquire was sent has ended earlier. */
	lock->in_doubt = lock->in_doubt || !lock->contacted;
	leave(lock,
	    conflict                ? OUTCOME_HELD
		: lock->unconfirmed ? OUTCOME_REFUSED
				    : OUTCOME_UNREACHABLE,
	    limit_ns, now);
}

void
lock_leave_by_conflict(struct lock *lock, struct instant now)
{
	leave(lock, OUTCOME_HELD, LOCK_LEAVE_LIMIT, now);
}

void
lock_give_up(struct lock *lock, struct instant now)
{
	if (lock->state == LOCK_ASKING || lock->state == LOCK_WAITING) {
		leave_within(lock, OUTCOME_HELD, instant_plus(now, LOCK_LEAVE_LIMIT), now);
	} else if (lock->state == LOCK_LEAVING) {
		lock->release_until =
		    instant_earlier(lock->release_until, instant_plus(now, LOCK_LEAVE_LIMIT));
		lock->due = instant_earlier(lock->due, lock->release_until);
	} else if (lock->state == LOCK_HELD) {
		lock_release(lock, now, 0);
		lock->release_until = instant_plus(now, LOCK_LEAVE_LIMIT);
		lock->due = lock->release_until;
	}
}

void
lock_on_undo_answer(struct lock *lock, const struct store_answer *answer)
{
	struct instant next;
	switch (answer->outcome) {
	case OUTCOME_OK:
	case OUTCOME_LOST:
	case OUTCOME_HELD:
	case OUTCOME_DENIED:
		if (lock->ghost_until.ns > answer->received_at.ns &&
		    lock->ghost_until.ns < lock->release_until.ns)
			lock->due = lock->ghost_until;
		else
			lock_fail(lock, lock->failure, answer->received_at);
		return;
	case OUTCOME_UNREACHABLE:
	case OUTCOME_REFUSED:
	case OUTCOME_UNCONFIRMED:
	case OUTCOME_UNKNOWN:
		break;
	}
	/* Why acquiring failed is in lock->problem, and stays there. */
	lock->failures++;
	next = instant_plus(answer->received_at, lock_retry_pause(lock));
	if (next.ns >= lock->release_until.ns)
		lock_fail(lock, lock->failure, answer->received_at);
	else
		lock->due = next;
}

void
lock_tick_leaving(struct lock *lock, struct instant now)
{
	if (instant_reached(lock->release_until, now)) {
		lock->store->operations->close(lock->store);
		lock->busy = false;
		lock_fail(lock, lock->failure, now);
	} else if (!lock->busy) {
		undo(lock);
	}
}

static void
become_holder(struct lock *lock, const struct store_answer *answer)
{
	lock->acquired_at = answer->sent_at;
	lock->touched_at = answer->sent_at;
	lock->t0 = answer->sent_at;
	memcpy(lock->fence, answer->fence, sizeof lock->fence);
	snprintf(lock->token, sizeof lock->token, "%s", answer->token ? answer->token : "");
	lock->slot = answer->slot;
	lock->in_doubt = false;
	lock->joined = false;
	lock_end_trouble(lock);
	lock->due = lease_renew_at(&lock->settings.terms, lock->t0);
	lock_change(lock, LOCK_HELD, answer->received_at);
}

/* Refused, by a server that says it is for now: with -w there is time for that to pass, at first
 * contact too. -n, and who gave no time, are to learn of it at once. */
static bool
may_pass(const struct lock *lock, const struct store_answer *answer)
{
	return answer->outcome == OUTCOME_REFUSED && answer->problem.is_passing &&
	    lock->settings.wait_ns != 0 && lock->settings.wait_ns != WAIT_FOR_EVER;
}

/* No usable answer to an acquire: is there time for another try? */
static void
retry_acquire(struct lock *lock, const struct store_answer *answer)
{
	struct instant now = answer->received_at;
	bool unconfirmed = answer->outcome == OUTCOME_UNCONFIRMED;
	bool refused = answer->outcome == OUTCOME_REFUSED || answer->outcome == OUTCOME_DENIED;
	lock_count_failure(lock, answer);
	if (unconfirmed) {
		/* Ours at that server, and yet not had: to be asked for again, or to be undone. */
		lock->contacted = true;
		lock->in_doubt = true;
		lock->woken = false;
	}
	if (may_pass(lock, answer))
		lock->contacted = true; /* it is there: what comes now is no first contact */
	if (answer->outcome == OUTCOME_UNKNOWN) {
		/* Its not-after: if its connection failed before that, it may be on its way. */
		lock->in_doubt = true;
		lock->ghost_until =
		    instant_plus(answer->sent_at, lease_request_limit(&lock->settings.terms));
	}
	if (answer->outcome == OUTCOME_DENIED || answer->for_good ||
	    (!lock->contacted && !lock->in_doubt) || (!lock->contacted && refused)) {
		leave(lock, unconfirmed ? OUTCOME_REFUSED : answer->outcome, leave_limit(lock),
		    now);
		return;
	}
	/* Without -w, a server that was there is given time to come back; with it, until its end.
	 * An acquire in doubt is asked for at least once more, even with -n. */
	struct instant end = lock_wait_until(lock);
	if (end.ns == INT64_MAX)
		end = instant_plus(lock->trouble_since, lease_patience(&lock->settings.terms));
	else if (lock->in_doubt && lock->failures <= 1)
		end = instant_plus(now, lock->settings.connect_limit_ns);
	struct instant next = instant_plus(now, lock_retry_pause(lock));
	struct instant last = instant_plus(end, -LOCK_RETRY_FIRST);
	/* -w promises to try until then: a pause does not leave the last moments out. */
	if (lock->settings.wait_ns != WAIT_FOR_EVER && next.ns > last.ns && now.ns < last.ns)
		next = last;
	if (next.ns >= end.ns) {
		leave(lock,
		    unconfirmed   ? OUTCOME_REFUSED
			: refused ? answer->outcome
				  : OUTCOME_UNREACHABLE,
		    leave_limit(lock), now);
		return;
	}
	lock->due = next;
	lock->state = lock->contacted ? LOCK_WAITING : LOCK_ASKING;
}

void
lock_on_acquire_answer(struct lock *lock, const struct store_answer *answer)
{
	const struct lease_terms *terms = &lock->settings.terms;
	switch (answer->outcome) {
	case OUTCOME_OK:
		lock->contacted = true;
		if (instant_reached(lease_renew_at(terms, answer->sent_at), answer->received_at)) {
			/* Ours, but old: confirm it afresh before anything runs. */
			lock->in_doubt = true;
			lock_try_acquire(lock, answer->received_at);
			return;
		}
		become_holder(lock, answer);
		break;
	case OUTCOME_HELD:
		lock_wait_for_turn(lock, answer);
		break;
	case OUTCOME_LOST:
	case OUTCOME_UNREACHABLE:
	case OUTCOME_REFUSED:
	case OUTCOME_DENIED:
	case OUTCOME_UNCONFIRMED:
	case OUTCOME_UNKNOWN:
		retry_acquire(lock, answer);
		break;
	}
}
