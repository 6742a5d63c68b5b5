/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "store/redis.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/message.h"
#include "net/link.h"
#include "store/line.h"
#include "store/redis_answer.h"
#include "store/redis_login.h"
#include "store/redis_request.h"
#include "store/redis_watch.h"

enum redis_phase {
	PHASE_CLOSED,
	PHASE_CONNECTING,
	PHASE_LOGIN, /* the password is asked for, or the pipeline has been sent */
	PHASE_IDLE,
	PHASE_ASKED, /* a request has been sent */
};

#define UNASKED "the server answers what was not asked"

struct redis_store {
	struct store store; /* first: a store is converted back */
	struct loop *loop;
	const struct redis_settings *settings;
	struct link link;
	struct redis_login login;
	struct line line;
	struct redis_watch *watch; /* NULL: not wanted */
	struct timer deadline;
	enum redis_phase phase;
	struct problem refusal; /* why a request was not sent */
	bool pending;           /* somebody waits for an answer to: */
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
	const struct store_request request = redis->request;
	redis->store.events->answered(redis->store.context, answer);
	redis_watch_answered(redis->watch, &request, answer);
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
	redis_login_end(&redis->login);
	redis_watch_hold_back(redis->watch, false);
	link_close(&redis->link);
	line_reset(&redis->line);
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
	enum outcome outcome = OUTCOME_UNREACHABLE;
	struct problem why;
	(void)now;
	switch (redis->phase) {
	case PHASE_IDLE:
		if (link_has_unread(&redis->link))
			drop_connection(redis);
		report_failure(redis, OUTCOME_UNREACHABLE, &redis->refusal);
		return;
	case PHASE_CONNECTING:
		problem_set(&why, "no connection in time");
		break;
	case PHASE_LOGIN:
		outcome = redis_login_explain_delay(&redis->login, &why);
		break;
	case PHASE_CLOSED:
		why = redis->refusal;
		break;
	case PHASE_ASKED:
		problem_set(&why, "no answer in time");
		break;
	}
	break_off(redis, outcome, &why);
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
	redis_watch_hold_back(redis->watch, true);
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
	loop_stop_timer(redis->loop, &redis->deadline);
	if (redis->pending)
		send_request(redis);
}

static void
on_login_failed(void *context, enum outcome outcome, const struct problem *why)
{
	break_off(context, outcome, why);
}

/* -- requests --------------------------------------------------------------------------------- */

/* The server's time at which a request that is sent now is not wanted any more. */
static int64_t
not_after_us(const struct redis_store *redis)
{
	return redis->clock_us +
	    (instant_between(redis->clock_at, redis->sent_at) + redis->request.answer_limit_ns) /
	    NS_PER_US;
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
	if (redis->skip == 0 && !redis->line.listens && link_has_unread(&redis->link)) {
		/* Taken for this one's answer, a yes that is older than the question would make the
		 * lease longer than the server's. */
		struct problem why;
		problem_set(&why, UNASKED);
		refuse_soon(redis, &why);
		return;
	}
	redis->phase = PHASE_ASKED;
	redis->sent_at = now;
	loop_set_timer(redis->loop, &redis->deadline,
	    instant_plus(now, redis->request.answer_limit_ns));
	bool join = redis->request.verb == STORE_ACQUIRE && redis->request.wait;
	line_begin(&redis->line, join, redis->request.follow);
	redis_request_append(&redis->link, redis->settings, &redis->request, not_after_us(redis));
	line_end(&redis->line, join);
	if (!link_flush(&redis->link)) {
		struct problem why;
		problem_set_errno(&why, "cannot write a request", ENOMEM);
		refuse_soon(redis, &why);
		drop_connection(redis); /* it awaits answers to what was not sent */
	}
}

/* A lock of ours that was broken is still ours to give back. */
static void
recognise(const struct redis_store *redis, struct holder *holder)
{
	const char *owner = strrchr(holder->token, ':');
	holder->ours =
	    holder->broken && owner != NULL && strcmp(owner + 1, redis->settings->token) == 0;
}

