/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "store/redis.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/message.h"
#include "lua_scripts.h"
#include "net/link.h"
#include "store/redis_answer.h"

/* The steps of the login pipeline, in the order of their answers. */
enum login_step {
	LOGIN_AUTH,
	LOGIN_SELECT,
	LOGIN_SETNAME,
	LOGIN_TIME,
	LOGIN_DONE,
};

enum redis_phase {
	PHASE_CLOSED,
	PHASE_CONNECTING,
	PHASE_LOGIN,
	PHASE_IDLE,
	PHASE_ASKED, /* a request has been sent */
};

struct redis_store {
	struct store store; /* first: a store is converted back */
	struct loop *loop;
	const struct redis_settings *settings;
	struct link link;
	struct timer deadline;
	enum redis_phase phase;
	enum login_step login_step;
	struct problem login_complaint; /* a refusal of what is merely nice */
	struct problem refusal;         /* why a request was not sent */
	bool pending;                   /* somebody waits for an answer to: */
	struct store_request request;
	struct instant sent_at;
	unsigned int skip; /* answers on the way to requests that nobody waits for */
	unsigned int late; /* LATE answers to this request */
	/* The server's clock: clock_us at clock_at. The true one is ahead of what follows from
	 * these by the way of the answer, so a not-after errs to the early side. */
	int64_t clock_us;
	struct instant clock_at;
};

static void
send_request(struct redis_store *redis);

static void
report(struct redis_store *redis, struct store_answer *answer)
{
	redis->pending = false;
	loop_stop_timer(redis->loop, &redis->deadline);
	answer->sent_at = redis->sent_at;
	answer->received_at = clock_now();
	redis->store.events->answered(redis->store.context, answer);
}

static void
report_failure(struct redis_store *redis, enum outcome outcome, const struct problem *why)
{
	struct store_answer answer = {.outcome = outcome, .problem = *why};
	report(redis, &answer);
}

static void
drop_connection(struct redis_store *redis)
{
	link_close(&redis->link);
	redis->phase = PHASE_CLOSED;
	redis->skip = 0;
}

/* The connection is gone, or of no use: tell whoever waits. */
static void
break_off(struct redis_store *redis, enum outcome before_sending, const struct problem *why)
{
	bool sent = redis->phase == PHASE_ASKED;
	drop_connection(redis);
	if (redis->pending)
		report_failure(redis, sent ? OUTCOME_UNKNOWN : before_sending, why);
	else
		redis->store.events->disturbed(redis->store.context, clock_now());
}

static void
on_deadline(void *context, struct instant now)
{
	struct redis_store *redis = context;
	struct problem why;
	(void)now;
	switch (redis->phase) {
	case PHASE_IDLE:
		report_failure(redis, OUTCOME_UNREACHABLE, &redis->refusal);
		return;
	case PHASE_CONNECTING:
		problem_set(&why, "no connection in time");
		break;
	case PHASE_LOGIN:
		problem_set(&why, "no answer to the login in time");
		break;
	case PHASE_CLOSED:
	case PHASE_ASKED:
		problem_set(&why, "no answer in time");
		break;
	}
	break_off(redis, OUTCOME_UNREACHABLE, &why);
}

/* -- login ------------------------------------------------------------------------------------ */

static enum login_step
next_login_step(const struct redis_store *redis, enum login_step after)
{
	const struct url *url = redis->settings->url;
	for (int step = (int)after + 1; step < LOGIN_DONE; step++) {
		if (step == LOGIN_SELECT && url->db == 0)
			continue;
		return (enum login_step)step;
	}
	return LOGIN_DONE;
}

static void
on_opened(void *context)
{
	struct redis_store *redis = context;
	const struct url *url = redis->settings->url;
	const char *with_user[] = {"AUTH", url->user, url->password};
	const char *without_user[] = {"AUTH", url->password};
	const char *setname[] = {"CLIENT", "SETNAME", "dlock"};
	const char *time[] = {"TIME"};
	char db[16];
	const char *select[] = {"SELECT", db};

	redis->phase = PHASE_LOGIN;
	/* A user without a password is one that needs none. */
	bool with_auth = url->has_password || url->user[0] != '\0';
	redis->login_step = with_auth ? LOGIN_AUTH : next_login_step(redis, LOGIN_AUTH);
	redis->login_complaint.text[0] = '\0';
	if (url->user[0] != '\0')
		link_append(&redis->link, 3, with_user);
	else if (url->has_password)
		link_append(&redis->link, 2, without_user);
	if (url->db != 0) {
		snprintf(db, sizeof db, "%d", url->db);
		link_append(&redis->link, 2, select);
	}
	link_append(&redis->link, 3, setname);
	link_append(&redis->link, 1, time);
	if (!link_flush(&redis->link)) {
		struct problem why;
		problem_set_errno(&why, "cannot write a request", ENOMEM);
		break_off(redis, OUTCOME_UNREACHABLE, &why);
	}
}

