/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What a request of lock.c is as a command for Redis: one script with its keys and arguments. */
#ifndef DLOCK_STORE_REDIS_REQUEST_H
#define DLOCK_STORE_REDIS_REQUEST_H

#include <stdint.h>

#include "lock/store.h"
#include "net/link.h"
#include "store/redis.h"

/* Can a short script do what is asked? Its answer may be that it cannot. */
bool
redis_request_is_short(const struct redis_settings *settings, const struct store_request *request);

/* The hashes of the scripts that are long, as many as a login asks for (LOGIN_HASHES). */
const char *const *
redis_request_hashes(void);

/* Appends it to what link_flush sends. `not_after_us`, by the server's clock, is when an acquire
 * that comes late shall do nothing. `alone`: a renewal, or a release, by the one key that decides.
 * The script goes as text, or as its hash if it is among those that are `known` to the server (a
 * bit for each of redis_request_hashes): then true. */
bool
redis_request_append(struct link *link, const struct redis_settings *settings,
    const struct store_request *request, unsigned int known, int64_t not_after_us, bool alone);

#endif
