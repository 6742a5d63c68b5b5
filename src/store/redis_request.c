/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "store/redis_request.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lua_scripts.h"
#include "store/redis_login.h"

/* How a script is named in a request: EVAL and its text, or EVALSHA and its hash. */
struct script {
	const char *command, *name;
};

/* The order of redis_request_hashes. */
enum long_script {
	LONG_ACQUIRE,
	LONG_CONFIRM,
	LONG_RELEASE,
};

const char *const *
redis_request_hashes(void)
{
	static const char *const hashes[LOGIN_HASHES] = {
	    [LONG_ACQUIRE] = lua_acquire_sha1,
	    [LONG_CONFIRM] = lua_confirm_sha1,
	    [LONG_RELEASE] = lua_release_sha1,
	};
	return hashes;
}

static struct script
choose(enum long_script which, const char *text, unsigned int known)
{
	if (known & 1u << which)
		return (struct script){"EVALSHA", redis_request_hashes()[which]};
	return (struct script){"EVAL", text};
}

static bool
is_by_hash(const struct script *script)
{
	return strcmp(script->command, "EVALSHA") == 0;
}

static bool
append_acquire(struct link *link, const struct redis_settings *settings,
    const struct store_request *request, const char *mode, unsigned int known, int64_t not_after_us)
{
	const struct keys *keys = settings->keys;
	struct script script = choose(LONG_ACQUIRE, lua_acquire, known);
	char ttl[24], least_fence[24], not_after[24], ticket[24], max_waiters[24];
	const char *argv[] = {script.command, script.name, "5", keys->lock, keys->fence, keys->info,
	    keys->queue, keys->members, settings->token, ttl, mode, least_fence,
	    settings->fence_mode == FENCE_CLOCK ? "clock" : "counter", not_after, settings->record,
	    settings->mode, ticket, max_waiters, request->ancestor != NULL ? request->ancestor : "",
	    request->under ? "under" : "", "shard"};
	/* The last word is for a cluster alone. */
	size_t count = sizeof argv / sizeof *argv - (settings->url->scheme != URL_CLUSTER);

	snprintf(ttl, sizeof ttl, "%" PRId64, ms_from_ns(request->ttl_ns));
	snprintf(least_fence, sizeof least_fence, "%" PRId64, settings->min_fence + 1);
	snprintf(not_after, sizeof not_after, "%" PRId64, not_after_us);
	snprintf(ticket, sizeof ticket, "%" PRId64, request->ticket);
	snprintf(max_waiters, sizeof max_waiters, "%" PRId64, settings->max_waiters);
	link_append(link, (int)count, argv);
	return is_by_hash(&script);
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

static bool
append_confirm(struct link *link, const struct redis_settings *settings,
    const struct store_request *request, unsigned int known, int64_t not_after_us)
{
	const struct keys *keys = settings->keys;
	struct script script = choose(LONG_CONFIRM, lua_confirm, known);
	char ttl[24], least_fence[24], not_after[24];
	const char *argv[] = {script.command, script.name, "4", keys->lock, keys->fence, keys->info,
	    keys->queue, settings->token, ttl, least_fence,
	    settings->fence_mode == FENCE_CLOCK ? "clock" : "counter", not_after, settings->record};

	snprintf(ttl, sizeof ttl, "%" PRId64, ms_from_ns(request->ttl_ns));
	snprintf(least_fence, sizeof least_fence, "%" PRId64, settings->min_fence + 1);
	snprintf(not_after, sizeof not_after, "%" PRId64, not_after_us);
	link_append(link, sizeof argv / sizeof *argv, argv);
	return is_by_hash(&script);
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

static bool
append_release(struct link *link, const struct redis_settings *settings,
    const struct store_request *request, unsigned int known)
{
	const struct keys *keys = settings->keys;
	struct script script = choose(LONG_RELEASE, lua_release, known);
	char rest[24];
	const char *argv[] = {script.command, script.name, "5", keys->lock, keys->fence, keys->info,
	    keys->queue, keys->members, settings->token, rest};
	snprintf(rest, sizeof rest, "%" PRId64, ms_from_ns(request->rest_ns));
	link_append(link, sizeof argv / sizeof *argv, argv);
	return is_by_hash(&script);
}

/* By the key alone, or by the member alone. */
static void
append_alone(struct link *link, const struct redis_settings *settings,
    const struct store_request *request)
{
	const struct keys *keys = settings->keys;
	bool is_release = request->verb == STORE_RELEASE;
	char ms[24];
	const char *argv[] = {"EVAL", is_release ? lua_release_alone : lua_renew_alone, "1",
	    is_exclusive(settings) ? keys->lock : keys->members, settings->token, ms};

	if (!is_release && is_exclusive(settings)) {
		append_renew(link, settings, request); /* has but one key */
		return;
	}

	snprintf(ms, sizeof ms, "%" PRId64,
	    ms_from_ns(is_release ? request->rest_ns : request->ttl_ns));
	link_append(link, sizeof argv / sizeof *argv, argv);
}

bool
redis_request_append(struct link *link, const struct redis_settings *settings,
    const struct store_request *request, unsigned int known, int64_t not_after_us, bool alone)
{
	if (alone) {
		append_alone(link, settings, request);
		return false;
	}
	switch (request->verb) {
	case STORE_ACQUIRE:
		if (redis_request_is_short(settings, request))
			return append_confirm(link, settings, request, known, not_after_us);
		return append_acquire(link, settings, request, request->wait ? "wait" : "try",
		    known, not_after_us);
	case STORE_TOUCH:
		/* A renewal: there is no time to be told that it must be sent as text. */
		return append_acquire(link, settings, request, "touch", 0, not_after_us);
	case STORE_LOOK:
		return append_acquire(link, settings, request, "look", 0, not_after_us);
	case STORE_RENEW:
		append_renew(link, settings, request);
		return false;
	case STORE_RELEASE:
		/* What undoes is to get through even if nobody is left to send it again. */
		return append_release(link, settings, request, request->undo ? 0 : known);
	}
	return false;
}