static void
on_login_answer(struct redis_store *redis, const struct reply *reply)
{
	enum login_step step = redis->login_step;
	struct problem why;

	if (reply->kind == REPLY_ERROR && step == LOGIN_SETNAME) {
		/* A name is merely nice. But "max number of clients reached" comes here too, and
		 * then the end. */
		problem_set(&redis->login_complaint, "the server says: %s", reply->text);
	} else if (reply->kind == REPLY_ERROR) {
		problem_set(&why, "the server says: %s", reply->text);
		break_off(redis, answer_classify_error(reply->text), &why);
		return;
	}
	if (step == LOGIN_TIME) {
		redis->clock_us = answer_read_time(reply);
		redis->clock_at = clock_now();
		if (redis->clock_us == 0) {
			problem_set(&why, "the server's answer to TIME makes no sense");
			break_off(redis, OUTCOME_REFUSED, &why);
			return;
		}
	}
	redis->login_step = next_login_step(redis, step);
	if (redis->login_step == LOGIN_DONE) {
		redis->phase = PHASE_IDLE;
		loop_stop_timer(redis->loop, &redis->deadline);
		if (redis->pending)
			send_request(redis);
	}
}

/* -- requests --------------------------------------------------------------------------------- */

static void
append_acquire(struct redis_store *redis, const char *mode)
{
	const struct redis_settings *settings = redis->settings;
	char ttl[24], least_fence[24], not_after[24];
	const char *argv[] = {"EVAL", lua_acquire, "3", settings->keys->lock, settings->keys->fence,
	    settings->keys->info, settings->token, ttl, mode, least_fence,
	    settings->fence_mode == FENCE_CLOCK ? "clock" : "counter", not_after, settings->record};

	snprintf(ttl, sizeof ttl, "%" PRId64, ms_from_ns(redis->request.ttl_ns));
	snprintf(least_fence, sizeof least_fence, "%" PRId64, settings->min_fence + 1);
	snprintf(not_after, sizeof not_after, "%" PRId64,
	    redis->clock_us +
		(instant_between(redis->clock_at, redis->sent_at) +
		    redis->request.answer_limit_ns) /
		    NS_PER_US);
	link_append(&redis->link, sizeof argv / sizeof *argv, argv);
}

static void
append_renew(struct redis_store *redis)
{
	char ttl[24];
	const char *argv[] = {"EVAL", lua_renew, "1", redis->settings->keys->lock,
	    redis->settings->token, ttl};
	snprintf(ttl, sizeof ttl, "%" PRId64, ms_from_ns(redis->request.ttl_ns));
	link_append(&redis->link, sizeof argv / sizeof *argv, argv);
}

static void
append_release(struct redis_store *redis)
{
	char rest[24];
	const char *argv[] = {"EVAL", lua_release, "2", redis->settings->keys->lock,
	    redis->settings->keys->info, redis->settings->token, rest};
	snprintf(rest, sizeof rest, "%" PRId64, ms_from_ns(redis->request.rest_ns));
	link_append(&redis->link, sizeof argv / sizeof *argv, argv);
}

/* Not sent after all: told from the loop, as every answer is. */
static void
refuse_soon(struct redis_store *redis, const struct problem *why)
{
	redis->phase = PHASE_IDLE;
	redis->refusal = *why;
	loop_set_timer(redis->loop, &redis->deadline, clock_now());
}

/* On a connection that has logged in; another request may still be unanswered before it. */
static void
send_request(struct redis_store *redis)
{
	struct instant now = clock_now();
	if (instant_reached(redis->request.not_later, now)) {
		struct problem why;
		problem_set(&why, "too late to be sent");
		refuse_soon(redis, &why);
		return;
	}
	redis->phase = PHASE_ASKED;
	redis->sent_at = now;
	loop_set_timer(redis->loop, &redis->deadline,
	    instant_plus(now, redis->request.answer_limit_ns));
	switch (redis->request.verb) {
	case STORE_ACQUIRE:
		append_acquire(redis, "try");
		break;
	case STORE_TOUCH:
		append_acquire(redis, "touch");
		break;
	case STORE_LOOK:
		append_acquire(redis, "look");
		break;
	case STORE_RENEW:
		append_renew(redis);
		break;
	case STORE_RELEASE:
		append_release(redis);
		break;
	}
	if (!link_flush(&redis->link)) {
		struct problem why;
		problem_set_errno(&why, "cannot write a request", ENOMEM);
		refuse_soon(redis, &why);
	}
}

