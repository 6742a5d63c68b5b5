/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Where the server is that has the lock, when the URL does not say it: sentinels know the master,
 * nodes of a cluster know who has the key's slot.
 *
 * One route serves all connections of a process: the store's, that of --watch, those of the views.
 * Each asks for a place (route_find) before it connects, and says when the place was of no use
 * (route_fail, route_redirect); what it learns so all others find, too. A NULL route is the URL's
 * own address: users test for it, and nothing here is called.
 *
 * A route keeps no deadline of its users: whoever asks ends the asking when time is over. But each
 * look-up of its own is bounded, so that one that hangs costs a share of that time and no more. It
 * never decides anything about a lock: a place that was found is a server to ask, no more. */
#ifndef DLOCK_STORE_ROUTE_H
#define DLOCK_STORE_ROUTE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/loop.h"
#include "base/problem.h"
#include "lock/store.h"
#include "net/link.h"
#include "net/url.h"

/* Redirections of one request; those that send it to and fro without end are an error. */
#define ROUTE_MAX_TURNS 5

/* Processes that a route runs for itself, at most: for names, and for a password. */
#define ROUTE_MAX_HELPERS (URL_MAX_PLACES + 1)

/* One connection's interest in the route: embedded in it, and set up by it before the first call.
 * Callbacks run in the loop and may ask again. */
struct route_asker {
	/* A place to connect to. The pointer is good until this returns. */
	void (*found)(void *context, const struct url_place *place);
	/* There is none: UNREACHABLE, REFUSED or DENIED. */
	void (*failed)(void *context, enum outcome outcome, const struct problem *why);
	/* The place that was found last is not the right one any more, as somebody who knows has
	 * said: to be asked for anew. NULL: the asker does not want to know. */
	void (*moved)(void *context, struct instant now);
	void *context;
	/* What is found was asked for then, or later; 0: it may be a moment older. */
	struct instant not_older;

	struct route_asker *next; /* the route's */
	bool linked;              /* the route's */
	bool finding;             /* the route's */
	bool tells;               /* the route's */
};

/* What an error of a server says about where to go. */
enum route_turn {
	ROUTE_STAY,  /* nothing: it is the answer to the request */
	ROUTE_AGAIN, /* nothing was executed: find again, and send the same request there */
	ROUTE_ASK,   /* the same, with ASKING before the request, this once */
	ROUTE_LATER, /* the same, after a moment: half of what it needs is elsewhere */
};

struct route;

/* What an engine does. */
struct route_operations {
	void (*find)(struct route *route, struct route_asker *asker);
	void (*cancel)(struct route *route, struct route_asker *asker);
	void (*fail)(struct route *route, const struct problem *why);
	enum route_turn (*redirect)(struct route *route, const char *error);
	/* NULL: it never asks. */
	bool (*ask)(struct route *route, bool is_renewal, struct link *link);
	void (*learn)(struct route *route, const struct reply *reply);
	void (*explain_delay)(const struct route *route, struct problem *why);
	void (*rest)(struct route *route);
	void (*close)(struct route *route);
	void (*forget)(struct route *route);
	void (*free)(struct route *route);
};

/* The head of every engine's own struct. */
struct route {
	const struct route_operations *operations;
	/* The place that was found last; its port is 0 before that. */
	struct url_place place;
	/* The login also asks for the server's role (HELLO 2), and one that is no master is a place
	 * of no use. */
	bool wants_master;
	/* Of that place, where it can be known: how many replicas are alive, and whether another
	 * server is being made the master; as of when. -1: not known. */
	int64_t replicas;
	/* One of them may be the old master: without it, if the master there has gone on from that
	 * replication id. Empty: there is none such. */
	int64_t replicas_less_one;
	char old_id[48];
	bool is_failing_over;
	/* Those who say so are few, and miss a replica: others may have another master. */
	bool is_cut_off;
	struct instant asked_at;
	/* Processes that the route runs for itself: 0 for none at the moment, NULL for none ever.
	 */
	const pid_t *helpers[ROUTE_MAX_HELPERS];
};

/* Asks where the server is: found or failed is called, once, from the loop. */
static inline void
route_find(struct route *route, struct route_asker *asker)
{
	route->operations->find(route, asker);
}

/* Stops asking, and being told that it has moved. Harmless at any time. */
static inline void
route_cancel(struct route *route, struct route_asker *asker)
{
	route->operations->cancel(route, asker);
}

/* The place that was found last cannot be reached, or is not what was wanted there (a replica): the
 * next route_find looks for another one, and for the same one after a pause. */
static inline void
route_fail(struct route *route, const struct problem *why)
{
	route->operations->fail(route, why);
}

/* What the server at the place found last says to a request is an error. */
static inline enum route_turn
route_redirect(struct route *route, const char *error)
{
	return route->operations->redirect(route, error);
}

/* Behind a request to the place that was found the route may have a question of its own, which it
 * appends to the link: true, and what is answered goes to route_learn. */
static inline bool
route_ask(struct route *route, bool is_renewal, struct link *link)
{
	return route->operations->ask != NULL && route->operations->ask(route, is_renewal, link);
}
static inline void
route_learn(struct route *route, const struct reply *reply)
{
	if (route->operations->learn != NULL)
		route->operations->learn(route, reply);
}

/* The user's time is over before `found`: what was waited for. */
static inline void
route_explain_delay(const struct route *route, struct problem *why)
{
	route->operations->explain_delay(route, why);
}

/* What is still under way, a name that is looked up for instance, is given up, and may be tried
 * again in a second: before a fork, so that no process of it is left to the wrong parent. */
static inline void
route_rest(struct route *route)
{
	route->operations->rest(route);
}

/* Closes the route's own connections; nobody is called back. */
static inline void
route_close(struct route *route)
{
	route->operations->close(route);
}

/* In a process that only inherited them: lets go of them silently. */
static inline void
route_forget(struct route *route)
{
	route->operations->forget(route);
}

#endif
