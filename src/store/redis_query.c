/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "store/redis_query.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lua_scripts.h"
#include "store/redis_answer.h"

#define UNASKED "the server answers what was not asked"

void
redis_query_close(struct redis_query *query)
{
	loop_stop_timer(query->loop, &query->deadline);
	redis_login_end(&query->login);
	link_close(&query->link);
	query->phase = QUERY_CLOSED;
}

static void
fail(struct redis_query *query, enum outcome outcome, const struct problem *why)
{
	struct problem copy = *why; /* it may be the link's own */
	redis_query_close(query);
	query->events->failed(query->context, outcome, &copy);
}

static void
on_deadline(void *context, struct instant now)
{
	struct redis_query *query = context;
	enum outcome outcome = OUTCOME_UNREACHABLE;
	struct problem why;
	(void)now;
	switch (query->phase) {
	case QUERY_CLOSED:
	case QUERY_IDLE:
		return;
	case QUERY_CONNECTING:
		link_explain_delay(&query->link, &why);
		outcome = redis_login_judge(&query->login, &why);
		break;
	case QUERY_LOGIN:
		outcome = redis_login_explain_delay(&query->login, &why);
		break;
	case QUERY_ASKED:
		outcome = OUTCOME_UNKNOWN;
		problem_set(&why, "no answer in time");
		break;
	}
	fail(query, outcome, &why);
}

static void
on_opened(void *context)
{
	struct redis_query *query = context;
	query->phase = QUERY_LOGIN;
	query->opened_at = clock_now();
	redis_login_start(&query->login);
}

static void
on_logged_in(void *context, int64_t server_us)
{
	struct redis_query *query = context;
	query->clock_us = server_us;
	query->clock_at = clock_now();
	query->phase = QUERY_IDLE;
	loop_stop_timer(query->loop, &query->deadline);
	query->events->ready(query->context);
}

static void
on_login_failed(void *context, enum outcome outcome, const struct problem *why)
{
	fail(context, outcome, why);
}

static void
on_answer(void *context, const struct reply *reply)
{
	struct redis_query *query = context;
	struct problem why;
	if (query->phase == QUERY_LOGIN) {
		redis_login_answer(&query->login, reply);
	} else if (query->phase != QUERY_ASKED) {
		problem_set(&why, UNASKED);
		fail(query, OUTCOME_REFUSED, &why);
	} else if (reply->kind == REPLY_ERROR && !query->takes_errors) {
		answer_tell_error(reply->text, &why);
		fail(query, answer_classify_error(reply->text), &why);
	} else {
		query->phase = QUERY_IDLE;
		loop_stop_timer(query->loop, &query->deadline);
		query->events->answered(query->context, reply);
	}
}

static void
on_failed(void *context, const struct problem *failure)
{
	struct redis_query *query = context;
	enum outcome outcome = OUTCOME_UNREACHABLE;
	struct problem why = *failure;
	if (query->phase == QUERY_CONNECTING)
		outcome = redis_login_judge(&query->login, failure);
	else if (query->phase == QUERY_LOGIN)
		outcome = redis_login_explain_failure(&query->login, failure, &why);
	else if (query->phase == QUERY_ASKED)
		outcome = OUTCOME_UNKNOWN;
	fail(query, outcome, &why);
}

void
redis_query_init(struct redis_query *query, struct loop *loop, const struct url *url,
    struct secret_source *secret, const struct redis_query_events *events, void *context)
{
	static const struct link_events link_events = {
	    .opened = on_opened,
	    .answered = on_answer,
	    .failed = on_failed,
	};
	query->loop = loop;
	query->events = events;
	query->context = context;
	query->deadline = (struct timer){.due = on_deadline, .context = query};
	query->phase = QUERY_CLOSED;
	query->takes_errors = false;
	link_init(&query->link, loop, url, &link_events, query);
	query->login = (struct redis_login){
	    .link = &query->link,
	    .url = url,
	    .secret = secret,
	    .done = on_logged_in,
	    .failed = on_login_failed,
	    .context = query,
	};
}

void
redis_query_open(struct redis_query *query, int64_t limit_ns)
{
	query->opening_at = clock_now();
	struct instant limit = instant_plus(query->opening_at, limit_ns);
	query->phase = QUERY_CONNECTING;
	loop_set_timer(query->loop, &query->deadline, limit);
	link_open(&query->link, limit, false);
}

void
redis_query_command(struct redis_query *query, size_t word_count, const char *const *words,
    int64_t limit_ns)
{
	struct problem why;
	if (link_has_unread(&query->link)) {
		problem_set(&why, UNASKED);
		fail(query, OUTCOME_REFUSED, &why);
		return;
	}
	query->phase = QUERY_ASKED;
	loop_set_timer(query->loop, &query->deadline, instant_plus(clock_now(), limit_ns));
	link_append(&query->link, (int)word_count, words);
	if (!link_flush(&query->link)) {
		problem_set_errno(&why, "cannot write a request", ENOMEM);
		fail(query, OUTCOME_UNREACHABLE, &why);
	}
}

void
redis_query_ask(struct redis_query *query, enum redis_query_script script, size_t key_count,
    size_t word_count, const char *const *words, int64_t limit_ns)
{
	static const char *const scripts[] = {
	    [QUERY_STATUS] = lua_status,
	    [QUERY_LIST] = lua_list,
	    [QUERY_SURVEY] = lua_survey,
	    [QUERY_BREAK] = lua_break,
	    [QUERY_CHECK] = lua_check,
	};
	const char *argv[3 + QUERY_MAX_WORDS] = {"EVAL", scripts[script]};
	char count[24];
	snprintf(count, sizeof count, "%zu", key_count);
	argv[2] = count;
	memcpy(argv + 3, words, word_count * sizeof *words);
	redis_query_command(query, word_count + 3, argv, limit_ns);
}

void
redis_query_listen(struct redis_query *query, int64_t limit_ns)
{
	query->phase = QUERY_ASKED;
	loop_set_timer(query->loop, &query->deadline, instant_plus(clock_now(), limit_ns));
}

int64_t
redis_query_not_after_us(const struct redis_query *query, int64_t limit_ns)
{
	return query->clock_us +
	    (instant_between(query->clock_at, clock_now()) + limit_ns) / NS_PER_US;
}

void
redis_query_free(struct redis_query *query)
{
	redis_query_close(query);
	link_free(&query->link);
}
