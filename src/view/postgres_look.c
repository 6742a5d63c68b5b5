/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "view/postgres_look.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/keys.h"

/* What a session of ours is idle at most. */
#define LOOK_TTL_MS 30000

/* -- one thing after the other ----------------------------------------------------------------- */

static void
on_ready(void *context)
{
	struct postgres_look *look = context;
	look->outcome = OUTCOME_OK;
	look->is_over = true;
}

static void
on_answered(void *context, const struct pq_answer *answer)
{
	struct postgres_look *look = context;
	look->is_over = true;
	look->outcome = OUTCOME_OK;
	if (answer->sqlstate[0] != '\0') {
		look->outcome = postgres_session_judge(answer, &look->problem);
	} else if (look->take != NULL && !look->take(look->context, answer)) {
		look->outcome = OUTCOME_UNKNOWN;
		problem_set(&look->problem, "the server's answer makes no sense");
	}
}

static void
on_failed(void *context, enum outcome outcome, const struct problem *why)
{
	struct postgres_look *look = context;
	look->is_over = true;
	look->outcome = outcome;
	look->problem = *why;
}

static void
on_signals(void *context, short revents)
{
	struct postgres_look *look = context;
	int number, code, sender;
	(void)revents;
	while (signals_read(look->settings->signals, &number, &code, &sender)) {
		if (!signals_ends_waiter(number))
			continue;
		postgres_session_close(&look->session);
		signals_die_of(number);
	}
}

static void
on_late(void *context, struct instant now)
{
	struct postgres_look *look = context;
	(void)now;
	postgres_session_close(&look->session);
	look->is_over = true;
	look->outcome = OUTCOME_UNKNOWN;
	problem_set(&look->problem, "no answer in time");
}

static bool
run(struct postgres_look *look)
{
	while (!look->is_over) {
		if (loop_run_once(look->settings->loop) != 0) {
			problem_set_errno(&look->problem, "cannot wait", errno);
			look->problem.is_system = true;
			look->outcome = OUTCOME_UNKNOWN;
			return false;
		}
	}
	return look->outcome == OUTCOME_OK;
}

bool
postgres_look_begin(struct postgres_look *look, const struct view_settings *settings)
{
	static const struct postgres_session_events events = {
	    .ready = on_ready,
	    .answered = on_answered,
	    .failed = on_failed,
	};
	look->settings = settings;
	look->is_over = false;
	postgres_session_init(&look->session, settings->loop, settings->url, settings->secret,
	    "dlock", LOOK_TTL_MS, &events, look);
	look->signals = (struct watch){.fd = settings->signals->fd,
	    .events = POLLIN,
	    .ready = on_signals,
	    .context = look};
	loop_watch(settings->loop, &look->signals);
	postgres_session_open(&look->session, settings->connect_limit_ns);
	return run(look);
}

bool
postgres_look_ask(struct postgres_look *look, const char *statement,
    bool (*take)(void *context, const struct pq_answer *answer), void *context)
{
	struct timer limit = {.due = on_late, .context = look};
	look->is_over = false;
	look->take = take;
	look->context = context;
	loop_set_timer(look->settings->loop, &limit,
	    instant_plus(clock_now(), look->settings->answer_limit_ns));
	postgres_session_ask(&look->session, statement);
	bool is_good = run(look);
	loop_stop_timer(look->settings->loop, &limit);
	return is_good;
}

void
postgres_look_end(struct postgres_look *look)
{
	postgres_session_close(&look->session);
	loop_unwatch(look->settings->loop, &look->signals);
	free(look->rows);
	look->rows = NULL;
	look->count = 0;
}

/* -- rows -------------------------------------------------------------------------------------- */

enum column {
	ROW_BACKEND,
	ROW_NUMBER,
	ROW_EXCLUSIVE,
	ROW_QUERY,
	ROW_APPLICATION,
	ROW_USER,
	ROW_SINCE,
	ROW_BEGAN,
	ROW_NOW,
};

static const char select_rows[] =
    "SELECT l.pid, l.classid::bigint << 32 | l.objid::bigint, l.mode = 'ExclusiveLock', a.query, "
    "a.application_name, a.usename, (extract(epoch FROM a.query_start) * 1000000)::bigint, "
    "(extract(epoch FROM a.backend_start) * 1000000)::bigint, "
    "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint "
    "FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid WHERE l.locktype = 'advisory' "
    "AND l.objsubid = 1 AND l.granted AND l.database = (SELECT oid FROM pg_database WHERE datname "
    "= current_database()) ORDER BY a.backend_start, l.pid";

