/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/postgres_session_parts.h"

#define VERSION_LEAST 140000

enum check_column {
	CHECK_BACKEND,
	CHECK_RECOVERY,
	CHECK_READ_ONLY,
};

/* -- ends ------------------------------------------------------------------------------------- */

static void
end_login(struct postgres_session *session)
{
	loop_stop_timer(session->loop, &session->deadline);
	session->password = NULL;
	if (session->secret != NULL)
		session->secret->operations->cancel(session->secret);
	if (session->probe.loop != NULL)
		pq_link_close(&session->probe);
}

void
postgres_session_close(struct postgres_session *session)
{
	end_login(session);
	pq_link_close(&session->link);
	session->phase = SESSION_CLOSED;
}

void
postgres_session_forget(struct postgres_session *session)
{
	if (session->secret != NULL)
		session->secret->operations->forget(session->secret);
	pq_link_forget(&session->link);
	session->phase = SESSION_CLOSED;
}

void
postgres_session_fail(struct postgres_session *session, enum outcome outcome,
    const struct problem *why)
{
	struct problem copy = *why;
	postgres_session_close(session);
	session->events->failed(session->context, outcome, &copy);
}

static void
on_deadline(void *context, struct instant now)
{
	struct postgres_session *session = context;
	enum outcome outcome = OUTCOME_UNREACHABLE;
	struct problem why;
	(void)now;
	switch (session->phase) {
	case SESSION_PASSWORD:
		problem_set(&why, "the password was not had in time");
		why.is_setting = true;
		outcome = OUTCOME_REFUSED;
		break;
	case SESSION_PROBING:
	case SESSION_DISMISSING:
		postgres_pooler_end_time(session);
		return;
	case SESSION_CLOSED:
	case SESSION_CONNECTING:
		pq_link_explain_delay(&session->link, &why);
		break;
	case SESSION_CHECKING:
	case SESSION_LISTENING:
	case SESSION_LEAVING:
	case SESSION_SETTING:
	case SESSION_READY:
	case SESSION_ASKED:
		problem_set(&why, "no answer to the login in time");
		break;
	}
	postgres_session_fail(session, outcome, &why);
}

/* -- errors ----------------------------------------------------------------------------------- */

enum outcome
postgres_session_judge(const struct pq_answer *answer, struct problem *why)
{
	const char *state = answer->sqlstate;
	*why = answer->problem;
	if (strcmp(state, "42501") == 0 || strncmp(state, "28", 2) == 0)
		return OUTCOME_DENIED;
	/* Out of memory or of room for locks, shutting down, cancelled, ... */
	why->is_passing = strncmp(state, "53", 2) == 0 || strncmp(state, "57", 2) == 0;
	return OUTCOME_REFUSED;
}

/* -- login ------------------------------------------------------------------------------------ */

static void
become_ready(struct postgres_session *session)
{
	end_login(session);
	session->phase = SESSION_READY;
	session->for_good = false;
	session->events->ready(session->context);
}

/* What of the server's settings would hurt is set, before it is used: other schemas' functions and
 * operators of the same names; commits that are not on disk; compiling statements, which takes
 * longer than a lease may wait. A dead client, or a dead way to it, is found out by TCP; and one
 * that only does not say anything by idle_session_timeout, which is what ends a lease. */
