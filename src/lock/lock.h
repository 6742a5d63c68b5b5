/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* One lock as its holder or waiter sees it: a state machine between a store and whoever runs the
 * command. It does no I/O and reads no clock: the present comes in with each call and each answer,
 * so that it runs against a fake store and a moved clock.
 *
 *            acquire                 granted
 *     IDLE ----------> ASKING ------------------> HELD <----------> DOUBTFUL
 *                       |  ^                       |    renewals     |
 *             held by   |  | next try              |    unanswered   |
 *             another   v  |                       |                 | term_at, or gone
 *                      WAITING                     | gone, another's v
 *                       |                          +--------------> LOST
 *              give up, |                  release |                 | release (what is left)
 *              time over v                         v                 v
 *     FAILED <------- LEAVING                 RELEASING --------> RELEASED
 *
 * What it promises: an answer that was lost is never taken for a grant (it asks again with the
 * same token); a lost lock is never recreated; a late confirmation revives nothing; after FAILED
 * nothing of ours is left at the server, as far as the server can be told.
 *
 * A ghost is an acquire that was held up on its way when its connection was reset: it would take
 * the lock for nobody. It carries the server time after which it does nothing (T/6, 2 s at most);
 * until then neither FAILED nor RELEASED is reached but by a signal. */
#ifndef DLOCK_LOCK_LOCK_H
#define DLOCK_LOCK_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/problem.h"
#include "lock/lease.h"
#include "lock/store.h"

enum lock_state {
	LOCK_IDLE,
	LOCK_ASKING,
	LOCK_WAITING,
	LOCK_HELD,
	LOCK_DOUBTFUL,
	LOCK_LOST,
	LOCK_RELEASING,
	LOCK_RELEASED,
	LOCK_LEAVING,
	LOCK_FAILED,
};

/* Why a lock is LOST. */
enum lock_loss {
	LOSS_NONE,
	LOSS_GONE,
	LOSS_ANOTHER,
	LOSS_BROKEN, /* by --break: it is still kept from others, until it is released */
	LOSS_UNCONFIRMED,
	LOSS_ENDED, /* with its session: others may have it at once */
};

/* How a release ended. */
enum lock_release {
	RELEASE_CONFIRMED,
	RELEASE_FOUND_LOST,  /* the key was gone or another's: lost before, nobody knows when */
	RELEASE_UNCONFIRMED, /* no answer: the lock is left to its TTL */
};

#define WAIT_FOR_EVER INT64_MAX

struct lock_settings {
	struct lease_terms terms;
	int64_t wait_ns; /* 0: do not wait; WAIT_FOR_EVER */
	int64_t connect_limit_ns;
	enum lock_mode mode;
	const char
	    *ancestor; /* token of a holder above us, which would never make way; NULL: none */
	bool under;    /* do not share it with the ancestor: while that one holds it, it is held */
};

struct lock {
	struct lock_settings settings;
	struct store *store;
	/* Called after a change of state, and when `explained` becomes true. */
	void (*changed)(void *context, struct lock *lock, struct instant now);
	void *context;

	enum lock_state state;
	bool busy;            /* a request is under way */
	enum store_verb verb; /* which */
	struct instant due;   /* of the next thing to do; see lock_due */

	struct instant asked_at;    /* when acquiring began */
	struct instant acquired_at; /* the send of the request that was first confirmed */
	struct instant t0;          /* the send of the last confirmed request */
	struct instant touched_at;  /* of the last one that touched the siblings */
	char fence[24];
	char token[40]; /* that holds it, where the store chose one; empty: the caller's */
	int slot;       /* MODE_SLOTS: which */

	bool contacted;             /* the server has answered once */
	bool in_doubt;              /* an acquire may have been executed unseen */
	bool unconfirmed;           /* the last failure: too few replicas have it */
	struct instant ghost_until; /* until then a lost acquire may still arrive and be granted */
	struct instant trouble_since; /* the first failure of the present row of them */
	unsigned int failures;        /* in that row */
	struct instant tried_at;      /* the last acquire or renewal that was begun */
	int hurried_tries;            /* with shorter limits: see lock_confirm */
	int64_t pause_ns;             /* of a waiter's polling */
	struct place place;           /* WAITING: where in the line */
	bool joined;                  /* something of ours may stand in the line */
	bool follow;                  /* the key's changes are to be told */
	bool woken;                   /* by a message that the lock is ours */
	bool vain;                    /* the last such message was not true */
	struct problem untold;        /* WAITING: why nobody can tell us, if so */
	uint64_t random;

	enum lock_loss loss;
	struct problem loss_problem; /* why the last renewal failed, if one did; the release, which
				      * is tried all the same, does not change it */
	bool explained; /* LOST to another, and `holder` says to whom, if it could be learnt */
	struct instant holder_at; /* when `holder` was told */
	struct holder holder;     /* WAITING, FAILED by conflict: who has it */
	enum outcome failure;     /* FAILED: HELD is the conflict */
	struct problem problem;   /* of the last failure */

	bool partly;                  /* LOST: something is left that must be released */
	bool release_waits;           /* for the explanation of a loss */
	struct instant release_until; /* RELEASING, LEAVING: when it is given up */
	int64_t rest_ns;
	bool release_in_doubt;
	bool given_back; /* RELEASING: done, but for a ghost */
	enum lock_release released;
};

/* Sets up an idle lock and becomes the one who is told by the store. `seed` makes the jitter. */
void
lock_init(struct lock *lock, struct store *store, const struct lock_settings *settings,
    uint64_t seed);

/* Begins to acquire; a lock that is HELD is confirmed afresh. HELD, or FAILED after the wait, or
 * at once when the first contact fails. */
void
lock_acquire(struct lock *lock, struct instant now);

/* Stops acquiring; what may be under way is undone, a grant that has just come is given back.
 * FAILED or RELEASED follows, at the latest 80 ms later. */
void
lock_give_up(struct lock *lock, struct instant now);

/* Gives the lock back, held or lost: at the server it is kept for rest_ns more (--at-least), 0:
 * freed. RELEASED follows, at the latest when the lease or 2 s are over. */
void
lock_release(struct lock *lock, struct instant now, int64_t rest_ns);

/* Something has happened that may have cost the lock: its idle connection has gone (the server may
 * have been restarted without its data), the clock was set, the machine was restored. Nothing is
 * lost yet: it is renewed now, though not more often than a retry. In doubt the next try is
 * planned already: a server that answers with an error and hangs up must not speed it up. */
void
lock_verify(struct lock *lock, struct instant now);

/* Somebody wants to know for certain: it is renewed now, in doubt too, but not faster than 20 times
 * a second, in doubt 5 times, however often it is asked. The first two tries have shorter limits,
 * so that a connection that died silently does not use up lease_confirm_limit. After the next
 * change to HELD t0 says which instant is confirmed: what was under way was sent before the
 * question. */
void
lock_confirm(struct lock *lock, struct instant now);

/* When lock_tick must be called next. */
struct instant
lock_due(const struct lock *lock);

void
lock_tick(struct lock *lock, struct instant now);

/* Is the lock ours as far as the server's last word goes? */
bool
lock_is_held(const struct lock *lock);

#endif
