/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "store/redis.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "store/redis_parts.h"
#include "store/redis_request.h"

/* So long a connection lives at least before another one takes its place because the server
 * refuses: where the name has not been moved yet, five logins a second are enough. */
#define OUTDATED_AFTER (200 * NS_PER_MS)

void
redis_report(struct redis_store *redis, struct store_answer *answer)
{
	redis->pending = false;
	loop_stop_timer(redis->loop, &redis->deadline);
	answer->sent_at = redis->sent_at;
	answer->received_at = clock_now();
	/* A fork may follow. */
	if (redis->settings->route != NULL && redis->request.verb == STORE_ACQUIRE &&
	    answer->outcome == OUTCOME_OK)
		route_rest(redis->settings->route);
	const struct store_request request = redis->request;
	redis->store.events->answered(redis->store.context, answer);
	redis_watch_answered(redis->watch, &request, answer);
}

static void
report_failure(struct redis_store *redis, enum outcome outcome, const struct problem *why)
{
	struct store_answer answer = {.outcome = outcome, .problem = *why};
	redis_report(redis, &answer);
}

void
redis_drop_connection(struct redis_store *redis)
{
	redis_login_end(&redis->login);
	redis_watch_hold_back(redis->watch, false);
	ear_hold_back(redis->ear, false);
	link_close(&redis->link);
	line_reset(&redis->line);
	/* It goes on telling when the server moves. */
	if (redis->phase == PHASE_FINDING)
		route_cancel(redis->settings->route, &redis->asker);
	redis_stop_awaiting(redis);
	redis->waits_sent = false;
	redis->waits_to_skip = 0;
	redis->old_id[0] = '\0';
	redis->phase = PHASE_CLOSED;
	redis->outdated = false;
	redis->is_taken_elsewhere = redis->is_taken_elsewhere || redis->is_taken_here;
	redis->is_taken_here = false;
	redis->skip = 0;
}

void
redis_break_off(struct redis_store *redis, enum outcome before_sending, const struct problem *why)
{
	bool sent = redis->phase == PHASE_ASKED;
	if (sent && redis->by_hash)
		redis->no_hash =
		    true; /* the next try has nothing to do with what may be odd here */
	redis_drop_connection(redis);
	if (redis->pending)
		report_failure(redis, sent ? OUTCOME_UNKNOWN : before_sending, why);
	else
		redis->store.events->disturbed(redis->store.context, clock_now());
}

/* -- time ------------------------------------------------------------------------------------- */

static void
on_deadline(void *context, struct instant now)
{
	struct redis_store *redis = context;
	enum outcome outcome = OUTCOME_UNREACHABLE;
	struct problem why;
	(void)now;
	switch (redis->phase) {
	case PHASE_IDLE:
		if (link_has_unread(&redis->link))
			redis_drop_connection(redis);
		report_failure(redis, OUTCOME_UNREACHABLE, &redis->refusal);
		return;
	case PHASE_FINDING:
		redis_explain_search(redis, &outcome, &why);
		break;
	case PHASE_CONNECTING:
		link_explain_delay(&redis->link, &why);
		outcome = redis_login_judge(&redis->login, &why);
		redis_note_detour(redis, &why);
		redis_name_place(redis, &why);
		break;
	case PHASE_LOGIN:
		outcome = redis_login_explain_delay(&redis->login, &why);
		redis_note_detour(redis, &why);
		redis_name_place(redis, &why);
		break;
	case PHASE_CLOSED:
		why = redis->refusal;
		break;
	case PHASE_ASKED:
		problem_set(&why, "no answer in time");
		break;
	}
	redis_break_off(redis, outcome, &why);
}

/* -- login ------------------------------------------------------------------------------------ */

static void
prepare(struct redis_store *redis)
{
	if (redis->settings->prepare != NULL)
		redis->settings->prepare(redis->settings->prepare_context);
}

static void
on_opened(void *context)
{
	struct redis_store *redis = context;
	redis->phase = PHASE_LOGIN;
	redis->opened_at = clock_now();
	redis_watch_hold_back(redis->watch, true);
	ear_hold_back(redis->ear, true);
	/* Beside a password nothing is done: what it has passed through, registers too, is left to
	 * be written over by the login's own work, and not saved to the stack by somebody else's.
	 */
	if (redis->settings->secret != NULL)
		prepare(redis);
	redis_login_start(&redis->login);
	if (redis->settings->secret == NULL)
		prepare(redis);
}

static void
on_logged_in(void *context, int64_t server_us)
{
	struct redis_store *redis = context;
	redis->clock_us = server_us;
	redis->clock_at = clock_now();
	redis->phase = PHASE_IDLE;
	redis_watch_hold_back(redis->watch, false);
	ear_hold_back(redis->ear, false);
	loop_stop_timer(redis->loop, &redis->deadline);
	if (redis->pending)
		redis_send(redis);
}

static void
on_login_failed(void *context, enum outcome outcome, const struct problem *why)
{
	if (!redis_make_detour(context, outcome, why))
		redis_break_off(context, outcome, why);
}

static void
on_answer(void *context, const struct reply *reply)
{
	struct redis_store *redis = context;
	if (redis->phase == PHASE_LOGIN)
		redis_login_answer(&redis->login, reply);
	else
		redis_take_reply(redis, reply);
}

static void
on_failed(void *context, const struct problem *failure)
{
	struct redis_store *redis = context;
	enum outcome outcome = OUTCOME_UNREACHABLE;
	struct problem why = *failure;
	if (redis->phase == PHASE_CONNECTING)
		outcome = redis_login_judge(&redis->login, failure);
	else if (redis->phase == PHASE_LOGIN)
		outcome = redis_login_explain_failure(&redis->login, failure, &why);
	line_note_end(&redis->line, &why);
	if (!redis_make_detour(redis, outcome, &why))
		redis_break_off(redis, outcome, &why);
}

