/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* The engine for several servers (Redlock): a store made of nodes, independent masters of which a
 * majority decides, behind lock/store.h. What is decided is in quorum.h, what a node is asked in
 * redlock_node.c, why the numbers grow in docs/redlock.md.
 *
 * Each attempt to acquire has a token of its own, told in the answer. Nobody stands in line: who
 * waits asks again and again. It never says UNKNOWN of an acquire but when too few nodes answered
 * in time; what such an attempt may have left is asked back on the same connections. */
#ifndef DLOCK_STORE_REDLOCK_H
#define DLOCK_STORE_REDLOCK_H

#include <stdbool.h>

#include "base/keys.h"
#include "base/loop.h"
#include "base/secret.h"
#include "lock/store.h"
#include "net/url.h"
#include "store/quorum.h"

struct redlock_member {
	const struct url *url;        /* its password is not looked at: */
	struct secret_source *secret; /* of its own, NULL: none */
	char server[512];             /* the URL for people */
};

/* The pointers are borrowed and outlive the store. */
struct redlock_settings {
	const struct redlock_member *members;
	int count;          /* 2 to QUORUM_MOST */
	const char *server; /* all of them for people */
	const struct keys *keys;
	const char *record; /* read from the first request on */
	int64_t ttl_ns, drift_ns;
	int64_t min_fence;
	int64_t quarantine_ns; /* a node that has been up for less does not vote */
	bool naive; /* for tests (run/testing.h): each node counts, and the highest number is taken
		     */
	/* As in store/redis.h. */
	void (*prepare)(void *context);
	void *prepare_context;
	const pid_t *secret_helper; /* of what all secrets come from; may be NULL */
	uint64_t seed;
};

/* A store, closed; NULL: no memory. Freed by redlock_store_free. */
struct store *
redlock_store_new(struct loop *loop, const struct redlock_settings *settings);

void
redlock_store_free(struct store *store);

#endif