static void
write_settings(const struct postgres_session *session, char *out, size_t size)
{
	int64_t third_s = session->ttl_ms / 3000 > 0 ? session->ttl_ms / 3000 : 1;
	snprintf(out, size,
	    "ARRAY[pg_catalog.set_config('search_path', 'pg_catalog', false), "
	    "pg_catalog.set_config('synchronous_commit', CASE WHEN "
	    "pg_catalog.current_setting('synchronous_commit') OPERATOR(pg_catalog.=) "
	    "'remote_apply' THEN 'remote_apply' ELSE 'on' END, false), "
	    "pg_catalog.set_config('jit', 'off', false), "
	    "pg_catalog.set_config('statement_timeout', '0', false), "
	    "pg_catalog.set_config('lock_timeout', '0', false), "
	    "pg_catalog.set_config('idle_session_timeout', '%d', false), "
	    "pg_catalog.set_config('tcp_user_timeout', '%" PRId64 "', false), "
	    "pg_catalog.set_config('tcp_keepalives_idle', '%" PRId64 "', false), "
	    "pg_catalog.set_config('tcp_keepalives_interval', '%" PRId64 "', false), "
	    "pg_catalog.set_config('tcp_keepalives_count', '3', false)]",
	    POSTGRES_WAITER_IDLE_MS,
	    session->ttl_ms < POSTGRES_MS_MOST ? session->ttl_ms : POSTGRES_MS_MOST,
	    third_s < 32767 ? third_s : 32767, third_s < 32767 ? third_s : 32767);
}

/* Only in a session that is ours: one that a pooler shares would be handed to others so. */
static void
on_opened(void *context)
{
	struct postgres_session *session = context;
	const struct pq_library *library = session->link.library;
	char settings[1536], statement[2048];
	int version = library->PQserverVersion(session->link.connection);
	if (version > 0 && version < VERSION_LEAST) {
		struct problem why;
		problem_set(&why, "it is PostgreSQL %d: 14 or newer is needed", version / 10000);
		session->for_good = true;
		pq_link_try_next(&session->link, &why);
		return;
	}
	write_settings(session, settings, sizeof settings);
	snprintf(statement, sizeof statement,
	    "SELECT pg_catalog.pg_backend_pid(), pg_catalog.pg_is_in_recovery(), "
	    "pg_catalog.current_setting('transaction_read_only'), "
	    "CASE WHEN pg_catalog.pg_backend_pid() OPERATOR(pg_catalog.=) %d THEN %s END",
	    library->PQbackendPID(session->link.connection), settings);
	session->phase = SESSION_CHECKING;
	pq_link_ask(&session->link, statement);
}

void
postgres_session_set_up(struct postgres_session *session)
{
	char settings[1536], statement[2048];
	write_settings(session, settings, sizeof settings);
	snprintf(statement, sizeof statement, "SELECT pg_catalog.pg_backend_pid(), %s", settings);
	session->phase = SESSION_SETTING;
	pq_link_ask(&session->link, statement);
}

static void
take_settings(struct postgres_session *session, const struct pq_answer *answer)
{
	struct problem why;
	enum outcome outcome = OUTCOME_REFUSED;
	if (strtoll(pq_answer_text(answer, 0, CHECK_BACKEND), NULL, 10) == session->backend) {
		become_ready(session);
		return;
	}
	problem_set(&why, "a connection pooler has changed the session between two statements");
	if (answer->sqlstate[0] != '\0')
		outcome = postgres_session_judge(answer, &why);
	postgres_session_fail(session, outcome, &why);
}

static void
take_check(struct postgres_session *session, const struct pq_answer *answer)
{
	struct problem why;
	bool is_standby = strcmp(pq_answer_text(answer, 0, CHECK_RECOVERY), "t") == 0;
	bool is_read_only = strcmp(pq_answer_text(answer, 0, CHECK_READ_ONLY), "on") == 0;
	session->backend = strtoll(pq_answer_text(answer, 0, CHECK_BACKEND), NULL, 10);
	session->phase = SESSION_CONNECTING;
	if (answer->sqlstate[0] != '\0') {
		enum outcome outcome = postgres_session_judge(answer, &why);
		why.is_denied = outcome == OUTCOME_DENIED;
		pq_link_try_next(&session->link, &why);
	} else if (is_standby || is_read_only) {
		problem_set(&why,
		    is_standby
			? "it is a standby, which gives no locks to all: name the primary, or "
			  "all hosts (postgresql://one,other/)"
			: "it is read-only: a lock needs a server that can be written to");
		why.is_passing = true;
		pq_link_try_next(&session->link, &why);
	} else if (session->backend ==
	    session->link.library->PQbackendPID(session->link.connection)) {
		become_ready(session);
	} else {
		postgres_pooler_begin(session);
	}
}

