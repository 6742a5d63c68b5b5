/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "store/postgres.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "store/postgres_parts.h"

/* -- reporting -------------------------------------------------------------------------------- */

static void
tell(struct postgres_store *postgres, struct store_answer *answer)
{
	answer->received_at = clock_now();
	postgres->store.events->answered(postgres->store.context, answer);
}

static void
on_soon(void *context, struct instant now)
{
	struct postgres_store *postgres = context;
	(void)now;
	if (!postgres->has_answer)
		return;
	postgres->has_answer = false;
	tell(postgres, &postgres->answer);
}

void
postgres_report(struct postgres_store *postgres, struct store_answer *answer)
{
	postgres->pending = false;
	loop_stop_timer(postgres->loop, &postgres->deadline);
	answer->sent_at = postgres->sent_at;
	if (!postgres->is_starting) {
		tell(postgres, answer);
		return;
	}
	postgres->answer = *answer;
	postgres->has_answer = true;
	loop_set_timer(postgres->loop, &postgres->soon, clock_now());
}

void
postgres_drop(struct postgres_store *postgres)
{
	postgres_session_close(&postgres->session);
	postgres_wait_end(postgres);
	postgres->asked = ASK_NOTHING;
	postgres->is_held = false;
}

static void
report_failure(struct postgres_store *postgres, enum outcome outcome, const struct problem *why)
{
	struct store_answer answer = {.outcome = outcome,
	    .problem = *why,
	    .for_good = postgres->session.for_good};
	postgres_report(postgres, &answer);
}

/* -- the session's end ------------------------------------------------------------------------ */

/* It had the lock. Of a release it may have been the answer. */
static void
end_holding(struct postgres_store *postgres, bool was_releasing, const struct problem *why)
{
	struct store_answer answer = {.outcome = OUTCOME_LOST, .ended = true, .problem = *why};
	postgres->is_ended = true;
	postgres->end = *why;
	if (was_releasing)
		answer.outcome = OUTCOME_UNKNOWN;
	if (postgres->pending)
		postgres_report(postgres, &answer);
	else
		postgres->store.events->ended(postgres->store.context, why, clock_now());
}

static void
on_failed(void *context, enum outcome outcome, const struct problem *why)
{
	struct postgres_store *postgres = context;
	bool was_held = postgres->is_held;
	enum postgres_ask asked = postgres->asked;
	if (asked == ASK_ACQUIRE)
		postgres->ghost = postgres->session.backend;
	postgres_drop(postgres);
	if (was_held) {
		end_holding(postgres, asked == ASK_RELEASE, why);
		return;
	}
	/* A waiter's LISTEN takes no lock. */
	if (outcome == OUTCOME_UNKNOWN && (asked == ASK_LISTEN || asked == ASK_BURY))
		outcome = OUTCOME_UNREACHABLE;
	if (postgres->pending)
		report_failure(postgres, outcome, why);
	else
		postgres->store.events->disturbed(postgres->store.context, clock_now());
}

/* -- time ------------------------------------------------------------------------------------- */

/* A renewal stays under way: the session is as good as it was, and its answer may still come. */
static void
on_deadline(void *context, struct instant now)
{
	struct postgres_store *postgres = context;
	struct problem why;
	(void)now;
	if (!postgres->pending)
		return;
	problem_set(&why, "no answer in time");
	if (postgres->request.verb == STORE_RELEASE) {
		postgres->is_blind = postgres->is_held;
		postgres_drop(postgres);
	} else if (!postgres->is_held) {
		if (postgres->asked == ASK_ACQUIRE)
			postgres->ghost = postgres->session.backend;
		postgres_drop(postgres);
	}
	report_failure(postgres, OUTCOME_UNKNOWN, &why);
}

/* -- requests --------------------------------------------------------------------------------- */

static void
on_ready(void *context)
{
	struct postgres_store *postgres = context;
	if (!postgres->pending)
		return;
	if (postgres->ghost != 0)
		postgres_bury_ghost(postgres);
	else if (postgres->request.verb == STORE_ACQUIRE)
		postgres_send(postgres);
}

static void
on_answered(void *context, const struct pq_answer *answer)
{
	postgres_take_answer(context, answer);
}

static void
on_notified(void *context, const char *channel, const char *payload)
{
	struct postgres_store *postgres = context;
	if (strcmp(channel, postgres->numbers.channel) == 0)
		postgres_wait_notified(postgres, payload);
}

static void
open_session(struct postgres_store *postgres)
{
	const struct postgres_settings *settings = postgres->settings;
	if (settings->prepare != NULL)
		settings->prepare(settings->prepare_context);
	postgres_make_application(settings->identity, postgres->application);
	postgres->sent_at = clock_now();
	postgres_session_open(&postgres->session, postgres->request.connect_limit_ns);
}

