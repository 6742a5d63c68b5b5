/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* A session of PostgreSQL in which locks can be taken: connects, logs in, and finds out whether
 * what is there can keep them. Refused are servers before 14, a standby, one that is read-only, and
 * a pooler that gives each transaction another session.
 *
 * Whether there is a pooler the server says: the session's backend is not the one that the login
 * named. Then a message is sent to the session, by a second connection, while it is idle: a pool
 * that keeps sessions apart delivers it, one that shares them cannot. */
#ifndef DLOCK_STORE_POSTGRES_SESSION_H
#define DLOCK_STORE_POSTGRES_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"
#include "base/secret.h"
#include "lock/store.h"
#include "net/pq_link.h"
#include "net/url.h"

/* For so long a waiter's session may be idle: it asks at least once a minute. */
#define POSTGRES_WAITER_IDLE_MS 150000
/* The most that the server's settings take. */
#define POSTGRES_MS_MOST INT32_MAX

/* Callbacks run in the loop. */
struct postgres_session_events {
	/* Logged in, and fit: something may be asked. */
	void (*ready)(void *context);
	void (*answered)(void *context, const struct pq_answer *answer);
	void (*notified)(void *context, const char *channel, const char *payload);
	/* The session has ended, or did not come about. UNREACHABLE, REFUSED, DENIED; UNKNOWN:
	 * something was asked. */
	void (*failed)(void *context, enum outcome outcome, const struct problem *why);
};

enum postgres_session_phase {
	SESSION_CLOSED,
	SESSION_PASSWORD, /* the secret is asked for */
	SESSION_CONNECTING,
	SESSION_CHECKING,   /* the server is asked what it is */
	SESSION_LISTENING,  /* there is a pooler: */
	SESSION_PROBING,    /* does a message come through? */
	SESSION_LEAVING,    /* it does: back to what was before, */
	SESSION_SETTING,    /* and to what a lock needs */
	SESSION_DISMISSING, /* it does not: back to what was before */
	SESSION_READY,
	SESSION_ASKED,
};

struct postgres_session {
	struct loop *loop;
	const struct url *url;
	struct secret_source *secret; /* NULL: libpq's own ways */
	int64_t ttl_ms;
	const struct postgres_session_events *events;
	void *context;
	enum postgres_session_phase phase;
	bool for_good; /* the last failure: another try would fail as well */
	struct timer deadline;
	struct instant until;
	const char *password; /* while it logs in */
	int64_t backend;      /* the server process */
	struct instant asked_at;
	char channel[64]; /* of the probe, */
	bool is_sent;     /* which has sent its message */
	struct pq_link link, probe;
};

/* Sets up a closed one. All is borrowed; `application` is read when it connects. */
void
postgres_session_init(struct postgres_session *session, struct loop *loop, const struct url *url,
    struct secret_source *secret, const char *application, int64_t ttl_ms,
    const struct postgres_session_events *events, void *context);

/* ready or failed follows within `limit_ns`. */
void
postgres_session_open(struct postgres_session *session, int64_t limit_ns);

/* When it is ready: answered or failed follows, without a limit. */
void
postgres_session_ask(struct postgres_session *session, const char *statement);

/* Ends it at once, as far as the server can be told; nobody is called back. */
void
postgres_session_close(struct postgres_session *session);

/* As pq_link_forget. */
void
postgres_session_forget(struct postgres_session *session);

/* What an error says of a statement that was executed, or not. */
enum outcome
postgres_session_judge(const struct pq_answer *answer, struct problem *why);

#endif
