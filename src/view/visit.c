/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "view/visit.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/message.h"
#include "exits.h"
#include "store/cluster.h"
#include "store/cluster_map.h"

static void
on_ready(void *context)
{
	struct visit *visit = context;
	visit->outcome = OUTCOME_OK;
	visit->is_over = true;
}

static void
on_answered(void *context, const struct reply *reply)
{
	struct visit *visit = context;
	visit->is_over = true;
	visit->outcome = OUTCOME_OK;
	if (visit->take(visit->context, reply))
		return;
	visit->outcome = OUTCOME_UNKNOWN;
	problem_set(&visit->problem, "the server's answer makes no sense");
}

static void
on_failed(void *context, enum outcome outcome, const struct problem *why)
{
	struct visit *visit = context;
	visit->is_over = true;
	visit->outcome = outcome;
	visit->problem = *why;
}

/* A helper that is asked for a password ends what it has started when this process has ended. */
void
visit_die(struct visit *visit, int number)
{
	redis_query_close(&visit->query);
	signals_die_of(number);
}

static void
on_signals(void *context, short revents)
{
	struct visit *visit = context;
	int number, code, sender;
	(void)revents;
	while (signals_read(visit->settings->signals, &number, &code, &sender)) {
		if (!signals_ends_waiter(number))
			continue;
		if (visit->leave == NULL || visit->leave(visit->leave_context, number))
			visit_die(visit, number);
	}
}

static bool
wait_for_end(struct visit *visit)
{
	while (!visit->is_over) {
		if (loop_run_once(visit->settings->loop) == 0)
			continue;
		problem_set_errno(&visit->problem, "cannot wait", errno);
		visit->problem.is_system = true;
		visit->outcome = OUTCOME_UNKNOWN;
		return false;
	}
	return visit->outcome == OUTCOME_OK;
}

void
visit_start(struct visit *visit, const struct view_settings *settings)
{
	static const struct redis_query_events events = {
	    .ready = on_ready,
	    .answered = on_answered,
	    .failed = on_failed,
	};
	visit->settings = settings;
	visit->is_over = false;
	visit->leave = NULL;
	visit->signals = (struct watch){.fd = settings->signals->fd,
	    .events = POLLIN,
	    .ready = on_signals,
	    .context = visit};
	loop_watch(settings->loop, &visit->signals);
	redis_query_init(&visit->query, settings->loop, settings->url, settings->route,
	    settings->secret, &events, visit);
	redis_query_open(&visit->query, settings->connect_limit_ns);
}

bool
visit_arrive(struct visit *visit)
{
	return wait_for_end(visit);
}

void
visit_aim(struct visit *visit, const char *key)
{
	if (visit->settings->url->scheme == URL_CLUSTER)
		cluster_aim(visit->settings->route, key);
}

static bool
take_any(void *context, const struct reply *reply)
{
	(void)context;
	(void)reply;
	return true;
}

bool
visit_settle(struct visit *visit, const char *key)
{
	const char *const words[] = {"EXISTS", key};
	if (visit->settings->url->scheme != URL_CLUSTER)
		return true;
	visit_aim(visit, key);
	return visit_command(visit, 2, words, take_any, NULL);
}

bool
visit_move(struct visit *visit, const struct url_place *place)
{
	redis_query_close(&visit->query);
	visit->is_over = false;
	cluster_aim_at(visit->settings->route, place);
	redis_query_open(&visit->query, visit->settings->connect_limit_ns);
	if (!wait_for_end(visit))
		return false;
	if (cluster_map_same(&visit->query.link.place, place))
		return true;
	/* Another node is no substitute. */
	char node[URL_PLACE_TEXT];
	url_print_place(place, node, sizeof node);
	visit->outcome = visit->query.detour_outcome;
	visit->problem = visit->query.detour;
	problem_set(&visit->problem, "%.128s: %.300s", node, visit->query.detour.text);
	return false;
}

bool
visit_begin(struct visit *visit, const struct view_settings *settings)
{
	visit_start(visit, settings);
	return visit_arrive(visit);
}

bool
visit_ask(struct visit *visit, const struct question *question,
    bool (*take)(void *context, const struct reply *reply), void *context)
{
	visit->is_over = false;
	visit->take = take;
	visit->context = context;
	redis_query_ask(&visit->query, question->script, question->key_count, question->word_count,
	    question->words, visit->settings->answer_limit_ns);
	return wait_for_end(visit);
}

bool
visit_command(struct visit *visit, size_t word_count, const char *const *words,
    bool (*take)(void *context, const struct reply *reply), void *context)
{
	visit->is_over = false;
	visit->take = take;
	visit->context = context;
	redis_query_command(&visit->query, word_count, words, visit->settings->answer_limit_ns);
	return wait_for_end(visit);
}

void
visit_listen(struct visit *visit, bool (*take)(void *context, const struct reply *reply),
    void *context)
{
	visit->is_over = false;
	visit->take = take;
	visit->context = context;
	redis_query_listen(&visit->query, visit->settings->answer_limit_ns);
}

bool
visit_hear(struct visit *visit)
{
	return wait_for_end(visit);
}

int
visit_explain(const struct visit *visit, const char *action)
{
	return visit_explain_failure(visit->settings, action, visit->outcome, &visit->problem);
}

int
visit_explain_failure(const struct view_settings *settings, const char *action,
    enum outcome outcome, const struct problem *problem)
{
	message_error("cannot %s at %s: %s", action, settings->server, problem->text);
	if (outcome == OUTCOME_DENIED)
		return EXIT_DENIED;
	if (problem->is_setting)
		return EXIT_CONFIG;
	return problem->is_system ? EXIT_SYSTEM : EXIT_UNREACHABLE;
}

void
visit_end(struct visit *visit)
{
	redis_query_free(&visit->query);
	loop_unwatch(visit->settings->loop, &visit->signals);
}

int
visit_print(const struct view_settings *settings, const struct text *text)
{
	const char *at = text->bytes;
	size_t left = text->used;
	if (text->failed) {
		message_error("cannot make the report: %s", strerror(ENOMEM));
		return EXIT_SYSTEM;
	}
	signals_restore(settings->signals);
	while (left > 0) {
		ssize_t written = write(STDOUT_FILENO, at, left);
		if (written < 0 && errno == EAGAIN) {
			struct pollfd room = {.fd = STDOUT_FILENO, .events = POLLOUT};
			poll(&room, 1, -1);
		} else if (written < 0 && errno != EINTR) {
			message_error("cannot write to stdout: %s", strerror(errno));
			return EXIT_SYSTEM;
		} else if (written > 0) {
			at += written;
			left -= (size_t)written;
		}
	}
	return 0;
}
