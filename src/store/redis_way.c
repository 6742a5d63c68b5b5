/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* How a store comes to the server: by the URL, or where a route leads, with detours. */
#include "store/redis_parts.h"

static void
connect_to_server(struct redis_store *redis)
{
	redis->phase = PHASE_CONNECTING;
	link_open(&redis->link, redis->connect_until, true);
}

static void
look_for_server(struct redis_store *redis)
{
	if (redis->settings->route == NULL) {
		connect_to_server(redis);
		return;
	}
	redis->phase = PHASE_FINDING;
	route_find(redis->settings->route, &redis->asker);
}

void
redis_begin_to_connect(struct redis_store *redis)
{
	redis->connect_until = instant_plus(clock_now(), redis->request.connect_limit_ns);
	redis->detour.text[0] = '\0';
	redis->sent_at = clock_now();
	loop_set_timer(redis->loop, &redis->deadline, redis->connect_until);
	look_for_server(redis);
}

static void
on_found(void *context, const struct url_place *place)
{
	struct redis_store *redis = context;
	link_aim(&redis->link, place);
	connect_to_server(redis);
}

static void
on_not_found(void *context, enum outcome outcome, const struct problem *why)
{
	redis_break_off(context, outcome, why);
}

/* The place that was found is of no use: others get to know. */
void
redis_note_detour(struct redis_store *redis, const struct problem *why)
{
	if (redis->settings->route != NULL)
		route_fail(redis->settings->route, why);
}

/* No connection, or no login, at the place that was found: is there another way? Who refuses the
 * user, or has no password to give, is told so at once. */
bool
redis_make_detour(struct redis_store *redis, enum outcome outcome, const struct problem *why)
{
	bool before_sending = redis->phase == PHASE_CONNECTING || redis->phase == PHASE_LOGIN;
	if (redis->settings->route == NULL || !redis->pending || !before_sending ||
	    outcome == OUTCOME_DENIED || why->is_setting || why->is_system)
		return false;
	struct problem detour = *why; /* it may be the link's own */
	redis_note_detour(redis, &detour);
	redis_drop_connection(redis);
	redis->detour = detour;
	redis->detour_outcome = outcome;
	look_for_server(redis);
	return true;
}

/* Of a place that the URL does not name it is said which that is. */
void
redis_name_place(const struct redis_store *redis, struct problem *why)
{
	char place[URL_PLACE_TEXT];
	struct problem bare = *why;
	if (redis->settings->route == NULL)
		return;
	url_print_place(&redis->link.place, place, sizeof place);
	problem_set(why, "%.128s: %.300s", place, bare.text);
	why->is_denied = bare.is_denied;
	why->is_setting = bare.is_setting;
	why->is_system = bare.is_system;
	why->is_passing = bare.is_passing;
}

void
redis_explain_search(const struct redis_store *redis, enum outcome *outcome, struct problem *why)
{
	if (redis->detour.text[0] == '\0') {
		route_explain_delay(redis->settings->route, why);
		return;
	}
	*outcome = redis->detour_outcome;
	*why = redis->detour;
	redis_name_place(redis, why);
}

void
redis_follow(struct redis_store *redis)
{
	redis_drop_connection(redis);
	redis_begin_to_connect(redis);
}

static void
on_moved(void *context, struct instant now)
{
	struct redis_store *redis = context;
	struct problem why;
	switch (redis->phase) {
	case PHASE_CLOSED:
	case PHASE_FINDING:
		break;
	case PHASE_CONNECTING:
	case PHASE_LOGIN:
		redis_drop_connection(redis);
		look_for_server(redis);
		break;
	case PHASE_IDLE:
		redis_drop_connection(redis);
		if (!redis->pending)
			redis->store.events->disturbed(redis->store.context, now);
		else
			look_for_server(redis);
		break;
	case PHASE_ASKED:
		problem_set(&why, "the server is another one now");
		redis_break_off(redis, OUTCOME_UNKNOWN, &why);
		break;
	}
}

void
redis_set_up_way(struct redis_store *redis)
{
	redis->asker = (struct route_asker){
	    .found = on_found,
	    .failed = on_not_found,
	    .moved = on_moved,
	    .context = redis,
	};
}
