/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include <inttypes.h>
#include <stdio.h>

#include "lua_scripts.h"
#include "store/redlock_parts.h"

static void
append_take(struct redlock_node *node, const char *mode, int64_t not_after_us)
{
	const struct redlock *redlock = node->redlock;
	const struct keys *keys = redlock->settings->keys;
	char ttl[24], not_after[24], number[24];
	const char *argv[] = {"EVAL", lua_node_take, "4", keys->lock, keys->rfence, keys->info,
	    keys->queue, redlock->token, ttl, mode, not_after, redlock->settings->record, number};
	snprintf(ttl, sizeof ttl, "%" PRId64, ms_from_ns(redlock->settings->ttl_ns));
	snprintf(not_after, sizeof not_after, "%" PRId64, not_after_us);
	snprintf(number, sizeof number, "%" PRId64, redlock->quorum.fence);
	link_append(&node->link, sizeof argv / sizeof *argv, argv);
}

/* What everybody writes first: each node counts, and the highest of a majority is the number. It
 * repeats. Here for the tests, which must tell it from the rule that we have. */
static void
append_count(struct redlock_node *node)
{
	static const char script[] = "local n = redis.call('INCR', KEYS[2])\n"
				     "redis.call('PEXPIRE', KEYS[2], 2592000000)\n"
				     "local time = redis.call('TIME')\n"
				     "return {'ACCEPTED', n .. ':naive', "
				     "string.format('%.0f', time[1] * 1000000 + time[2])}";
	const struct keys *keys = node->redlock->settings->keys;
	const char *argv[] = {"EVAL", script, "2", keys->lock, keys->fence};
	link_append(&node->link, sizeof argv / sizeof *argv, argv);
}

static void
append_accept(struct redlock_node *node)
{
	const struct redlock *redlock = node->redlock;
	const struct keys *keys = redlock->settings->keys;
	char number[24];
	const char *argv[] = {"EVAL", lua_node_accept, "3", keys->lock, keys->rfence, keys->info,
	    redlock->token, number, redlock->settings->record};
	snprintf(number, sizeof number, "%" PRId64, redlock->quorum.fence);
	if (redlock->settings->naive)
		append_count(node);
	else
		link_append(&node->link, sizeof argv / sizeof *argv, argv);
}

static void
append_renew(struct redlock_node *node)
{
	const struct redlock *redlock = node->redlock;
	char ttl[24];
	const char *argv[] = {"EVAL", lua_renew, "1", redlock->settings->keys->lock, redlock->token,
	    ttl};
	snprintf(ttl, sizeof ttl, "%" PRId64, ms_from_ns(redlock->settings->ttl_ns));
	link_append(&node->link, sizeof argv / sizeof *argv, argv);
}

void
redlock_request_append_give(struct redlock_node *node, const char *token, int64_t rest_ns)
{
	const struct keys *keys = node->redlock->settings->keys;
	char rest[24];
	const char *argv[] = {"EVAL", lua_node_release, "3", keys->lock, keys->info, keys->queue,
	    token, rest};
	snprintf(rest, sizeof rest, "%" PRId64, ms_from_ns(rest_ns));
	link_append(&node->link, sizeof argv / sizeof *argv, argv);
}

void
redlock_request_append(struct redlock_node *node, enum quorum_ask ask, int64_t not_after_us)
{
	const struct redlock *redlock = node->redlock;
	switch (ask) {
	case ASK_NOTHING:
		break;
	case ASK_TAKE:
		append_take(node, "take", not_after_us);
		break;
	case ASK_RETAKE:
		append_take(node, "retake", not_after_us);
		break;
	case ASK_LOOK:
		append_take(node, "look", not_after_us);
		break;
	case ASK_ACCEPT:
		append_accept(node);
		break;
	case ASK_RENEW:
		append_renew(node);
		break;
	case ASK_GIVE: {
		/* Only a release that was asked for keeps the lock for a while. */
		bool is_release = redlock->quorum.step == QUORUM_GIVING;
		redlock_request_append_give(node, redlock->token,
		    is_release ? redlock->request.rest_ns : 0);
		break;
	}
	}
}
