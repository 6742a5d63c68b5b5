/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* One connection to a Redis server: non-blocking, with its own socket, in clear or in TLS as its
 * URL says.
 *
 * It keeps no deadline: its user closes it when time is over. A link that was closed with an
 * answer outstanding is never used again, so a late answer cannot be taken for another request's.
 *
 * Closing is plain close(2), never with SO_LINGER 0: a request that has reached the server is
 * executed even after a reset, and what should undo it must get through too.
 *
 * Answers are bounded: LINK_MAX_ANSWER bytes, LINK_MAX_ITEMS items. A server that sends more is
 * told off as broken, whatever length it announces. */
#ifndef DLOCK_NET_LINK_H
#define DLOCK_NET_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"
#include "base/problem.h"
#include "net/resolve.h"
#include "net/transport.h"
#include "net/url.h"

#define LINK_MAX_ANSWER 65536
#define LINK_MAX_ARRAY 512 /* items of one array: HELLO's answer has 14 to 18 */
#define LINK_MAX_ITEMS                                                                             \
	4096 /* of one answer, with what is nested in it: a sentinel says 45 of each replica, dead \
		ones that it remembers too */
#define LINK_MAX_REQUEST 40960

enum reply_kind {
	REPLY_STRING,
	REPLY_STATUS,
	REPLY_ERROR,
	REPLY_INTEGER,
	REPLY_NIL,
	REPLY_ARRAY,
};

/* One answer, or an item of one. It lives until the callback returns. */
struct reply {
	enum reply_kind kind;
	const char *text; /* of strings, statuses and errors; ends with a NUL beyond `length` */
	size_t length;
	int64_t integer;
	const struct reply *const *items; /* an array's */
	size_t count;
};

/* What happened. Callbacks run in the loop, and may close or reopen the link. */
struct link_events {
	void (*opened)(void *context);
	void (*answered)(void *context, const struct reply *reply);
	/* The link has failed and is closed already. */
	void (*failed)(void *context, const struct problem *why);
};

enum link_state {
	LINK_CLOSED,
	LINK_RESOLVING,
	LINK_CONNECTING,
	LINK_SECURING, /* connected, and in the TLS handshake */
	LINK_OPEN,
};

struct link {
	struct loop *loop;
	const struct url *url;
	const struct link_events *events;
	void *context;
	enum link_state state;
	struct resolver resolver;
	struct addresses addresses;
	struct addresses last_good; /* what the name stood for when it last worked */
	size_t next_address;
	struct sockaddr_storage shunned; /* by link_shun */
	socklen_t shunned_length;        /* 0: none */
	struct watch watch;
	struct transport transport;
	struct timer patience; /* with one address, while there is another */
	struct instant deadline;
	struct instant connecting_at; /* the address was known */
	struct problem problem;       /* of the address tried last */
	struct link_reader *reader;
	unsigned int generation; /* counts closings: a callback may have closed the link */
	size_t out_used, out_sent;
	size_t out_flushed; /* where what was appended since the last flush begins */
	bool append_failed;
	struct url_place place; /* what link_aim said; its port 0: the URL's own */
	bool spoke; /* something, be it garbage, was received since the last link_open */
	char out[LINK_MAX_REQUEST]; /* last: it is not cleared, and a run touches little of it */
};

/* Sets up a closed link; nothing is opened. */
void
link_init(struct link *link, struct loop *loop, const struct url *url,
    const struct link_events *events, void *context);

/* Begins to connect: every address that the name stands for is tried in turn, so that a dead one,
 * or one that hangs in the TLS handshake, costs its share of the time until `deadline` and no more.
 * opened or failed is called later from the loop. Closes first what was open. With `fall_back`, an
 * address that worked before is used when the name cannot be looked up. */
void
link_open(struct link *link, struct instant deadline, bool fall_back);

/* Where the next link_open leads, in place of the URL's own host: somebody else has said it. It is
 * copied. TLS and login stay the URL's; the certificate must be for this host, or for --sni. */
void
link_aim(struct link *link, const struct url_place *place);

/* Is that where it was aimed at last? */
bool
link_leads_to(const struct link *link, const struct url_place *place);

/* The server at the address of an open link is of no use, at least for now: where the name has
 * others they are tried before it from the next link_open on. */
void
link_shun(struct link *link);

/* Appends a command, whose arguments are plain strings, to what link_flush sends: several together
 * are one pipeline. */
void
link_append(struct link *link, int argc, const char *const *argv);

/* Sends what the socket takes; the rest follows from the loop, which also tells of a lost
 * connection (failed). False, and nothing of it is sent, when something appended did not fit into
 * LINK_MAX_REQUEST bytes or into memory. */
bool
link_flush(struct link *link);

/* Leaves what comes to the server's patience until the next link_flush: it is not read. */
void
link_pause(struct link *link);

/* Has an open link more to read, half of an answer included? Before a request is sent, what is
 * there cannot be its answer. */
bool
link_has_unread(struct link *link);

/* The user's time is over before `opened`: says what was waited for. */
void
link_explain_delay(const struct link *link, struct problem *why);

/* Closes at once and calls nobody back. */
void
link_close(struct link *link);

/* Closes and gives back the memory. */
void
link_free(struct link *link);

/* Forgets the connection in a process that only inherited it: closes the descriptor, does not
 * say goodbye on it. */
void
link_forget(struct link *link);

#endif
