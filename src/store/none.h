/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* An engine without a server (lock/store.h): whatever is asked is granted at once, by the next turn
 * of the loop. For runs that need no lock of their own and yet everything else: signals, limits,
 * killing. What it grants excludes nobody and carries no fencing number.
 *
 * Take it with the longest TTL there is (LEASE_TTL_MOST): then a machine that slept for a day has
 * not lost what it never had. */
#ifndef DLOCK_STORE_NONE_H
#define DLOCK_STORE_NONE_H

#include "base/loop.h"
#include "lock/store.h"

struct none_store {
	struct store store;
	struct loop *loop;
	struct timer timer; /* brings the answer */
	struct instant asked_at;
};

/* Sets one up; `server` is what messages call it. Nothing is to be freed. Returns its store. */
struct store *
none_store_init(struct none_store *none, struct loop *loop, const char *server);

#endif