static void
start_release(struct postgres_store *postgres)
{
	struct store_answer answer = {.outcome = OUTCOME_OK};
	if (postgres->is_held && postgres->asked == ASK_RENEW) {
		loop_set_timer(postgres->loop, &postgres->deadline,
		    instant_plus(clock_now(), postgres->request.answer_limit_ns));
		return;
	}
	if (postgres->session.phase == SESSION_READY &&
	    (postgres->is_held || postgres->is_joined)) {
		postgres_send(postgres);
		return;
	}
	/* Of one that was closed the server may not know. */
	if (postgres->ghost != 0 && !postgres->is_ended) {
		if (postgres->session.phase == SESSION_CLOSED)
			open_session(postgres);
		return;
	}
	/* What is under way is undone by the end of its session. */
	if (postgres->is_ended) {
		answer.outcome = OUTCOME_LOST;
		answer.problem = postgres->end;
	} else if (postgres->is_blind) {
		answer.outcome = OUTCOME_UNREACHABLE;
		problem_set(&answer.problem, "no answer to its release: its session was closed");
	}
	postgres_drop(postgres);
	postgres_report(postgres, &answer);
}

static void
start_renew(struct postgres_store *postgres)
{
	struct store_answer answer = {.outcome = OUTCOME_LOST, .ended = true};
	if (!postgres->is_held) {
		answer.problem = postgres->end;
		postgres_report(postgres, &answer);
	} else if (postgres->asked == ASK_RENEW) {
		loop_set_timer(postgres->loop, &postgres->deadline,
		    instant_plus(clock_now(), postgres->request.answer_limit_ns));
	} else if (instant_reached(postgres->request.not_later, clock_now())) {
		problem_set(&answer.problem, "it is too late for a renewal");
		answer.outcome = OUTCOME_UNREACHABLE;
		postgres_report(postgres, &answer);
	} else {
		postgres_send(postgres);
	}
}

static void
start_acquire(struct postgres_store *postgres)
{
	if (postgres->is_held)
		start_renew(postgres);
	else if (postgres->session.phase == SESSION_READY)
		postgres_send(postgres);
	else if (postgres->session.phase == SESSION_CLOSED)
		open_session(postgres);
}

static void
postgres_start(struct store *store, const struct store_request *request)
{
	struct postgres_store *postgres = (struct postgres_store *)store;
	struct store_answer answer = {.outcome = OUTCOME_UNREACHABLE};
	postgres->request = *request;
	postgres->pending = true;
	postgres->has_answer = false;
	postgres->is_starting = true;
	switch (request->verb) {
	case STORE_ACQUIRE:
		start_acquire(postgres);
		break;
	case STORE_RENEW:
	case STORE_TOUCH:
		start_renew(postgres);
		break;
	case STORE_RELEASE:
		start_release(postgres);
		break;
	case STORE_LOOK:
		problem_set(&answer.problem, "it is not known who has it");
		postgres_report(postgres, &answer);
		break;
	}
	postgres->is_starting = false;
}

static void
postgres_close(struct store *store)
{
	struct postgres_store *postgres = (struct postgres_store *)store;
	loop_stop_timer(postgres->loop, &postgres->deadline);
	loop_stop_timer(postgres->loop, &postgres->soon);
	postgres->pending = false;
	postgres->has_answer = false;
	postgres_drop(postgres);
}

static void
postgres_forget(struct store *store)
{
	struct postgres_store *postgres = (struct postgres_store *)store;
	postgres_session_forget(&postgres->session);
	postgres->pending = false;
}

struct store *
postgres_store_new(struct loop *loop, const struct postgres_settings *settings)
{
	static const struct store_operations operations = {
	    .start = postgres_start,
	    .close = postgres_close,
	    .forget = postgres_forget,
	};
	static const struct postgres_session_events events = {
	    .ready = on_ready,
	    .answered = on_answered,
	    .notified = on_notified,
	    .failed = on_failed,
	};
	struct postgres_store *postgres = calloc(1, sizeof *postgres);
	if (postgres == NULL)
		return NULL;
	postgres->store.operations = &operations;
	postgres->store.server = settings->server;
	postgres->loop = loop;
	postgres->settings = settings;
	postgres->deadline = (struct timer){.due = on_deadline, .context = postgres};
	postgres->soon = (struct timer){.due = on_soon, .context = postgres};
	postgres_numbers_make(&postgres->numbers, settings->url, settings->keys->lock,
	    settings->slots);
	postgres_session_init(&postgres->session, loop, settings->url, settings->secret,
	    postgres->application, ms_from_ns(settings->ttl_ns), &events, postgres);
	postgres_wait_init(postgres);
	size_t count = 0;
	for (size_t i = 0; i < PQ_MAX_NAMES; i++) {
		postgres->store.helpers[count++] = &postgres->session.link.names[i].resolver.helper;
		postgres->store.helpers[count++] =
		    &postgres->session.probe.names[i].resolver.helper;
	}
	if (settings->secret != NULL)
		postgres->store.helpers[count] = settings->secret->helper;
	return &postgres->store;
}

void
postgres_store_free(struct store *store)
{
	if (store == NULL)
		return;
	postgres_close(store);
	free(store);
}