static void
read_row(struct postgres_row *row, const struct pq_answer *answer, int at)
{
	char token[TOKEN_SIZE];
	const char *application = pq_answer_text(answer, at, ROW_APPLICATION);
	const char *user = pq_answer_text(answer, at, ROW_USER);
	memset(row, 0, sizeof *row);
	postgres_read_number(pq_answer_text(answer, at, ROW_BACKEND), &row->backend);
	postgres_read_number(pq_answer_text(answer, at, ROW_NUMBER), &row->number);
	row->is_exclusive = strcmp(pq_answer_text(answer, at, ROW_EXCLUSIVE), "t") == 0;
	snprintf(row->user, sizeof row->user, "%s", user);
	postgres_read_number(pq_answer_text(answer, at, ROW_SINCE), &row->since_us);
	postgres_read_number(pq_answer_text(answer, at, ROW_BEGAN), &row->began_us);
	row->is_known = postgres_read_comment(pq_answer_text(answer, at, ROW_QUERY), &row->identity,
	    token, row->key);
	if (row->is_known) {
		struct identity shown;
		snprintf(row->token, sizeof row->token, "%s", token);
		if (row->identity.since_us > 0)
			row->since_us = row->identity.since_us;
		/* The fence of who has only just got it stands nowhere else. */
		if (row->identity.fence[0] == '\0' &&
		    postgres_read_application(application, &shown))
			memcpy(row->identity.fence, shown.fence, sizeof shown.fence);
		return;
	}
	row->is_known = postgres_read_application(application, &row->identity);
	snprintf(row->identity.user, sizeof row->identity.user, "%s", user);
	snprintf(row->token, sizeof row->token, "%.64s, backend %lld",
	    application[0] != '\0' ? application : user, (long long)row->backend);
}

static bool
take_rows(void *context, const struct pq_answer *answer)
{
	struct postgres_look *look = context;
	size_t count = answer->rows > 0 ? (size_t)answer->rows : 0;
	struct postgres_row *rows = realloc(look->rows, (count + 1) * sizeof *rows);
	if (rows == NULL) {
		problem_set_errno(&look->problem, NULL, ENOMEM);
		return false;
	}
	look->rows = rows;
	look->count = count;
	for (size_t i = 0; i < count; i++)
		read_row(&rows[i], answer, (int)i);
	postgres_read_number(pq_answer_text(answer, 0, ROW_NOW), &look->now_us);
	return true;
}

bool
postgres_look_read(struct postgres_look *look)
{
	look->now_us = 0;
	return postgres_look_ask(look, select_rows, take_rows, look);
}

/* -- sights ------------------------------------------------------------------------------------ */

/* Which slot that session has; -1: none. */
static int
find_slot(const struct postgres_look *look, const struct postgres_numbers *numbers, int64_t backend)
{
	for (size_t i = 0; i < look->count; i++) {
		int64_t number = look->rows[i].number;
		if (look->rows[i].backend == backend && look->rows[i].is_exclusive &&
		    (number & ~(int64_t)(POSTGRES_SLOTS - 1)) == numbers->slot)
			return (int)(number & (POSTGRES_SLOTS - 1));
	}
	return -1;
}

static bool
add_party(struct sight *sight, const struct postgres_row *row, bool is_waiting)
{
	struct party *party = sight_add_party(sight);
	if (party == NULL)
		return false;
	party->role = is_waiting ? PARTY_WAITING : row->is_known ? PARTY_HOLDING : PARTY_FOREIGN;
	party->known = row->is_known;
	party->identity = row->identity;
	snprintf(party->token, sizeof party->token, "%s", row->token);
	party->since_us = is_waiting ? row->began_us : row->since_us;
	return true;
}

static void
name_state(struct sight *sight, const struct postgres_row *row)
{
	int slots = 0;
	bool has_slots = sscanf(row->identity.mode, "slots:%d", &slots) == 1;
	sight->slots = has_slots ? slots : 0;
	if (!row->is_known)
		sight->state = SIGHT_FOREIGN;
	else if (row->is_exclusive)
		sight->state = SIGHT_HELD;
	else
		sight->state = has_slots ? SIGHT_SLOTS : SIGHT_SHARED;
	snprintf(sight->value, sizeof sight->value, "%s", row->token);
	snprintf(sight->type, sizeof sight->type, "string");
}

bool
postgres_look_at(const struct postgres_look *look, const char *name, const char *key,
    struct sight *sight)
{
	struct postgres_numbers numbers;
	postgres_numbers_make(&numbers, look->settings->url, key, 0);
	sight_begin(sight, name, key);
	sight->by_session = true;
	sight->now_us = look->now_us;
	snprintf(sight->type, sizeof sight->type, "none");
	for (size_t i = 0; i < look->count; i++) {
		const struct postgres_row *row = &look->rows[i];
		if (row->number != numbers.lock)
			continue;
		/* What a dlock says of it counts more than what a foreign session does not. */
		if (sight->holders == 0 || (row->is_known && sight->state == SIGHT_FOREIGN))
			name_state(sight, row);
		if (!add_party(sight, row, false))
			return false;
		sight->parties[sight->count - 1].slot = find_slot(look, &numbers, row->backend);
		sight->holders++;
	}
	for (size_t i = 0; i < look->count; i++) {
		if (look->rows[i].number == numbers.line && !add_party(sight, &look->rows[i], true))
			return false;
	}
	sight->held = (int64_t)sight->holders;
	sight->waiting = (int64_t)(sight->count - sight->holders);
	return true;
}
