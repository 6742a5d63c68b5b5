/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* A small client for who only looks, or acts once: it connects and logs in, then sends one script,
 * or command, at a time. It keeps nothing up: what fails is told, with its connection closed, and
 * that is the end of it.
 *
 * Between requests it does not watch what the server does: a connection that is lost then is found
 * lost by the next request. */
#ifndef DLOCK_STORE_REDIS_QUERY_H
#define DLOCK_STORE_REDIS_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"
#include "base/secret.h"
#include "lock/store.h"
#include "net/link.h"
#include "net/url.h"
#include "store/redis_login.h"
#include "store/route.h"

/* Callbacks run in the loop. */
struct redis_query_events {
	/* Logged in: the first script may be asked. */
	void (*ready)(void *context);
	/* The answer, no error but with takes_errors; it lives until this returns. */
	void (*answered)(void *context, const struct reply *reply);
	/* UNREACHABLE, REFUSED or DENIED; UNKNOWN: the script was sent, and may have been executed
	 * or not. */
	void (*failed)(void *context, enum outcome outcome, const struct problem *why);
};

/* Keys and arguments of one script together. */
#define QUERY_MAX_WORDS 128

enum redis_query_phase {
	QUERY_CLOSED,
	QUERY_FINDING,
	QUERY_CONNECTING,
	QUERY_LOGIN,
	QUERY_IDLE,
	QUERY_ASKED,
};

struct redis_query {
	struct loop *loop;
	const struct redis_query_events *events;
	void *context;
	struct route *route;
	struct route_asker asker;
	struct problem detour; /* why the place that was found last was of no use; else empty */
	enum outcome detour_outcome;
	struct link link;
	struct redis_login login;
	struct timer deadline;
	struct instant connect_until;
	enum redis_query_phase phase;
	bool takes_errors;         /* set by the user: an error is an answer too */
	struct instant opening_at; /* redis_query_open was called */
	struct instant opened_at;  /* the connection stood; before that link.connecting_at */
	int64_t clock_us;          /* the server's clock at clock_at, or a little less */
	struct instant clock_at;
	/* What was asked last, should it have to go elsewhere: it is borrowed until it is answered.
	 */
	const char *words[QUERY_MAX_WORDS + 3];
	size_t word_count;
	char key_count[24];
	int64_t connect_limit_ns, answer_limit_ns;
	unsigned int turns; /* a server has sent it elsewhere so often */
	bool is_guest;      /* it goes where its slot is moving to */
	unsigned int skip;  /* answers before its own */
};

/* Sets up a closed one. `route` and `secret` may be NULL; all is borrowed. */
void
redis_query_init(struct redis_query *query, struct loop *loop, const struct url *url,
    struct route *route, struct secret_source *secret, const struct redis_query_events *events,
    void *context);

/* Begins to connect and to log in, both within `limit_ns`: ready or failed follows. */
void
redis_query_open(struct redis_query *query, int64_t limit_ns);

enum redis_query_script {
	QUERY_STATUS,
	QUERY_LIST,
	QUERY_SURVEY,
	QUERY_BREAK,
	QUERY_CHECK,
	QUERY_CLUSTER,
};

/* Asks that script, when the last one has been answered: answered or failed follows within
 * `limit_ns`, and where a cluster has it on another node, after the way there. `words`, plain
 * strings, are its `key_count` keys and then its arguments. */
void
redis_query_ask(struct redis_query *query, enum redis_query_script script, size_t key_count,
    size_t word_count, const char *const *words, int64_t limit_ns);

/* The same with any command, whose words are plain strings. */
void
redis_query_command(struct redis_query *query, size_t word_count, const char *const *words,
    int64_t limit_ns);

/* Sends nothing: what the server says next, by itself, is the answer. */
void
redis_query_listen(struct redis_query *query, int64_t limit_ns);

/* The server's time at which a script that is sent now, and was given that limit, is not wanted
 * any more: one that acts compares it with its clock, so that a request which was held up on its
 * way does not act for somebody who has left. */
int64_t
redis_query_not_after_us(const struct redis_query *query, int64_t limit_ns);

/* Closes; nobody is called back any more. Harmless at any time after redis_query_init. */
void
redis_query_close(struct redis_query *query);

/* Closes, and gives back the memory. */
void
redis_query_free(struct redis_query *query);

#endif
