/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* The engine for Redis and Valkey: implements lock/store.h over one link, to the server that the
 * URL names, or to which a route leads (store/route.h).
 *
 * Two round trips in all: one pipeline that logs in (AUTH, SELECT, CLIENT SETNAME, SCRIPT
 * EXISTS, TIME), and only after its answer one script. (A script before the login's answer would be
 * cut off: an unauthenticated command has at most ten arguments.) Scripts are sent as EVAL with
 * constant text, or, the long ones, as EVALSHA where the server has said that it knows them; should
 * it turn out not to (NOSCRIPT), nothing was executed, and the text is sent. */
#ifndef DLOCK_STORE_REDIS_H
#define DLOCK_STORE_REDIS_H

#include <stdbool.h>

#include "base/keys.h"
#include "base/loop.h"
#include "base/secret.h"
#include "lock/store.h"
#include "net/url.h"
#include "store/route.h"

/* As many as a route says; 0 without one. */
#define WAIT_REPLICAS_AUTO (-1)

/* What every request of one run has in common. The pointers are borrowed and outlive the store. */
struct redis_settings {
	const struct url *url;        /* its password is not looked at: */
	struct secret_source *secret; /* the password, NULL: none */
	struct route *route;          /* says where the server is; NULL: the URL does */
	const char *server;           /* the URL for people */
	const struct keys *keys;
	const char *token;
	const char *record;  /* read from the first request on */
	const char *mode;    /* exclusive, shared, slots:N */
	int64_t max_waiters; /* -1: no limit */
	int64_t min_fence;
	enum fence_mode fence_mode;
	int64_t wait_replicas; /* how many must have what counts; or WAIT_REPLICAS_AUTO */
	bool watch; /* have a loss told (disturbed) by a second connection: store/redis_watch.h */
	/* Called at each login, before its answer is had, NULL for nothing: what only the requests
	 * need can be made while the answer is on its way. */
	void (*prepare)(void *context);
	void *prepare_context;
};

/* A store, closed; NULL: no memory. Freed by redis_store_free. */
struct store *
redis_store_new(struct loop *loop, const struct redis_settings *settings);

void
redis_store_free(struct store *store);

#endif
