/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "store/redis_request.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lua_scripts.h"

static void
append_acquire(struct link *link, const struct redis_settings *settings,
    const struct store_request *request, const char *mode, int64_t not_after_us)
{
	const struct keys *keys = settings->keys;
	char ttl[24], least_fence[24], not_after[24], ticket[24], max_waiters[24];
	const char *argv[] = {"EVAL", lua_acquire, "5", keys->lock, keys->fence, keys->info,
	    keys->queue, keys->members, settings->token, ttl, mode, least_fence,
	    settings->fence_mode == FENCE_CLOCK ? "clock" : "counter", not_after, settings->record,
	    settings->mode, ticket, max_waiters, request->ancestor != NULL ? request->ancestor : "",
	    request->under ? "under" : ""};

	snprintf(ttl, sizeof ttl, "%" PRId64, ms_from_ns(request->ttl_ns));
	snprintf(least_fence, sizeof least_fence, "%" PRId64, settings->min_fence + 1);
	snprintf(not_after, sizeof not_after, "%" PRId64, not_after_us);
	snprintf(ticket, sizeof ticket, "%" PRId64, request->ticket);
	snprintf(max_waiters, sizeof max_waiters, "%" PRId64, settings->max_waiters);
	link_append(link, sizeof argv / sizeof *argv, argv);
}

static bool
is_exclusive(const struct redis_settings *settings)
{
	return strcmp(settings->mode, "exclusive") == 0;
}

bool
redis_request_is_short(const struct redis_settings *settings, const struct store_request *request)
{
	return request->verb == STORE_ACQUIRE && request->confirm && is_exclusive(settings);
}

static void
append_confirm(struct link *link, const struct redis_settings *settings,
    const struct store_request *request, int64_t not_after_us)
{
	const struct keys *keys = settings->keys;
	char ttl[24], least_fence[24], not_after[24];
	const char *argv[] = {"EVAL", lua_confirm, "4", keys->lock, keys->fence, keys->info,
	    keys->queue, settings->token, ttl, least_fence,
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
	const struct keys *keys = settings->keys;
	char ttl[24], marker[32];
	const char *alone[] = {"EVAL", lua_renew, "1", keys->lock, settings->token, ttl};
	const char *member[] = {"EVAL", lua_renew_member, "2", keys->lock, keys->members,
	    settings->token, ttl, marker};

	snprintf(ttl, sizeof ttl, "%" PRId64, ms_from_ns(request->ttl_ns));
	snprintf(marker, sizeof marker, "dlock!%s", settings->mode);
	if (is_exclusive(settings))
		link_append(link, sizeof alone / sizeof *alone, alone);
	else
		link_append(link, sizeof member / sizeof *member, member);
}

static void
append_release(struct link *link, const struct redis_settings *settings,
    const struct store_request *request)
{
	const struct keys *keys = settings->keys;
	char rest[24];
	const char *argv[] = {"EVAL", lua_release, "5", keys->lock, keys->fence, keys->info,
	    keys->queue, keys->members, settings->token, rest};
	snprintf(rest, sizeof rest, "%" PRId64, ms_from_ns(request->rest_ns));
	link_append(link, sizeof argv / sizeof *argv, argv);
}

void
redis_request_append(struct link *link, const struct redis_settings *settings,
    const struct store_request *request, int64_t not_after_us)
{
	switch (request->verb) {
	case STORE_ACQUIRE:
		if (redis_request_is_short(settings, request)) {
			append_confirm(link, settings, request, not_after_us);
			break;
		}
		append_acquire(link, settings, request, request->wait ? "wait" : "try",
		    not_after_us);
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
