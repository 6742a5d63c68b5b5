/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "store/postgres_session.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/identity.h"

#define VERSION_LEAST 140000
/* From when the message was sent: it comes at once, or never. */
#define PROBE_LIMIT NS_PER_S

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

static void
fail(struct postgres_session *session, enum outcome outcome, const struct problem *why)
{
	struct problem copy = *why;
	postgres_session_close(session);
	session->events->failed(session->context, outcome, &copy);
}

static void
refuse(struct postgres_session *session, const struct problem *why)
{
	session->for_good = true;
	fail(session, OUTCOME_REFUSED, why);
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
		problem_set(&why,
		    "there is a connection pooler which shares sessions between clients (as "
		    "pgbouncer does with pool_mode=transaction): a lock belongs to its session, and "
		    "would be left to whoever comes next; name the server itself, or a pool with "
		    "pool_mode=session");
		refuse(session, &why);
		return;
	case SESSION_CLOSED:
	case SESSION_CONNECTING:
		pq_link_explain_delay(&session->link, &why);
		break;
	case SESSION_CHECKING:
	case SESSION_LISTENING:
	case SESSION_LEAVING:
	case SESSION_READY:
	case SESSION_ASKED:
		problem_set(&why, "no answer to the login in time");
		break;
	}
	fail(session, outcome, &why);
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

/* -- a pooler --------------------------------------------------------------------------------- */

static void
on_probe_opened(void *context)
{
	struct postgres_session *session = context;
	char statement[160];
	snprintf(statement, sizeof statement, "SELECT pg_catalog.pg_notify('%s', '')",
	    session->channel);
	pq_link_ask(&session->probe, statement);
}

static void
on_probe_answered(void *context, const struct pq_answer *answer)
{
	struct postgres_session *session = context;
	(void)answer;
	pq_link_close(&session->probe);
	loop_set_timer(session->loop, &session->deadline,
	    instant_earlier(session->until, instant_plus(clock_now(), PROBE_LIMIT)));
}

static void
on_probe_failed(void *context, const struct problem *why)
{
	struct postgres_session *session = context;
	struct problem told;
	problem_set(&told,
	    "there is a connection pooler, and whether it keeps sessions apart cannot be found out "
	    "without a second connection: %.300s",
	    why->text);
	fail(session, why->is_denied ? OUTCOME_DENIED : OUTCOME_REFUSED, &told);
}

static void
begin_probe(struct postgres_session *session)
{
	static const struct pq_link_events events = {
	    .opened = on_probe_opened,
	    .answered = on_probe_answered,
	    .failed = on_probe_failed,
	};
	pq_link_init(&session->probe, session->loop, session->url, session->link.application,
	    &events, session);
	session->phase = SESSION_PROBING;
	pq_link_open(&session->probe, session->until, session->password);
}

static void
listen_for_probe(struct postgres_session *session)
{
	char token[TOKEN_SIZE], statement[160];
	size_t used = (size_t)snprintf(session->channel, sizeof session->channel, "dlock_probe_");
	identity_make_token(token);
	for (const char *at = token; *at != '\0'; at++) {
		if (*at != '-')
			session->channel[used++] = *at;
	}
	session->channel[used] = '\0';
	snprintf(statement, sizeof statement, "LISTEN %s", session->channel);
	session->phase = SESSION_LISTENING;
	pq_link_ask(&session->link, statement);
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

/* What of the server's settings would hurt is set, before it is used: other schemas' functions of
 * the same names; commits that are not on disk. A dead client, or a dead way to it, is found out
 * by TCP; and one that only does not say anything by idle_session_timeout, which is what ends a
 * lease. */
static void
on_opened(void *context)
{
	struct postgres_session *session = context;
	char statement[1024];
	int version = session->link.library->PQserverVersion(session->link.connection);
	if (version > 0 && version < VERSION_LEAST) {
		struct problem why;
		problem_set(&why, "it is PostgreSQL %d: 14 or newer is needed", version / 10000);
		session->for_good = true;
		pq_link_try_next(&session->link, &why);
		return;
	}
	int64_t third_s = session->ttl_ms / 3000 > 0 ? session->ttl_ms / 3000 : 1;
	snprintf(statement, sizeof statement,
	    "SELECT pg_backend_pid(), pg_is_in_recovery(), current_setting('transaction_read_only'), "
	    "set_config('search_path', 'pg_catalog', false), "
	    "set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN "
	    "'remote_apply' THEN 'remote_apply' ELSE 'on' END, false), "
	    "set_config('statement_timeout', '0', false), set_config('lock_timeout', '0', false), "
	    "set_config('idle_session_timeout', '%d', false), "
	    "set_config('tcp_user_timeout', '%" PRId64 "', false), "
	    "set_config('tcp_keepalives_idle', '%" PRId64 "', false), "
	    "set_config('tcp_keepalives_interval', '%" PRId64 "', false), "
	    "set_config('tcp_keepalives_count', '3', false)",
	    POSTGRES_WAITER_IDLE_MS,
	    session->ttl_ms < POSTGRES_MS_MOST ? session->ttl_ms : POSTGRES_MS_MOST,
	    third_s < 32767 ? third_s : 32767, third_s < 32767 ? third_s : 32767);
	session->phase = SESSION_CHECKING;
	pq_link_ask(&session->link, statement);
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
		listen_for_probe(session);
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
		begin_probe(session);
		break;
	case SESSION_LEAVING:
		become_ready(session);
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
	char statement[160];
	if (session->phase != SESSION_PROBING) {
		if (session->events->notified != NULL && session->phase >= SESSION_READY)
			session->events->notified(session->context, channel, payload);
		return;
	}
	if (strcmp(channel, session->channel) != 0)
		return;
	pq_link_close(&session->probe);
	loop_set_timer(session->loop, &session->deadline, session->until);
	snprintf(statement, sizeof statement, "UNLISTEN %s", session->channel);
	session->phase = SESSION_LEAVING;
	pq_link_ask(&session->link, statement);
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
	fail(session, outcome, why);
}

static void
on_told(void *context, const char *secret, const struct problem *why)
{
	struct postgres_session *session = context;
	if (secret == NULL) {
		fail(session, why->is_system ? OUTCOME_UNREACHABLE : OUTCOME_REFUSED, why);
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