static void
on_request_answer(struct redis_store *redis, const struct reply *reply)
{
	struct store_answer answer = {.outcome = OUTCOME_UNKNOWN};
	int64_t server_us = 0;
	bool complete = true;

	switch (redis->request.verb) {
	case STORE_ACQUIRE:
	case STORE_TOUCH:
	case STORE_LOOK:
		complete = answer_read_acquire(reply, redis->request.verb, &answer, &server_us);
		break;
	case STORE_RENEW:
	case STORE_RELEASE:
		answer_read_number(reply, &answer);
		break;
	}
	if (server_us != 0) {
		redis->clock_us = server_us;
		redis->clock_at = clock_now();
	}
	redis->phase = PHASE_IDLE;
	if (!complete && ++redis->late < 3) {
		/* The server's clock was set, or the request was long on its way: still wanted. */
		send_request(redis);
		return;
	}
	if (!complete)
		problem_set(&answer.problem, "the server's clock is not steady");
	report(redis, &answer);
}

static void
on_answer(void *context, const struct reply *reply)
{
	struct redis_store *redis = context;
	if (redis->phase == PHASE_LOGIN) {
		on_login_answer(redis, reply);
	} else if (redis->skip > 0) {
		redis->skip--;
	} else if (redis->phase == PHASE_ASKED && redis->pending) {
		on_request_answer(redis, reply);
	} else {
		struct problem why;
		problem_set(&why, "the server answers what was not asked");
		break_off(redis, OUTCOME_REFUSED, &why);
	}
}

static void
on_failed(void *context, const struct problem *why)
{
	struct redis_store *redis = context;
	if (redis->phase == PHASE_LOGIN && redis->login_complaint.text[0] != '\0')
		break_off(redis, answer_classify_error(redis->login_complaint.text),
		    &redis->login_complaint);
	else
		break_off(redis, OUTCOME_UNREACHABLE, why);
}

/* -- the store -------------------------------------------------------------------------------- */

static struct redis_store *
from_store(struct store *store)
{
	return (struct redis_store *)store;
}

static void
redis_start(struct store *store, const struct store_request *request)
{
	struct redis_store *redis = from_store(store);
	bool under_way = redis->pending && redis->phase == PHASE_ASKED;

	redis->request = *request;
	redis->pending = true;
	redis->late = 0;
	if (under_way)
		redis->skip++;
	switch (redis->phase) {
	case PHASE_CLOSED: {
		struct instant limit = instant_plus(clock_now(), request->connect_limit_ns);
		redis->phase = PHASE_CONNECTING;
		redis->sent_at = clock_now();
		loop_set_timer(redis->loop, &redis->deadline, limit);
		link_open(&redis->link, limit, true);
		break;
	}
	case PHASE_CONNECTING:
	case PHASE_LOGIN:
		break;
	case PHASE_IDLE:
	case PHASE_ASKED:
		send_request(redis);
		break;
	}
}

static void
redis_close(struct store *store)
{
	struct redis_store *redis = from_store(store);
	loop_stop_timer(redis->loop, &redis->deadline);
	redis->pending = false;
	drop_connection(redis);
}

static void
redis_forget(struct store *store)
{
	struct redis_store *redis = from_store(store);
	link_forget(&redis->link);
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
	struct redis_store *redis = calloc(1, sizeof *redis);
	if (redis == NULL)
		return NULL;
	redis->store.operations = &operations;
	redis->store.server = settings->server;
	redis->store.helper = &redis->link.resolver.helper;
	redis->loop = loop;
	redis->settings = settings;
	redis->deadline = (struct timer){.due = on_deadline, .context = redis};
	link_init(&redis->link, loop, settings->url, &events, redis);
	return &redis->store;
}

void
redis_store_free(struct store *store)
{
	if (store == NULL)
		return;
	redis_close(store);
	link_free(&from_store(store)->link);
	free(from_store(store));
}
