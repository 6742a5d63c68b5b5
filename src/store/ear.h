/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* A waiter's second connection, in a cluster: where it is told that its turn has come.
 *
 * A channel there belongs to the slot that its name is in (SSUBSCRIBE, since Redis 7), so it moves
 * with the lock, and whoever publishes to it is told how many have heard it. Whether anybody
 * listens, the scripts ask the server. SSUBSCRIBE may not stand in a transaction with the script
 * that stands in line, as SUBSCRIBE does on a single server (line.h): so it comes first, on a
 * connection of its own. Plain SUBSCRIBE would stay on a node that has lost the slot, in silence.
 *
 *   CLOSED -> CONNECTING -> LOGIN -> JOINING -> LISTENING
 *      ^           any failure: a pause that grows       |
 *      +---------------------------------- the slot has moved, or the connection is lost
 *
 * What is wrong here costs nothing but the news: the waiter asks again and again, and keeps its
 * place. */
#ifndef DLOCK_STORE_EAR_H
#define DLOCK_STORE_EAR_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/loop.h"
#include "net/link.h"
#include "store/redis.h"
#include "store/redis_login.h"

/* Why there is none to be had, on a server that is older. */
#define EAR_NO_CHANNELS "this server has no channels for a slot of a cluster, as Redis 7 has them"

enum ear_phase {
	EAR_CLOSED,
	EAR_PAUSING, /* until the pause after a failure is over: then it may be opened again */
	EAR_CONNECTING,
	EAR_LOGIN,
	EAR_JOINING,
	EAR_LISTENING,
	EAR_REFUSED, /* for good */
};

/* Callbacks run in the loop. */
struct ear_events {
	/* It listens from now on; it does not any more. */
	void (*ready)(void *context, struct instant now);
	void (*lost)(void *context, struct instant now);
	/* As in struct store_events. */
	void (*woken)(void *context, enum wake wake, int64_t left_ns, struct instant now);
};

struct ear {
	struct loop *loop;
	const struct ear_events *events;
	void *context;
	const char *channel; /* borrowed */
	enum ear_phase phase;
	struct link link;
	struct redis_login login;
	struct timer due;
	int64_t limit_ns;      /* of connecting and login together, and of an answer */
	unsigned int failures; /* in a row */
	int64_t client_id;     /* of this connection; 0: not known */
	bool held_back;
	bool is_numbered;
	struct problem why; /* the last failure; REFUSED: why it is not to be had */
};

/* A closed one, NULL: no memory. `settings` is borrowed, and so is the channel's name. */
struct ear *
ear_new(struct loop *loop, const struct redis_settings *settings, const char *channel,
    const struct ear_events *events, void *context);
void
ear_free(struct ear *ear);

/* Sees to it that it listens at that place, or will. Harmless at any time: what is under way there
 * goes on, what has failed waits for its pause. To the functions below NULL is a closed one. */
void
ear_listen(struct ear *ear, const struct url_place *place, int64_t limit_ns);

/* The number of the connection that listens at that place, to which changes of keys may be told; 0:
 * none. */
int64_t
ear_client_id(const struct ear *ear, const struct url_place *place);

/* The server does not have such channels, or not for this user: why. NULL: that is not known. */
const struct problem *
ear_refusal(const struct ear *ear);

/* While the store itself logs in it alone may ask for the password: a login that is under way here
 * is given up, and made up for after a pause. */
void
ear_hold_back(struct ear *ear, bool hold_back);

void
ear_close(struct ear *ear);

/* In a process that only inherited the connection. */
void
ear_forget(struct ear *ear);

/* The process that looks up names for it; NULL: none ever. */
const pid_t *
ear_helper(const struct ear *ear);

#endif
