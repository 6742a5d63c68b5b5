/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What the files of store/redis.h share: redis.c, the life of the connection, redis_way.c, where it
 * leads, redis_exchange.c, what is asked on it and answered, and redis_replicas.c, who else has
 * that. */
#ifndef DLOCK_STORE_REDIS_PARTS_H
#define DLOCK_STORE_REDIS_PARTS_H

#include "net/link.h"
#include "store/ear.h"
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
	struct ear *ear;           /* where a waiter in a cluster is told; NULL: on the line */
	struct timer deadline;
	struct instant connect_until; /* of the connection that comes about */
	unsigned int turns;           /* of this request, where a server has sent it elsewhere */
	unsigned int halves;          /* and where it said that half of the keys are elsewhere */
	bool is_guest;                /* it goes where the slot is moving to: behind ASKING */
	struct instant half_at;       /* when that was last */
	struct instant whole_at; /* our place among several was last confirmed with its marker */
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
	/* An acquire that did not count was executed on this connection; on one before it. What
	 * undoes that goes on elsewhere when it is done here. */
	bool is_taken_here, is_taken_elsewhere;
	bool goes_on;
	unsigned int skip; /* answers on the way to requests that nobody waits for */
	unsigned int late; /* LATE answers to this request */
	bool by_hash;      /* the last request named its script by hash */
	bool no_hash;      /* that has failed once: scripts go as text from now on */
	/* Replicas. */
	bool awaits;                /* the server has done it, and: */
	struct store_answer done;   /* is what is reported when they have it */
	bool waits_sent;            /* the WAIT of this request has been sent, and not answered */
	unsigned int waits_to_skip; /* answers to those of others */
	int64_t acknowledged;       /* what it has answered */
	bool is_checked;            /* the route has been asked again */
	bool asks_history;          /* what is awaited in place of WAIT's is INFO's answer */
	char old_id[48]; /* the server has gone on from that: see struct route; or empty */
	struct route_asker checker;
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

/* The pending request has been answered here: it is asked elsewhere, too, and that is reported. */
void
redis_go_on(struct redis_store *redis);

/* -- redis_way.c ------------------------------------------------------------------------------ */

void
redis_set_up_way(struct redis_store *redis);

/* For the request that is pending, within its time to connect. */
void
redis_begin_to_connect(struct redis_store *redis);

/* The place that was found is of no use: others get to know. */
void
redis_note_detour(struct redis_store *redis, const struct problem *why);

/* No connection, or no login, at the place that was found: is there another way? Who refuses the
 * user, or has no password to give, is told so at once. */
bool
redis_make_detour(struct redis_store *redis, enum outcome outcome, const struct problem *why);

/* What is wrong is so at the place that was found: which that is, is put before it. */
void
redis_name_place(const struct redis_store *redis, struct problem *why);

/* Time is over before a place was found. */
void
redis_explain_search(const struct redis_store *redis, enum outcome *outcome, struct problem *why);

/* The server has not executed the request: it goes where the route leads now. */
void
redis_follow(struct redis_store *redis);

/* -- redis_replicas.c ------------------------------------------------------------------------- */

void
redis_set_up_replicas(struct redis_store *redis);

/* Does a request of that verb count only when replicas have it? */
bool
redis_wants_replicas(const struct redis_store *redis, enum store_verb verb);

/* Behind a renewal that is about to be flushed: its WAIT goes in the same write. */
void
redis_append_wait(struct redis_store *redis);

/* The server has done what was asked: `answer` is what is to be reported when replicas have it,
 * too.
 */
void
redis_await_replicas(struct redis_store *redis, const struct store_answer *answer);

/* The answer to WAIT. */
void
redis_take_wait(struct redis_store *redis, const struct reply *reply);

/* Nobody waits any more for the replicas. Is the connection free for another request? */
bool
redis_stop_awaiting(struct redis_store *redis);

/* -- redis_cluster.c -------------------------------------------------------------------------- */

void
redis_set_up_cluster(struct redis_store *redis);

/* A request is about to be begun. */
void
redis_begin_in_cluster(struct redis_store *redis, const struct store_request *request);

/* Around the request that is appended to the link: behind line_begin, and behind line_end. */
void
redis_append_following(struct redis_store *redis);
void
redis_append_asking(struct redis_store *redis);
void
redis_append_question(struct redis_store *redis);

/* Is the request to touch nothing but the key that decides? */
bool
redis_must_be_alone(const struct redis_store *redis);

/* An error that says that the server is another one: then it goes there, or has been reported. */
bool
redis_is_sent_elsewhere(struct redis_store *redis, const struct reply *reply);

/* Has a waiter told by its ear. */
void
redis_complete_place(struct redis_store *redis, struct store_answer *answer);

/* The server has done what was asked. */
void
redis_note_possession(struct redis_store *redis, const struct store_answer *answer);

/* -- redis_exchange.c ------------------------------------------------------------------------- */

/* On a connection that has logged in; another request may still be unanswered before it. */
void
redis_send(struct redis_store *redis);

/* What the server says after the login. */
void
redis_take_reply(struct redis_store *redis, const struct reply *reply);

#endif
