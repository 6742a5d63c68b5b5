/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* The route that sentinels know (redis+sentinel://): implements store/route.h.
 *
 * All of them are asked at once, and what they say is weighed (sentinel_view.h). As soon as more
 * than half of them agree that is it; else a moment is given to the others, so that one that is
 * dead or hangs costs next to nothing. What was found is tried, and if it is of no use the next
 * best is, then all are asked again; places are given out five times a second at most.
 *
 * While somebody wants to know of moves the connections stay, and each sentinel tells when there is
 * a new master. Its word is not enough: all are asked again, and only if the weighing says so, too,
 * is the asker told that the master has moved. */
#ifndef DLOCK_STORE_SENTINEL_H
#define DLOCK_STORE_SENTINEL_H

#include "base/secret.h"
#include "store/route.h"
#include "store/sentinel_view.h"

struct sentinel_settings {
	const struct url *url;        /* URL_SENTINEL; its passwords are not looked at: */
	struct secret_source *secret; /* the sentinels' password; NULL: none */
	int64_t limit_ns;             /* for each of them to be reached and to answer */
	bool listens;                 /* they are to tell of moves */
};

/* A route; NULL: no memory. Settings are copied, what they point to is borrowed. */
struct route *
sentinel_route_new(struct loop *loop, const struct sentinel_settings *settings);

/* What one of them has said last; NULL, and *why: it has not. For people who want to know. */
const struct sentinel_view *
sentinel_route_view(const struct route *route, size_t index, struct problem *why);

#endif
