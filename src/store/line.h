/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* A waiter's one connection: it is told there when its turn has come, and asks on it all the same.
 *
 * In RESP2 a connection that listens to a channel may do nothing else. But SUBSCRIBE and the script
 * that stands in line go together in a transaction, so that the script sees the waiter listening
 * and nobody can hand the lock on in between. Before the next request UNSUBSCRIBE is sent.
 *
 *   to stand in line     [UNSUBSCRIBE] [what tracks] MULTI SUBSCRIBE EVAL EXEC
 *   anything else        [UNSUBSCRIBE] EVAL
 *
 * (or EVALSHA in its place)
 *
 * Whoever is first may also have changes of the key told to it (client-side caching, redirected to
 * the very connection that reads the key): a client that is no dlock wakes nobody when it frees it.
 * The server tells it to whoever is subscribed to something, so its own channel will do.
 *
 * A user may lack the rights, a proxy the commands, for the one or the other: then line_read says
 * so once, and it is done without. Between UNSUBSCRIBE and MULTI, which a server may execute apart,
 * a waiter that is first would be passed over as dead; its ticket puts it back in its place. */
#ifndef DLOCK_STORE_LINE_H
#define DLOCK_STORE_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/keys.h"
#include "base/problem.h"
#include "net/link.h"

#define LINE_MOST_STEPS 64

enum line_event {
	LINE_NOTHING, /* part of an answer, or of no interest */
	LINE_ANSWER,  /* the request's */
	LINE_ASIDE,   /* to what was sent along with a request: line_put_aside */
	LINE_STUCK,   /* the request's, an error; the connection can do no more, and is to be closed
		       */
	LINE_AGAIN, /* refused and not executed: to be sent again, and will then be done without */
	LINE_GRANTED, /* a message: the lock is ours */
	LINE_HEAD,    /* a message: we are first in line */
	LINE_CHANGED, /* the key has been written to, or is gone */
	LINE_WAITED,  /* *answer is that to line_wait or line_aside */
	LINE_UNASKED, /* an answer to nothing that was asked */
};

/* What becomes of the request whose answers come in now. */
enum line_fate {
	LINE_FINE,
	LINE_FAILED,   /* an error came before its answer could: see `failure` */
	LINE_REFUSED,  /* something around it is not to be had: not executed */
	LINE_ANSWERED, /* executed on the spot; what follows says nothing */
};

struct line {
	struct link *link; /* borrowed */
	const char *key;   /* the lock's */
	char channel[SIBLING_SIZE + 40];

	/* Of what has been sent, whether it is answered or not. */
	bool listens;
	bool follows; /* has the key tracked, and nothing of it has failed */
	unsigned char steps[LINE_MOST_STEPS]; /* what is awaited: a ring */
	unsigned int first_step, step_count;

	/* Of what has been answered. */
	bool subscribed;
	int64_t client_id; /* of this connection, 0: not known */
	enum line_fate fate;
	bool enters; /* MULTI has been sent, and nothing said to it */
	bool queues; /* MULTI is known */
	bool stuck;  /* UNSUBSCRIBE was not */
	struct reply failure;
	char failure_text[256];

	unsigned int breaks; /* connections in a row that ended at MULTI */

	/* For good. */
	bool no_push;
	bool no_tracking;
	struct problem why_no_push;
};

/* For the waiter with that token; nothing is allocated. */
void
line_init(struct line *line, struct link *link, const struct keys *keys, const char *token);

/* A new connection begins with nothing. */
void
line_reset(struct line *line);

/* Before and after the EVAL of a request is appended to the link: `join`s the line or not, and has
 * changes of the key told as well (`track`) or not. Between the two calls it must be the same. */
void
line_begin(struct line *line, bool join, bool track);
void
line_end(struct line *line, bool join);

/* Appends a WAIT for so many replicas to have what this connection has written. Behind a request
 * that has joined the line, once that is answered: it leaves the channel. */
void
line_wait(struct line *line, int64_t replicas, int64_t timeout_ms);

/* The same with any command that is answered once. */
void
line_aside(struct line *line, int argc, const char *const *argv);

/* After line_begin, for who listens elsewhere: has changes of the key told to the connection with
 * that number. */
void
line_track_for(struct line *line, int64_t client_id);

/* What has been appended to the link last, before or after a request, is no part of it: it will
 * have an answer of its own, LINE_ASIDE. */
void
line_put_aside(struct line *line);

/* What it is that the server says. LINE_ANSWER, LINE_ASIDE: *answer is it. LINE_HEAD: *left_ms is
 * when the key expires, -1: never. */
enum line_event
line_read(struct line *line, const struct reply *reply, const struct reply **answer,
    int64_t *left_ms);

/* What the text of a message to a waiter is: LINE_GRANTED, LINE_HEAD (*left_ms as above), or
 * LINE_NOTHING. */
enum line_event
line_read_message(const struct reply *text, int64_t *left_ms);

/* Does it say that a key which is tracked has changed? */
bool
line_is_change(const struct reply *reply);

/* Is there nothing that the server may have to say? While we listen that is not known; but then the
 * answer to UNSUBSCRIBE stands between what is older than a request and its answer. */
bool
line_is_silent(const struct line *line);

/* The connection has ended, before line_reset. A proxy that hangs up at what it does not know says
 * nothing of it: when two have ended at MULTI, it is done without. */
void
line_note_end(struct line *line, const struct problem *why);

/* Messages do not get through, though nothing was refused. */
void
line_give_up_push(struct line *line, const char *why);

#endif
