/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* One connection to a PostgreSQL server, by libpq's asynchronous functions in our loop.
 *
 * What libpq is told is the URL, and what it finds itself: service files, the PG* variables,
 * ~/.pgpass. Two things it would do are done here, since they can hang: names are looked up in
 * helper processes (net/resolve.h), and of several places each is tried within its share of the
 * time. Kerberos encryption, which asks other servers, is used only where the URL or PGGSSENCMODE
 * asks for it.
 *
 * The connection is a session, and what it has locked is free as soon as it ends. So it is watched
 * at all times, it is not closed because an answer is late, and a process that inherits it keeps
 * the descriptor open: the session must not end with the other one (pq_link_forget). */
#ifndef DLOCK_NET_PQ_LINK_H
#define DLOCK_NET_PQ_LINK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/loop.h"
#include "base/problem.h"
#include "net/pq_library.h"
#include "net/resolve.h"
#include "net/url.h"

#define PQ_MAX_PLACES 16
#define PQ_MAX_NAMES 8

/* An answer; it lives until the callback returns. */
struct pq_answer {
	const struct pq_library *library;
	const PGresult *result; /* NULL: no rows, or an error */
	int rows;
	char sqlstate[8];       /* of an error; empty: none */
	struct problem problem; /* what the server said then */
};

/* A value as text, NULL as an empty one. Harmless where there is no such row or column. */
const char *
pq_answer_text(const struct pq_answer *answer, int row, int column);

/* Callbacks run in the loop, and may close or reopen the link. */
struct pq_link_events {
	void (*opened)(void *context);
	void (*answered)(void *context, const struct pq_answer *answer);
	void (*notified)(void *context, const char *channel, const char *payload);
	/* The link has failed and is closed already. is_denied: the user, or a certificate, was
	 * refused. */
	void (*failed)(void *context, const struct problem *why);
};

enum pq_link_state {
	PQ_LINK_CLOSED,
	PQ_LINK_RESOLVING,
	PQ_LINK_CONNECTING,
	PQ_LINK_OPEN,
};

/* Where to connect: what libpq calls host, hostaddr and port; empty ones are not given. */
struct pq_place {
	char host[256];
	char address[64];
	char port[16];
};

/* A name that is looked up. */
struct pq_name {
	struct pq_link *link;
	struct resolver resolver;
	bool is_done;
	size_t place; /* the first of those that it stands for */
	struct addresses addresses;
};

struct pq_link {
	struct loop *loop;
	const struct url *url;
	const char *application; /* how the server's administrators see it */
	const struct pq_link_events *events;
	void *context;
	const struct pq_library *library; /* NULL: not loaded yet */
	enum pq_link_state state;
	PGconn *connection;
	struct watch watch;
	struct timer patience; /* with names, or with one place while there is another */
	struct instant deadline;
	const char *password;   /* borrowed while it connects; NULL: libpq's own ways */
	struct problem problem; /* of the place tried last, unless another one's says more */
	bool spoke;             /* a server has refused us in its own words */
	bool is_asking;
	PGresult *result; /* to what is asked, so far */
	bool is_ended;    /* the server has said so: */
	struct problem last_words;
	unsigned int generation; /* counts closings: a callback may have closed the link */
	size_t place_count, next_place, name_count;
	struct pq_place places[PQ_MAX_PLACES];
	struct pq_name names[PQ_MAX_NAMES];
};

/* Can this machine speak to PostgreSQL, and libpq read that URL? False and why: is_system, or the
 * URL is wrong. */
bool
pq_link_check(const struct url *url, struct problem *why);

/* Sets up a closed link; all is borrowed. */
void
pq_link_init(struct pq_link *link, struct loop *loop, const struct url *url,
    const char *application, const struct pq_link_events *events, void *context);

/* Begins to connect: opened or failed is called later from the loop. `password` is borrowed until
 * then. */
void
pq_link_open(struct pq_link *link, struct instant deadline, const char *password);

/* What was opened is of no use, and why (is_denied, ...): the next place is tried, or `failed` is
 * called. */
void
pq_link_try_next(struct pq_link *link, const struct problem *why);

/* Asks: answered, or failed, follows. Nothing else may be asked meanwhile. */
void
pq_link_ask(struct pq_link *link, const char *statement);

/* The user's time is over before `opened`: says what was waited for. */
void
pq_link_explain_delay(const struct pq_link *link, struct problem *why);

/* Says goodbye, which ends the session at once, and calls nobody back. */
void
pq_link_close(struct pq_link *link);

/* In a process that only inherited the connection: lets go of it silently. The descriptor stays
 * open until the process ends. */
void
pq_link_forget(struct pq_link *link);

#endif
