/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* The second connection of a holder (--watch): there the server says at once that the lock's key
 * has changed, which would else be noticed at the next renewal.
 *
 * It is Redis' help for clients that cache (CLIENT TRACKING, since 6.0), redirected to the
 * connection itself, as RESP2 has it for one that is subscribed to something: redis_look.h.
 *
 * A push means nothing but "look": the holder's own renewals are changes too, and so is what goes
 * on in another database. Nor is a look believed that shows somebody else's lock: then the store's
 * user is told to verify, and the answer to the renewal decides.
 *
 * What is wrong here costs nothing but the news. A connection that is lost is opened again, after a
 * pause that grows; a server that does not want it is asked no more, and one line says so. However
 * many pushes come there are at most 20 looks a second, and nothing is read between two of them. As
 * a renewal must be followed by a push, a connection that died without a sign is noticed, too. */
#ifndef DLOCK_STORE_REDIS_WATCH_H
#define DLOCK_STORE_REDIS_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/loop.h"
#include "net/link.h"
#include "store/redis.h"
#include "store/redis_login.h"
#include "store/redis_look.h"

enum watch_phase {
	WATCH_OFF,      /* until the next renewal is confirmed */
	WATCH_RETRYING, /* until the pause after a failure is over */
	WATCH_CONNECTING,
	WATCH_LOGIN,
	WATCH_LOOKING,
	WATCH_QUIET,   /* the server will tell */
	WATCH_PUSHED,  /* it has: the next look is planned */
	WATCH_REFUSED, /* for good */
};

struct redis_watch {
	struct loop *loop;
	const struct redis_settings *settings;
	/* A look showed that the lock may not be ours. Called from the loop. */
	void (*alarmed)(void *context, struct instant now);
	void *context;

	enum watch_phase phase;
	struct link link;
	struct redis_login login;
	struct look look;
	struct timer due; /* the limit of a phase, or its end */
	int64_t connect_limit_ns, answer_limit_ns;
	bool held_back;        /* see redis_watch_hold_back */
	bool warned;           /* the one line has been said */
	unsigned int failures; /* in a row */
	unsigned int pushes;   /* since the last look was sent */
	unsigned int unheard;  /* renewals in a row that no push has followed */
	struct instant opened_at;
	struct instant looked_at;   /* the last look was sent */
	struct instant quiet_since; /* and answered */
	struct instant doubted_at;  /* what it showed was not our lock; else never */
};

/* A watch for the lock of these settings, which outlive it: nothing is opened. NULL, and a line
 * that says so: no memory. To the functions below NULL is a watch that nobody wants. */
struct redis_watch *
redis_watch_new(struct loop *loop, const struct redis_settings *settings,
    void (*alarmed)(void *context, struct instant now), void *context);
void
redis_watch_free(struct redis_watch *watch);

/* A process that it runs for itself; NULL: none ever. */
const pid_t *
redis_watch_helper(const struct redis_watch *watch);

/* What the store is told to do: a holder renews, and whatever else it does ends the watch. */
void
redis_watch_asked(struct redis_watch *watch, const struct store_request *request);

/* And what came of it. The first renewal that is confirmed opens the connection. */
void
redis_watch_answered(struct redis_watch *watch, const struct store_request *request,
    const struct store_answer *answer);

/* While the store itself logs in it alone may ask for the password, which has one asker at a time:
 * a login that is under way here is given up, and tried again later. */
void
redis_watch_hold_back(struct redis_watch *watch, bool hold_back);

/* Ends it, as redis_watch_asked does. */
void
redis_watch_close(struct redis_watch *watch);

#endif
