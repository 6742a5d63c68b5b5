/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* The engine for PostgreSQL: implements lock/store.h over one session (postgres_session.h), whose
 * advisory locks are what is had (postgres_sql.h).
 *
 * The lease is the server's idle_session_timeout: a session that has not asked for the TTL is ended
 * there, and a renewal is any statement. What is different from a key: the lock is free the moment
 * its session ends. So a connection is never given up because an answer is late, only when the
 * command is dead; the end of the session is told at once (`ended`); and OUTER, which inherits the
 * descriptor, keeps it open, so that the death of RUNNER alone ends no session.
 *
 * Who waits is told (LISTEN, NOTIFY) and asks, never in a statement that blocks: that would keep a
 * snapshot, which vacuum waits for, and CREATE INDEX CONCURRENTLY in the holder's command, too. Who
 * came first is woken first, the others a moment later, unless the lock has been taken. */
#ifndef DLOCK_STORE_POSTGRES_H
#define DLOCK_STORE_POSTGRES_H

#include <stdint.h>

#include "base/keys.h"
#include "base/loop.h"
#include "base/secret.h"
#include "lock/store.h"
#include "net/url.h"

/* The pointers are borrowed and outlive the store. */
struct postgres_settings {
	const struct url *url;        /* its password is not looked at: */
	struct secret_source *secret; /* the password, NULL: libpq's own ways */
	const char *server;           /* the URL for people */
	const struct keys *keys;
	const char *token;
	const char *record; /* read from the first request on */
	const struct identity *identity;
	enum lock_mode mode;
	int slots;
	int64_t ttl_ns;
	int64_t max_waiters; /* -1: no limit */
	int64_t min_fence;
	/* As in store/redis.h; called before the first connection. */
	void (*prepare)(void *context);
	void *prepare_context;
	uint64_t seed;
};

/* A store, closed; NULL: no memory. Freed by postgres_store_free. */
struct store *
postgres_store_new(struct loop *loop, const struct postgres_settings *settings);

void
postgres_store_free(struct store *store);

#endif
