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
	if (query->route != NULL)
		route_cancel(query->route, &query->asker);
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

/* -- where the server is ---------------------------------------------------------------------- */

static void
connect_to_server(struct redis_query *query)
{
	query->phase = QUERY_CONNECTING;
	link_open(&query->link, query->connect_until, false);
}

static void
on_found(void *context, const struct url_place *place)
{
	struct redis_query *query = context;
	link_aim(&query->link, place);
	connect_to_server(query);
}

static void
on_not_found(void *context, enum outcome outcome, const struct problem *why)
{
	fail(context, outcome, why);
}

static void
look_for_server(struct redis_query *query)
{
	if (query->route == NULL) {
		connect_to_server(query);
		return;
	}
	query->phase = QUERY_FINDING;
	route_find(query->route, &query->asker);
}

/* No connection, or no login, at the place that was found: is there another way? */
static void
fail_there(struct redis_query *query, enum outcome outcome, const struct problem *why)
{
	bool before_asking = query->phase == QUERY_CONNECTING || query->phase == QUERY_LOGIN;
	if (query->route == NULL || !before_asking || outcome == OUTCOME_DENIED ||
	    why->is_setting || why->is_system) {
		fail(query, outcome, why);
		return;
	}
	query->detour = *why;
	query->detour_outcome = outcome;
	redis_login_end(&query->login);
	link_close(&query->link);
	route_fail(query->route, &query->detour);
	look_for_server(query);
}

static void
explain_search(const struct redis_query *query, enum outcome *outcome, struct problem *why)
{
	if (query->detour.text[0] == '\0') {
		route_explain_delay(query->route, why);
		return;
	}
	char place[URL_PLACE_TEXT];
	url_print_place(&query->link.place, place, sizeof place);
	*outcome = query->detour_outcome;
	*why = query->detour;
	problem_set(why, "%.128s: %.300s", place, query->detour.text);
}

/* -- asking, there or elsewhere --------------------------------------------------------------- */

static void
send_words(struct redis_query *query)
{
	static const char *const asking[] = {"ASKING"};
	struct problem why;
	query->phase = QUERY_ASKED;
	query->skip = 0;
	loop_set_timer(query->loop, &query->deadline,
	    instant_plus(clock_now(), query->answer_limit_ns));
	if (query->is_guest) {
		link_append(&query->link, 1, asking);
		query->skip = 1;
	}
	query->is_guest = false;
	link_append(&query->link, (int)query->word_count, query->words);
	if (!link_flush(&query->link)) {
		problem_set_errno(&why, "cannot write a request", ENOMEM);
		fail(query, OUTCOME_UNREACHABLE, &why);
	}
}

/* Has it been sent elsewhere, by who has not executed it? */
static bool
is_sent_elsewhere(struct redis_query *query, const struct reply *reply)
{
	struct problem why;
	if (reply->kind != REPLY_ERROR || query->route == NULL)
		return false;
	enum route_turn turn = route_redirect(query->route, reply->text);
	if (turn == ROUTE_STAY)
		return false;
	if (query->turns++ == ROUTE_MAX_TURNS) {
		route_explain_delay(query->route, &why);
		fail(query, OUTCOME_REFUSED, &why);
		return true;
	}
	link_close(&query->link);
	query->is_guest = turn == ROUTE_ASK;
	query->connect_until = instant_plus(clock_now(), query->connect_limit_ns);
	query->detour.text[0] = '\0';
	loop_set_timer(query->loop, &query->deadline, query->connect_until);
	look_for_server(query);
	return true;
}

/* -- time ------------------------------------------------------------------------------------- */

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
	case QUERY_FINDING:
		explain_search(query, &outcome, &why);
		break;
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
	if (query->turns > 0) {
		send_words(query);
		return;
	}
	query->phase = QUERY_IDLE;
	loop_stop_timer(query->loop, &query->deadline);
	query->events->ready(query->context);
}

static void
on_login_failed(void *context, enum outcome outcome, const struct problem *why)
{
	fail_there(context, outcome, why);
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
	} else if (query->skip > 0) {
		query->skip--;
	} else if (is_sent_elsewhere(query, reply)) {
		return;
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
	fail_there(query, outcome, &why);
}

void
redis_query_init(struct redis_query *query, struct loop *loop, const struct url *url,
    struct route *route, struct secret_source *secret, const struct redis_query_events *events,
    void *context)
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
	query->route = route;
	query->asker = (struct route_asker){
	    .found = on_found,
	    .failed = on_not_found,
	    .context = query,
	};
	link_init(&query->link, loop, url, &link_events, query);
	query->login = (struct redis_login){
	    .link = &query->link,
	    .url = url,
	    .secret = secret,
	    .wants_master = route != NULL && route->wants_master,
	    .done = on_logged_in,
	    .failed = on_login_failed,
	    .context = query,
	};
}

void
redis_query_open(struct redis_query *query, int64_t limit_ns)
{
	query->opening_at = clock_now();
	query->connect_limit_ns = limit_ns;
	query->turns = 0;
	query->skip = 0;
	query->connect_until = instant_plus(query->opening_at, limit_ns);
	query->detour.text[0] = '\0';
	loop_set_timer(query->loop, &query->deadline, query->connect_until);
	look_for_server(query);
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
	memcpy(query->words, words, word_count * sizeof *words);
	query->word_count = word_count;
	query->answer_limit_ns = limit_ns;
	query->turns = 0;
	query->is_guest = false;
	send_words(query);
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
	    [QUERY_CLUSTER] = lua_cluster,
	};
	const char *argv[3 + QUERY_MAX_WORDS] = {"EVAL", scripts[script], query->key_count};
	snprintf(query->key_count, sizeof query->key_count, "%zu", key_count);
	memcpy(argv + 3, words, word_count * sizeof *words);
	redis_query_command(query, word_count + 3, argv, limit_ns);
}

void
redis_query_listen(struct redis_query *query, int64_t limit_ns)
{
	query->phase = QUERY_ASKED;
	query->skip = 0;
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