static void
on_answered(void *context, const struct pq_answer *answer)
{
	struct postgres_session *session = context;
	switch (session->phase) {
	case SESSION_CHECKING:
		take_check(session, answer);
		break;
	case SESSION_LISTENING:
	case SESSION_LEAVING:
	case SESSION_DISMISSING:
		postgres_pooler_answered(session, answer);
		break;
	case SESSION_SETTING:
		take_settings(session, answer);
		break;
	case SESSION_ASKED:
		session->phase = SESSION_READY;
		session->events->answered(session->context, answer);
		break;
	case SESSION_PROBING: /* nothing is asked in these */
	case SESSION_CLOSED:
	case SESSION_PASSWORD:
	case SESSION_CONNECTING:
	case SESSION_READY:
		break;
	}
}

static void
on_notified(void *context, const char *channel, const char *payload)
{
	struct postgres_session *session = context;
	if (session->phase == SESSION_PROBING)
		postgres_pooler_notified(session, channel);
	else if (session->events->notified != NULL && session->phase >= SESSION_READY)
		session->events->notified(session->context, channel, payload);
}

static void
on_failed(void *context, const struct problem *why)
{
	struct postgres_session *session = context;
	bool is_login = session->phase < SESSION_READY;
	enum outcome outcome = OUTCOME_UNREACHABLE;
	if (session->phase == SESSION_ASKED)
		outcome = OUTCOME_UNKNOWN;
	else if (is_login && why->is_denied)
		outcome = OUTCOME_DENIED;
	else if (is_login && session->link.spoke)
		outcome = OUTCOME_REFUSED;
	postgres_session_fail(session, outcome, why);
}

static void
on_told(void *context, const char *secret, const struct problem *why)
{
	struct postgres_session *session = context;
	if (secret == NULL) {
		postgres_session_fail(session,
		    why->is_system ? OUTCOME_UNREACHABLE : OUTCOME_REFUSED, why);
		return;
	}
	session->password = secret;
	session->phase = SESSION_CONNECTING;
	pq_link_open(&session->link, session->until, secret);
}

void
postgres_session_open(struct postgres_session *session, int64_t limit_ns)
{
	postgres_session_close(session);
	session->for_good = false;
	session->until = instant_plus(clock_now(), limit_ns);
	session->deadline = (struct timer){.due = on_deadline, .context = session};
	loop_set_timer(session->loop, &session->deadline, session->until);
	if (session->secret == NULL) {
		session->phase = SESSION_CONNECTING;
		pq_link_open(&session->link, session->until, NULL);
		return;
	}
	session->phase = SESSION_PASSWORD;
	session->secret->told = on_told;
	session->secret->context = session;
	session->secret->operations->ask(session->secret);
}

void
postgres_session_ask(struct postgres_session *session, const char *statement)
{
	session->phase = SESSION_ASKED;
	session->asked_at = clock_now();
	pq_link_ask(&session->link, statement);
}

void
postgres_session_init(struct postgres_session *session, struct loop *loop, const struct url *url,
    struct secret_source *secret, const char *application, int64_t ttl_ms,
    const struct postgres_session_events *events, void *context)
{
	static const struct pq_link_events link_events = {
	    .opened = on_opened,
	    .answered = on_answered,
	    .notified = on_notified,
	    .failed = on_failed,
	};
	memset(session, 0, sizeof *session);
	session->loop = loop;
	session->url = url;
	session->secret = secret;
	session->ttl_ms = ttl_ms;
	session->events = events;
	session->context = context;
	pq_link_init(&session->link, loop, url, application, &link_events, session);
}
