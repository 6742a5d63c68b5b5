/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* One sentinel: a connection on which it is asked who the master is, and on which it tells,
 * unasked, when that changes.
 *
 *   to ask     [UNSUBSCRIBE] [AUTH] SENTINEL MASTER, SENTINEL REPLICAS, [SUBSCRIBE]
 *
 * all in one write; after a planned failover SENTINEL INFO-CACHE in another one. A sentinel that
 * hangs is given up after the limit; one that is lost is, if it was to tell, asked again by itself,
 * after a pause that grows. */
#ifndef DLOCK_STORE_SENTINEL_MEMBER_H
#define DLOCK_STORE_SENTINEL_MEMBER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"
#include "lock/store.h"
#include "net/link.h"
#include "net/url.h"
#include "store/sentinel_view.h"

struct sentinel_member;

/* Callbacks run in the loop. */
struct sentinel_member_events {
	/* The connection stands, and a password is needed: sentinel_member_send follows. */
	void (*opened)(void *context, struct sentinel_member *member);
	/* It has answered: member->view. It may know no such service: member->problem. */
	void (*answered)(void *context, struct sentinel_member *member);
	/* It could not be asked, or is lost: member->outcome and member->problem. */
	void (*failed)(void *context, struct sentinel_member *member);
	/* The master is another one now, it says. */
	void (*switched)(void *context, const struct url_place *place);
};

enum member_phase {
	MEMBER_CLOSED,
	MEMBER_RETRYING, /* a pause, and then it is asked again */
	MEMBER_CONNECTING,
	MEMBER_OPENED, /* the password is awaited */
	MEMBER_ASKED,
	MEMBER_IDLE, /* open, and may tell */
};

enum member_step {
	MEMBER_UNSUBSCRIBE,
	MEMBER_AUTH,
	MEMBER_MASTER,
	MEMBER_REPLICAS,
	MEMBER_INFO,
	MEMBER_SUBSCRIBE,
};

#define MEMBER_MAX_STEPS 8

struct sentinel_member {
	struct loop *loop;
	const struct url *url;
	const struct sentinel_member_events *events;
	void *context;
	bool has_password; /* it is asked for when the connection stands */
	bool listens;      /* it is to tell */

	enum member_phase phase;
	bool subscribed;                       /* of what has been sent */
	unsigned char steps[MEMBER_MAX_STEPS]; /* what is awaited, in order */
	unsigned int step_count;
	struct timer due;
	int64_t limit_ns;
	unsigned int failures; /* in a row */
	struct sentinel_view view;
	struct instant asked_at; /* the view is of then, or later */
	struct instant sent_at;
	enum outcome outcome;
	struct problem problem;
	struct link link; /* last: see its own last field */
};

/* For the sentinel at that place of the URL. All is borrowed. */
void
sentinel_member_init(struct sentinel_member *member, struct loop *loop, const struct url *url,
    const struct url_place *place, const struct sentinel_member_events *events, void *context);

/* Asks; answered or failed follows within the limit. One that is being asked stays so. */
void
sentinel_member_ask(struct sentinel_member *member, int64_t limit_ns);

/* After `opened`: with that password. */
void
sentinel_member_send(struct sentinel_member *member, const char *password);

/* After `opened`: there is no password. */
void
sentinel_member_give_up(struct sentinel_member *member, enum outcome outcome,
    const struct problem *why);

/* Gives up what has not been answered; one that is to tell is asked again later. */
void
sentinel_member_rest(struct sentinel_member *member);

/* Is something under way to it? */
bool
sentinel_member_is_asked(const struct sentinel_member *member);

void
sentinel_member_close(struct sentinel_member *member);
void
sentinel_member_free(struct sentinel_member *member);

#endif
