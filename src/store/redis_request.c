/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "store/redis_request.h"

#include <inttypes.h>
#include <stdio.h>

#include "lua_scripts.h"

static void
append_acquire(struct link *link, const struct redis_settings *settings,
    const struct store_request *request, const char *mode, int64_t not_after_us)
{
	char ttl[24], least_fence[24], not_after[24];
	const char *argv[] = {"EVAL", lua_acquire, "3", settings->keys->lock, settings->keys->fence,
	    settings->keys->info, settings->token, ttl, mode, least_fence,
	    settings->fence_mode == FENCE_CLOCK ? "clock" : "counter", not_after, settings->record};

	snprintf(ttl, sizeof ttl, "%" PRId64, ms_from_ns(request->ttl_ns));
	snprintf(least_fence, sizeof least_fence, "%" PRId64, settings->min_fence + 1);
	snprintf(not_after, sizeof not_after, "%" PRId64, not_after_us);
	link_append(link, sizeof argv / sizeof *argv, argv);
}

static void
append_renew(struct link *link, const struct redis_settings *settings,
    const struct store_request *request)
{
	char ttl[24];
	const char *argv[] = {"EVAL", lua_renew, "1", settings->keys->lock, settings->token, ttl};
	snprintf(ttl, sizeof ttl, "%" PRId64, ms_from_ns(request->ttl_ns));
	link_append(link, sizeof argv / sizeof *argv, argv);
}

static void
append_release(struct link *link, const struct redis_settings *settings,
    const struct store_request *request)
{
	char rest[24];
	const char *argv[] = {"EVAL", lua_release, "2", settings->keys->lock, settings->keys->info,
	    settings->token, rest};
	snprintf(rest, sizeof rest, "%" PRId64, ms_from_ns(request->rest_ns));
	link_append(link, sizeof argv / sizeof *argv, argv);
}

void
redis_request_append(struct link *link, const struct redis_settings *settings,
    const struct store_request *request, int64_t not_after_us)
{
	switch (request->verb) {
	case STORE_ACQUIRE:
		append_acquire(link, settings, request, "try", not_after_us);
		break;
	case STORE_TOUCH:
		append_acquire(link, settings, request, "touch", not_after_us);
		break;
	case STORE_LOOK:
		append_acquire(link, settings, request, "look", not_after_us);
		break;
	case STORE_RENEW:
		append_renew(link, settings, request);
		break;
	case STORE_RELEASE:
		append_release(link, settings, request);
		break;
	}
}
