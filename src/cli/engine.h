/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* From the options to the store of a run: which engine that is, and with which settings. */
#ifndef DLOCK_CLI_ENGINE_H
#define DLOCK_CLI_ENGINE_H

#include "cli/options.h"
#include "cli/password.h"
#include "lock/lease.h"
#include "store/postgres.h"
#include "store/redis.h"
#include "store/redlock.h"

enum engine_kind {
	ENGINE_REDIS,
	ENGINE_QUORUM,
	ENGINE_POSTGRES,
};

/* What the store borrows beside the options: it outlives the store. */
struct engine {
	enum engine_kind kind;
	struct redis_settings redis;
	struct redlock_settings redlock;
	struct redlock_member members[QUORUM_MOST];
	struct postgres_settings postgres;
};

/* What the options do not say. All is borrowed, for as long as the store lives. */
struct engine_terms {
	struct route *route; /* NULL: none */
	const struct password_place *password;
	const char *server; /* all of them for people */
	const struct keys *keys;
	const char *token, *record, *mode;
	const struct identity *identity;
	const struct lease_terms *lease;
	/* As in store/redis.h. */
	void (*prepare)(void *context);
	void *prepare_context;
	uint64_t seed;
};

/* A store, closed; NULL: no memory. Freed by engine_free. */
struct store *
engine_open(struct engine *engine, struct options *options, struct loop *loop,
    const struct engine_terms *terms);

void
engine_free(const struct engine *engine, struct store *store);

#endif
