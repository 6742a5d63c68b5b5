/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What the two files of store/redis.h share: redis.c, the life of the connection, and
 * redis_exchange.c, what is asked on it and answered. */
#ifndef DLOCK_STORE_REDIS_PARTS_H
#define DLOCK_STORE_REDIS_PARTS_H

#include "net/link.h"
#include "store/line.h"
#include "store/redis.h"
#include "store/redis_login.h"
#include "store/redis_watch.h"

enum redis_phase {
	PHASE_CLOSED,
	PHASE_FINDING, /* the route is asked where the server is */
	PHASE_CONNECTING,
	PHASE_LOGIN, /* the password is asked for, or the pipeline has been sent */
	PHASE_IDLE,
	PHASE_ASKED, /* a request has been sent */
};

struct redis_store {
	struct store store; /* first: a store is converted back */
	struct loop *loop;
	const struct redis_settings *settings;
	struct route_asker asker;
	struct redis_login login;
	struct line line;
	struct redis_watch *watch; /* NULL: not wanted */
	struct timer deadline;
	struct instant connect_until; /* of the connection that comes about */
	unsigned int turns;           /* of this request, where a server has sent it elsewhere */
	/* Why the place that was found last was of no use; else empty. */
	struct problem detour;
	enum outcome detour_outcome;
	enum redis_phase phase;
	struct problem refusal; /* why a request was not sent */
	bool pending;           /* somebody waits for an answer to: */
	struct store_request request;
	struct instant sent_at;
	/* The server that this connection leads to may have been replaced: the name is to be looked
	 * up again. */
	bool outdated;
	struct problem outdating; /* what it said */
	struct instant opened_at;
	unsigned int skip; /* answers on the way to requests that nobody waits for */
	unsigned int late; /* LATE answers to this request */
	bool by_hash;      /* the last request named its script by hash */
	bool no_hash;      /* that has failed once: scripts go as text from now on */
	/* The server's clock: clock_us at clock_at. The true one is ahead of what follows from
	 * these by the way of the answer, so a not-after errs to the early side. */
	int64_t clock_us;
	struct instant clock_at;
	struct link link; /* last: link_init clears of it what must be, a run touches little more */
};

/* -- redis.c ---------------------------------------------------------------------------------- */

void
redis_report(struct redis_store *redis, struct store_answer *answer);

void
redis_drop_connection(struct redis_store *redis);

/* The connection is gone, or of no use: tell whoever waits, in the way that fits whether the
 * request was sent. */
void
redis_break_off(struct redis_store *redis, enum outcome before_sending, const struct problem *why);

/* The server has not executed the request: it goes where the route leads now. */
void
redis_follow(struct redis_store *redis);

/* -- redis_exchange.c ------------------------------------------------------------------------- */

/* On a connection that has logged in; another request may still be unanswered before it. */
void
redis_send(struct redis_store *redis);

/* What the server says after the login. */
void
redis_take_reply(struct redis_store *redis, const struct reply *reply);

#endif