static void
complete_place(struct redis_store *redis, struct store_answer *answer)
{
	struct line *line = &redis->line;
	if (redis->request.wait && !answer->place.told && !line->no_push && !answer->place.full)
		line_give_up_push(line, "the server passes no messages on");
	if (!answer->place.told)
		answer->problem = line->why_no_push;
	answer->place.followed = line->tracks && !line->no_tracking;
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
	if (answer.outcome == OUTCOME_HELD) {
		recognise(redis, &answer.holder);
		complete_place(redis, &answer);
	}
	if (!complete && ++redis->late < 3) {
		/* The server's clock was set, or the request was long on its way: still wanted. */
		send_request(redis);
		return;
	}
	if (!complete)
		problem_set(&answer.problem, "the server's clock is not steady");
	else if (answer.outcome == OUTCOME_UNKNOWN)
		drop_connection(redis); /* what else comes on it may be an answer to anything */
	report(redis, &answer);
}

/* The request's answer, unless nobody waits for it any more. */
static void
on_reply(struct redis_store *redis, const struct reply *reply)
{
	if (redis->skip > 0)
		redis->skip--;
	else
		on_request_answer(redis, reply);
}

static void
on_message(struct redis_store *redis, enum wake wake, int64_t left_ms)
{
	int64_t left_ns = left_ms < 0 ? -1 : left_ms * NS_PER_MS;
	redis->store.events->woken(redis->store.context, wake, left_ns, clock_now());
}

static void
on_answer(void *context, const struct reply *reply)
{
	struct redis_store *redis = context;
	const struct reply *answer = NULL;
	int64_t left_ms = -1;
	struct problem why;
	if (redis->phase == PHASE_LOGIN) {
		redis_login_answer(&redis->login, reply);
		return;
	}
	switch (line_read(&redis->line, reply, &answer, &left_ms)) {
	case LINE_NOTHING:
		break;
	case LINE_ANSWER:
		on_reply(redis, answer);
		break;
	case LINE_AGAIN:
		if (redis->skip > 0)
			redis->skip--;
		else
			send_request(redis);
		break;
	case LINE_GRANTED:
		on_message(redis, WAKE_GRANTED, -1);
		break;
	case LINE_HEAD:
		on_message(redis, WAKE_HEAD, left_ms);
		break;
	case LINE_CHANGED:
		on_message(redis, WAKE_CHANGED, -1);
		break;
	case LINE_UNASKED:
		problem_set(&why, UNASKED);
		break_off(redis, OUTCOME_REFUSED, &why);
		break;
	}
}

static void
on_failed(void *context, const struct problem *failure)
{
	struct redis_store *redis = context;
	enum outcome outcome = OUTCOME_UNREACHABLE;
	struct problem why = *failure;
	if (redis->phase == PHASE_LOGIN)
		outcome = redis_login_explain_failure(&redis->login, failure, &why);
	break_off(redis, outcome, &why);
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

static void
redis_start(struct store *store, const struct store_request *request)
{
	struct redis_store *redis = from_store(store);
	bool under_way = redis->pending && redis->phase == PHASE_ASKED;

	redis_watch_asked(redis->watch, request);
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
	redis_watch_close(redis->watch);
	drop_connection(redis);
}

static void
redis_forget(struct store *store)
{
	struct redis_store *redis = from_store(store);
	link_forget(&redis->link);
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
	struct redis_store *redis = calloc(1, sizeof *redis);
	if (redis == NULL)
		return NULL;
	redis->store.operations = &operations;
	redis->store.server = settings->server;
	redis->store.helpers[0] = &redis->link.resolver.helper;
	if (settings->secret != NULL)
		redis->store.helpers[1] = settings->secret->helper;
	if (settings->watch)
		redis->watch = redis_watch_new(loop, settings, on_alarm, redis);
	redis->store.helpers[2] = redis_watch_helper(redis->watch);
	redis->loop = loop;
	redis->settings = settings;
	redis->deadline = (struct timer){.due = on_deadline, .context = redis};
	link_init(&redis->link, loop, settings->url, &events, redis);
	line_init(&redis->line, &redis->link, settings->keys, settings->token);
	redis->login = (struct redis_login){
	    .link = &redis->link,
	    .url = settings->url,
	    .secret = settings->secret,
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
	link_free(&from_store(store)->link);
	redis_watch_free(from_store(store)->watch);
	free(from_store(store));
}
