/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include <string.h>

#include "lock/lock_parts.h"

/* Who is not told asks again and again. */
#define POLL_FIRST (100 * NS_PER_MS)
#define POLL_LAST NS_PER_S
/* After a key's expiry; a moment too early there is nothing to be had yet. */
#define BEHIND_EXPIRY (5 * NS_PER_MS)
/* Who is told asks too, should a message have got lost: seldom, and the more seldom the farther
 * behind, so that the server has no load to speak of from a crowd. */
#define ASK_FIRST (5 * NS_PER_S)
#define ASK_LAST (60 * NS_PER_S)
/* The first in line: the lock of a client that is no dlock becomes free without a word. */
#define HEAD_ASKS NS_PER_S
/* Hints that turn out to be of no use are followed no more often. */
#define HINT_GAP (100 * NS_PER_MS)

/* xorshift64 (Marsaglia 2003): enough for jitter. Uniform in [0, below). */
static int64_t
jitter(struct lock *lock, int64_t below)
{
	lock->random ^= lock->random << 13;
	lock->random ^= lock->random >> 7;
	lock->random ^= lock->random << 17;
	return below > 0 ? (int64_t)(lock->random % (uint64_t)below) : 0;
}

struct instant
lock_wait_until(const struct lock *lock)
{
	if (lock->settings.wait_ns == WAIT_FOR_EVER)
		return INSTANT_NEVER;
	return instant_plus(lock->asked_at, lock->settings.wait_ns);
}

void
lock_begin_waiting(struct lock *lock)
{
	lock->pause_ns = POLL_FIRST;
	lock->place = (struct place){.rank = -1};
	lock->follow = false;
	lock->vain = false;
}

/* Between half and the whole of a pause that grows to 1 s. */
static int64_t
time_to_poll(struct lock *lock)
{
	int64_t pause = lock->pause_ns / 2 + jitter(lock, lock->pause_ns / 2);
	lock->pause_ns = lock->pause_ns * 3 / 2 < POLL_LAST ? lock->pause_ns * 3 / 2 : POLL_LAST;
	return pause < POLL_FIRST ? POLL_FIRST : pause;
}

/* The first in line has the key followed when it has been first for a while: where locks change
 * hands quickly that would be one script more for each. */
static int64_t
time_to_ask(struct lock *lock)
{
	int64_t rank = lock->place.rank < 100 ? lock->place.rank : 100;
	int64_t pause = ASK_FIRST * (rank + 1) < ASK_LAST ? ASK_FIRST * (rank + 1) : ASK_LAST;
	if (rank == 0 && !lock->place.followed && (!lock->follow || !lock->holder.known))
		return HEAD_ASKS;
	return pause - pause / 10 + jitter(lock, pause / 5);
}

/* A server whose clock stands still says the same of the same key again and again, and never frees
 * it. */
static bool
time_stands_still(const struct holder *before, const struct holder *after)
{
	return before->left_ns == after->left_ns && strcmp(before->token, after->token) == 0;
}

/* Held by another, or we are in line: when to ask again. */
static void
plan_next(struct lock *lock, bool still, struct instant now)
{
	bool may_be_next = !lock->place.told || lock->place.rank == 0;
	int64_t left_ns = lock->holder.left_ns;
	int64_t pause = lock->place.told ? time_to_ask(lock) : time_to_poll(lock);
	/* Behind so many dead that the server has not come to their end: it goes on when asked. */
	if (lock->place.rank > 0 && left_ns == 0)
		pause = POLL_FIRST;
	if (may_be_next && !still && left_ns >= 0 && pause - BEHIND_EXPIRY > left_ns)
		pause = left_ns + BEHIND_EXPIRY;
	lock->due = instant_earlier(instant_plus(now, pause), lock_wait_until(lock));
}

void
lock_wait_for_turn(struct lock *lock, const struct store_answer *answer)
{
	struct instant now = answer->received_at;
	bool still = time_stands_still(&lock->holder, &answer->holder);
	lock->holder = answer->holder;
	lock->holder_at = now;
	lock->place = answer->place;
	lock->untold = answer->problem;
	lock->contacted = true;
	lock->in_doubt = false;
	lock->vain = lock->woken;
	lock->woken = false;
	lock->joined = answer->place.rank >= 0;
	lock_end_trouble(lock);
	if (lock->place.rank != 0)
		lock->follow = false;
	if (now.ns >= lock_wait_until(lock).ns || answer->place.full) {
		lock_leave_by_conflict(lock, now);
		return;
	}
	plan_next(lock, still, now);
	lock_change(lock, LOCK_WAITING, now);
}

/* A hint, to ask at that time; it puts nothing off that was planned. */
static void
ask_sooner(struct lock *lock, struct instant when, struct instant planned)
{
	/* Not before the last request is a while ago. */
	struct instant soonest = instant_plus(lock->tried_at, HINT_GAP);
	lock->due = instant_earlier(planned, when.ns < soonest.ns ? soonest : when);
}

static void
ask_soon(struct lock *lock, struct instant now)
{
	ask_sooner(lock, now, lock->due);
}

/* First in line since now. */
static void
note_head(struct lock *lock, int64_t left_ns, struct instant now)
{
	struct instant planned = lock->due;
	lock->place.rank = 0;
	lock->holder.left_ns = left_ns;
	plan_next(lock, false, now);
	ask_sooner(lock, lock->due, planned);
}

void
lock_wake(struct lock *lock, enum wake wake, int64_t left_ns, struct instant now)
{
	/* While a request is under way its answer says more, and cannot have been given before. In
	 * trouble the next try is planned already. */
	if (lock->state != LOCK_WAITING || lock->busy || lock->failures > 0)
		return;
	switch (wake) {
	case WAKE_GRANTED:
		lock->woken = true;
		if (lock->vain)
			ask_soon(lock, now);
		else
			lock_tick_waiting(lock, now); /* not by way of a timer */
		break;
	case WAKE_HEAD:
		note_head(lock, left_ns, now);
		break;
	case WAKE_CHANGED:
		ask_soon(lock, now);
		break;
	case WAKE_LISTENS:
		/* Until it has said so nobody hands it the lock. */
		lock_tick_waiting(lock, now);
		break;
	}
}

void
lock_rejoin(struct lock *lock, struct instant now)
{
	if (!lock->busy && lock->failures == 0)
		ask_soon(lock, now);
}

void
lock_tick_waiting(struct lock *lock, struct instant now)
{
	if (lock->busy) {
		lock_end_try(lock, now);
		return;
	}
	/* A server in trouble is to get as few commands as will do. */
	lock->follow = lock->place.rank == 0 && !lock->woken && lock->failures == 0;
	lock_try_acquire(lock, now);
}