static void
on_alarm(void *context, struct instant now)
{
	struct redis_store *redis = context;
	redis->store.events->disturbed(redis->store.context, now);
}

/* -- the store -------------------------------------------------------------------------------- */

static struct redis_store *
from_store(struct store *store)
{
	return (struct redis_store *)store;
}

static bool
is_outdated(const struct redis_store *redis)
{
	return redis->phase == PHASE_IDLE && redis->outdated &&
	    instant_between(redis->opened_at, clock_now()) >= OUTDATED_AFTER;
}

static void
leave_server(struct redis_store *redis)
{
	link_shun(&redis->link);
	if (redis->settings->route != NULL)
		route_fail(redis->settings->route, &redis->outdating);
	redis_drop_connection(redis);
}

void
redis_go_on(struct redis_store *redis)
{
	redis->goes_on = false;
	leave_server(redis);
	redis_begin_to_connect(redis);
}

static void
redis_start(struct store *store, const struct store_request *request)
{
	struct redis_store *redis = from_store(store);
	/* A server that waits for replicas would keep a request waiting, and forget it when we
	 * leave. */
	if (redis->awaits && !redis_stop_awaiting(redis))
		redis_drop_connection(redis);
	bool under_way = redis->pending && redis->phase == PHASE_ASKED;

	redis_watch_asked(redis->watch, request);
	/* Not when it refuses, but now: meanwhile the server may get over it, a waiter is still
	 * told what happens, and the name is looked up as late as can be. But what is to be undone
	 * is here, whether or not another server has it, too. */
	bool undoes = request->undo && redis->is_taken_here && redis->phase == PHASE_IDLE;
	redis->goes_on = undoes && (is_outdated(redis) || redis->is_taken_elsewhere);
	if (is_outdated(redis) && !undoes)
		leave_server(redis);
	redis->request = *request;
	redis->pending = true;
	redis->late = 0;
	redis->turns = 0;
	redis_begin_in_cluster(redis, request);
	if (under_way)
		redis->skip++;
	switch (redis->phase) {
	case PHASE_CLOSED:
		redis_begin_to_connect(redis);
		break;
	case PHASE_FINDING:
	case PHASE_CONNECTING:
	case PHASE_LOGIN:
		break;
	case PHASE_IDLE:
	case PHASE_ASKED:
		redis_send(redis);
		break;
	}
}

static void
redis_close(struct store *store)
{
	struct redis_store *redis = from_store(store);
	loop_stop_timer(redis->loop, &redis->deadline);
	redis->pending = false;
	redis_watch_close(redis->watch);
	ear_close(redis->ear);
	redis_drop_connection(redis);
	if (redis->settings->route != NULL)
		route_close(redis->settings->route);
}

static void
redis_forget(struct store *store)
{
	struct redis_store *redis = from_store(store);
	link_forget(&redis->link);
	ear_forget(redis->ear);
	if (redis->settings->route != NULL)
		route_forget(redis->settings->route);
	if (redis->login.secret != NULL)
		redis->login.secret->operations->forget(redis->login.secret);
	redis->phase = PHASE_CLOSED;
	redis->pending = false;
}

struct store *
redis_store_new(struct loop *loop, const struct redis_settings *settings)
{
	static const struct store_operations operations = {
	    .start = redis_start,
	    .close = redis_close,
	    .forget = redis_forget,
	};
	static const struct link_events events = {
	    .opened = on_opened,
	    .answered = on_answer,
	    .failed = on_failed,
	};
	struct redis_store *redis = malloc(sizeof *redis);
	if (redis == NULL)
		return NULL;
	memset(redis, 0, offsetof(struct redis_store, link));
	redis->store.operations = &operations;
	redis->store.server = settings->server;
	redis->store.helpers[0] = &redis->link.resolver.helper;
	if (settings->secret != NULL)
		redis->store.helpers[1] = settings->secret->helper;
	if (settings->watch)
		redis->watch = redis_watch_new(loop, settings, on_alarm, redis);
	redis->store.helpers[2] = redis_watch_helper(redis->watch);
	for (size_t i = 0; settings->route != NULL && i < ROUTE_MAX_HELPERS; i++)
		redis->store.helpers[3 + i] = settings->route->helpers[i];
	redis_set_up_way(redis);
	redis_set_up_replicas(redis);
	redis->loop = loop;
	redis->settings = settings;
	redis->deadline = (struct timer){.due = on_deadline, .context = redis};
	link_init(&redis->link, loop, settings->url, &events, redis);
	line_init(&redis->line, &redis->link, settings->keys, settings->token);
	redis_set_up_cluster(redis);
	redis->login = (struct redis_login){
	    .link = &redis->link,
	    .url = settings->url,
	    .secret = settings->secret,
	    .wants_master = settings->route != NULL && settings->route->wants_master,
	    .hashes = redis_request_hashes(),
	    .done = on_logged_in,
	    .failed = on_login_failed,
	    .context = redis,
	};
	return &redis->store;
}

void
redis_store_free(struct store *store)
{
	if (store == NULL)
		return;
	redis_close(store);
	if (from_store(store)->settings->route != NULL)
		route_cancel(from_store(store)->settings->route, &from_store(store)->asker);
	link_free(&from_store(store)->link);
	redis_watch_free(from_store(store)->watch);
	ear_free(from_store(store)->ear);
	free(from_store(store));
}
