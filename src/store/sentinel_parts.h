/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What the two files of store/sentinel.h share: sentinel.c, the route and its sentinels, and
 * sentinel_round.c, when they are asked and what is made of it. */
#ifndef DLOCK_STORE_SENTINEL_PARTS_H
#define DLOCK_STORE_SENTINEL_PARTS_H

#include "store/sentinel.h"
#include "store/sentinel_member.h"

struct sentinel_route {
	struct route route; /* first: a route is converted back */
	struct loop *loop;
	struct sentinel_settings settings;
	struct route_asker *askers;
	struct timer due;
	bool asking;                /* a round is under way */
	bool has_heard;             /* in it */
	bool wants_check;           /* has the master moved? */
	struct instant switched_at; /* a sentinel has said so */
	struct instant round_at;
	struct sentinel_choice choices[URL_MAX_PLACES];
	size_t choice_count, choice_next;
	bool is_stale; /* no sentinel can be asked: the choice is what was known before */
	struct instant chosen_at;   /* when those were asked whose word the choices are */
	struct instant given_at[2]; /* the last two times that a place was given out */
	struct url_place shunned;   /* a place that was of no use */
	struct instant shunned_at;
	bool password_asked;
	size_t count;
	struct sentinel_member members[];
};

/* -- sentinel_round.c ------------------------------------------------------------------------- */

/* When something has changed: does what is to be done now, or plans it. */
void
sentinel_proceed(struct sentinel_route *sentinel, struct instant now);

/* The timer's: patience is over, or it is time to go on. */
void
sentinel_on_due(void *context, struct instant now);

/* A member has answered, or failed. */
void
sentinel_on_said(struct sentinel_route *sentinel, bool answered);

/* Why there is no master. */
void
sentinel_explain(const struct sentinel_route *sentinel, enum outcome *outcome, struct problem *why);

size_t
sentinel_count_asked(const struct sentinel_route *sentinel);

#endif
