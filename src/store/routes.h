/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Which route a URL needs. */
#ifndef DLOCK_STORE_ROUTES_H
#define DLOCK_STORE_ROUTES_H

#include "base/secret.h"
#include "store/route.h"

struct route_settings {
	const struct url *url;
	struct secret_source *sentinel_secret; /* the sentinels' password; NULL: none */
	int64_t limit_ns;                      /* for one server of the route to answer */
	bool listens;                          /* moves are to be told */
	const char *key; /* in a cluster: of the lock, NULL: not known yet (cluster_aim) */
};

/* *route: the one for that URL, NULL: it needs none. What settings point to is borrowed. 0, or -1
 * and errno. */
int
route_open(struct route **route, struct loop *loop, const struct route_settings *settings);

/* Harmless with NULL. */
void
route_free(struct route *route);

#endif
