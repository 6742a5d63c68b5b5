/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include <stdio.h>
#include <string.h>

#include "base/identity.h"
#include "store/postgres_session_parts.h"

/* From when the message was sent: it comes at once, or never. A slow login leaves it a part of
 * that. */
#define PROBE_LIMIT NS_PER_S
#define PROBE_LEAST (250 * NS_PER_MS)

static void
refuse_shared(struct postgres_session *session)
{
	struct problem why;
	problem_set(&why,
	    "there is a connection pooler which shares sessions between clients (as pgbouncer does "
	    "with pool_mode=transaction): a lock belongs to its session, and would be left to "
	    "whoever comes next; name the server itself, or a pool with pool_mode=session");
	session->for_good = true;
	postgres_session_fail(session, OUTCOME_REFUSED, &why);
}

static void
fail_unknown(struct postgres_session *session, enum outcome outcome, const char *why)
{
	struct problem told;
	problem_set(&told,
	    "there is a connection pooler, and whether it keeps sessions apart cannot be found out "
	    "without a second connection: %.300s",
	    why);
	postgres_session_fail(session, outcome, &told);
}

/* -- the second connection -------------------------------------------------------------------- */

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
	if (answer->sqlstate[0] != '\0') {
		fail_unknown(session, OUTCOME_REFUSED, answer->problem.text);
		return;
	}
	pq_link_close(&session->probe);
	session->is_sent = true;
	struct instant now = clock_now();
	struct instant end = instant_earlier(session->until, instant_plus(now, PROBE_LIMIT));
	struct instant soonest = instant_plus(now, PROBE_LEAST);
	loop_set_timer(session->loop, &session->deadline, end.ns > soonest.ns ? end : soonest);
}

static void
on_probe_failed(void *context, const struct problem *why)
{
	fail_unknown(context, why->is_denied ? OUTCOME_DENIED : OUTCOME_REFUSED, why->text);
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
	session->is_sent = false;
	session->phase = SESSION_PROBING;
	pq_link_open(&session->probe, session->until, session->password);
}

/* -- the session ------------------------------------------------------------------------------ */

void
postgres_pooler_begin(struct postgres_session *session)
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

static void
stop_listening(struct postgres_session *session, enum postgres_session_phase phase)
{
	char statement[160];
	pq_link_close(&session->probe);
	loop_set_timer(session->loop, &session->deadline, session->until);
	snprintf(statement, sizeof statement, "UNLISTEN %s", session->channel);
	session->phase = phase;
	pq_link_ask(&session->link, statement);
}

void
postgres_pooler_answered(struct postgres_session *session, const struct pq_answer *answer)
{
	struct problem why;
	if (session->phase == SESSION_DISMISSING)
		refuse_shared(session);
	else if (answer->sqlstate[0] != '\0')
		postgres_session_fail(session, postgres_session_judge(answer, &why), &why);
	else if (session->phase == SESSION_LISTENING)
		begin_probe(session);
	else
		postgres_session_set_up(session);
}

void
postgres_pooler_notified(struct postgres_session *session, const char *channel)
{
	if (strcmp(channel, session->channel) == 0)
		stop_listening(session, SESSION_LEAVING);
}

/* A session of a pool that has been told to listen is told to stop, if it is still there. */
void
postgres_pooler_end_time(struct postgres_session *session)
{
	struct problem why;
	if (session->phase == SESSION_PROBING && !session->is_sent) {
		pq_link_explain_delay(&session->probe, &why);
		fail_unknown(session, OUTCOME_REFUSED, why.text);
	} else if (session->phase == SESSION_PROBING &&
	    !instant_reached(session->until, clock_now())) {
		stop_listening(session, SESSION_DISMISSING);
	} else {
		refuse_shared(session);
	}
}
