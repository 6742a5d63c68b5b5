/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What a store does in a cluster beyond what it does elsewhere: it follows redirections, tells its
 * waiter by the ear, and renews and releases while half of its keys are on another node. */
#include "store/redis_parts.h"

/* So long a slot of which half has been moved is not thought to be whole again. */
#define HALF_FOR NS_PER_S

/* In a cluster changes of the key are told where the turn is told. */
void
redis_append_following(struct redis_store *redis)
{
	int64_t id = ear_client_id(redis->ear, &redis->link.place);
	if (id != 0)
		line_track_for(&redis->line, id);
}

/* Where its slot is moving to, a node takes a request only behind this word, each time anew: also
 * when the same one is sent again there. */
void
redis_append_asking(struct redis_store *redis)
{
	const char *const words[] = {"ASKING"};
	if (!redis->is_guest)
		return;
	link_append(&redis->link, 1, words);
	line_put_aside(&redis->line);
}

/* What the route wants to know for itself. */
void
redis_append_question(struct redis_store *redis)
{
	enum store_verb verb = redis->request.verb;
	if (redis->settings->route != NULL && verb != STORE_RELEASE &&
	    route_ask(redis->settings->route, verb != STORE_ACQUIRE, &redis->link))
		line_put_aside(&redis->line);
}

/* While half of a slot's keys are on another node, only what touches one of them can be asked. A
 * release and a renewal must not wait for the other half: they make do with the key that decides,
 * and whoever waits finds out by himself. But the marker of several holders is left alone then. It
 * lasts three times as long as the member that is left longest when somebody gives his place back:
 * after the time t since our last whole renewal that is 3 T - 2 t or more, and a renewal without it
 * lasts until t + T. */
bool
redis_must_be_alone(const struct redis_store *redis)
{
	switch (redis->request.verb) {
	case STORE_RELEASE:
		return redis->halves >= 2;
	case STORE_RENEW:
		return redis->halves >= 1 &&
		    3 * instant_between(redis->whole_at, redis->sent_at) <=
		    2 * redis->request.ttl_ns;
	case STORE_TOUCH:
	case STORE_ACQUIRE:
	case STORE_LOOK:
		break;
	}
	return false;
}

/* In line, and not yet told by the ear: it is put to the door. When it listens there is another
 * request. */
void
redis_complete_place(struct redis_store *redis, struct store_answer *answer)
{
	const struct problem *refusal = ear_refusal(redis->ear);
	answer->place.followed = redis->line.follows;
	if (answer->place.told)
		return;
	if (refusal != NULL)
		answer->problem = *refusal;
	else if (redis->request.wait && answer->place.rank >= 0)
		ear_listen(redis->ear, &redis->link.place, redis->request.connect_limit_ns);
}

static void
note_half(struct redis_store *redis)
{
	redis->halves++;
	redis->half_at = clock_now();
	if (redis->request.verb == STORE_TOUCH)
		redis->request.verb = STORE_RENEW; /* what stands beside the lock has time */
}

/* An error that says that the server is another one: then it goes there. */
bool
redis_is_sent_elsewhere(struct redis_store *redis, const struct reply *reply)
{
	struct route *route = redis->settings->route;
	if (reply->kind != REPLY_ERROR || route == NULL)
		return false;
	enum route_turn turn = route_redirect(route, reply->text);
	if (turn == ROUTE_STAY)
		return false;
	if (redis->turns++ == ROUTE_MAX_TURNS) {
		struct store_answer answer = {.outcome = OUTCOME_REFUSED};
		route_explain_delay(route, &answer.problem);
		redis->phase = PHASE_IDLE;
		redis_report(redis, &answer);
		return true;
	}
	if (turn == ROUTE_LATER)
		note_half(redis);
	redis_follow(redis);
	redis->is_guest = turn == ROUTE_ASK;
	return true;
}

void
redis_note_possession(struct redis_store *redis, const struct store_answer *answer)
{
	if (answer->outcome != OUTCOME_OK)
		return;
	if (!redis_must_be_alone(redis))
		redis->whole_at = redis->sent_at;
	ear_close(redis->ear);
}

/* -- the ear ---------------------------------------------------------------------------------- */

static void
on_ear_ready(void *context, struct instant now)
{
	struct redis_store *redis = context;
	/* It can be told now: that is to be said, and what happened before is to be seen. */
	redis->store.events->woken(redis->store.context, WAKE_LISTENS, -1, now);
}

static void
on_ear_lost(void *context, struct instant now)
{
	struct redis_store *redis = context;
	redis->store.events->disturbed(redis->store.context, now);
}

static void
on_ear_woken(void *context, enum wake wake, int64_t left_ns, struct instant now)
{
	struct redis_store *redis = context;
	redis->store.events->woken(redis->store.context, wake, left_ns, now);
}

void
redis_set_up_cluster(struct redis_store *redis)
{
	static const struct ear_events ear_events = {
	    .ready = on_ear_ready,
	    .lost = on_ear_lost,
	    .woken = on_ear_woken,
	};
	const struct redis_settings *settings = redis->settings;
	redis->half_at = instant_plus(clock_now(), -HALF_FOR);
	if (settings->url->scheme == URL_CLUSTER)
		redis->ear =
		    ear_new(redis->loop, settings, redis->line.channel, &ear_events, redis);
	if (settings->url->scheme == URL_CLUSTER && redis->ear == NULL)
		line_give_up_push(&redis->line, "no memory for a second connection");
	redis->store.helpers[STORE_MAX_HELPERS - 1] = ear_helper(redis->ear);
}

void
redis_begin_in_cluster(struct redis_store *redis, const struct store_request *request)
{
	/* Who has just been told so does not ask for all of it first. */
	redis->halves = instant_between(redis->half_at, clock_now()) < HALF_FOR;
	redis->is_guest = false;
	if (request->verb != STORE_ACQUIRE || !request->wait)
		ear_close(redis->ear);
}
