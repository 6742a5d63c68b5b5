/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What the files of lock.h's state machine share, a file a stretch of a lock's life: acquiring.c,
 * waiting.c, holding.c, releasing.c, and lock.c, which sends each answer and each tick to the right
 * one. */
#ifndef DLOCK_LOCK_LOCK_PARTS_H
#define DLOCK_LOCK_LOCK_PARTS_H

#include "lock/lock.h"

#define LOCK_RETRY_FIRST (50 * NS_PER_MS)
#define LOCK_RELEASE_LIMIT (2 * NS_PER_S)
/* A signal ends a waiter within 100 ms, its undoing included. */
#define LOCK_LEAVE_LIMIT (80 * NS_PER_MS)

/* -- lock.c ----------------------------------------------------------------------------------- */

/* Enters a state and tells whoever listens. */
void
lock_change(struct lock *lock, enum lock_state state, struct instant now);

/* Starts a request with the limits that its verb has. */
void
lock_ask(struct lock *lock, enum store_verb verb, struct instant not_later);

/* Does an acquire stand in line if it must? */
bool
lock_stands_in_line(const struct lock *lock);

/* A row of failures: begun or continued; over. */
void
lock_count_failure(struct lock *lock, const struct store_answer *answer);
void
lock_end_trouble(struct lock *lock);

/* The pause before the next try in a row of failures, ns: none, then 50 ms, doubling to T/12. */
int64_t
lock_retry_pause(const struct lock *lock);

/* -- acquiring.c ------------------------------------------------------------------------------ */

void
lock_try_acquire(struct lock *lock, struct instant now);
void
lock_end_try(struct lock *lock, struct instant now);
void
lock_on_acquire_answer(struct lock *lock, const struct store_answer *answer);

/* Held by another when the time for it is over. */
void
lock_leave_by_conflict(struct lock *lock, struct instant now);

void
lock_fail(struct lock *lock, enum outcome failure, struct instant now);

/* LEAVING: the answer to the release that undoes, and the time for it. */
void
lock_on_undo_answer(struct lock *lock, const struct store_answer *answer);
void
lock_tick_leaving(struct lock *lock, struct instant now);

/* -- waiting.c -------------------------------------------------------------------------------- */

/* When -w ends. */
struct instant
lock_wait_until(const struct lock *lock);

void
lock_begin_waiting(struct lock *lock);
void
lock_tick_waiting(struct lock *lock, struct instant now);

/* The answer HELD: to stay in line, or to leave when time is over. */
void
lock_wait_for_turn(struct lock *lock, const struct store_answer *answer);

/* What the store's `woken` brings. */
void
lock_wake(struct lock *lock, enum wake wake, int64_t left_ns, struct instant now);

/* The connection on which a waiter was to be told has gone. */
void
lock_rejoin(struct lock *lock, struct instant now);

/* -- holding.c -------------------------------------------------------------------------------- */

void
lock_on_renew_answer(struct lock *lock, const struct store_answer *answer);
/* What the store's `ended` brings. */
void
lock_end_session(struct lock *lock, const struct problem *why, struct instant now);
/* LOST: the answer to who has it now. */
void
lock_on_look_answer(struct lock *lock, const struct store_answer *answer);
void
lock_tick_held(struct lock *lock, struct instant now);

/* -- releasing.c ------------------------------------------------------------------------------ */

void
lock_on_release_answer(struct lock *lock, const struct store_answer *answer);
void
lock_end_release(struct lock *lock, enum lock_release released, struct instant now);
void
lock_tick_releasing(struct lock *lock, struct instant now);

#endif
