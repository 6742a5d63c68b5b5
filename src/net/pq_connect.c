/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/pq_parts.h"

#define MAX_OPTIONS 64

/* What libpq says of its own, without a server's SQLSTATE, when somebody may not come in. */
static bool
is_refusal(const char *text)
{
	static const char *const telling[] = {
	    "no password supplied",
	    "certificate verify failed",
	    "server certificate for",
	    "host name \"",
	    "does not match host name",
	    "root certificate file",
	    "could not get server's host name from server certificate",
	    "server does not support SSL",
	    "could not read certificate file",
	    "could not load private key file",
	    "certificate file",
	    "authentication method",
	    "channel binding",
	    "tlsv1 alert",
	    "tlsv13 alert",
	    "sslv3 alert",
	    "requires a valid client certificate",
	};
	for (size_t i = 0; i < sizeof telling / sizeof *telling; i++) {
		if (strstr(text, telling[i]) != NULL)
			return true;
	}
	return false;
}

/* Classes of SQLSTATE: 28 is authorization, 42501 the right to connect to a database. */
static void
judge(const char *sqlstate, struct problem *why)
{
	if (sqlstate[0] == '\0') {
		why->is_denied = is_refusal(why->text);
		return;
	}
	why->is_denied = strncmp(sqlstate, "28", 2) == 0 || strcmp(sqlstate, "42501") == 0;
	why->is_passing = strncmp(sqlstate, "57P0", 4) == 0 || strncmp(sqlstate, "53", 2) == 0;
}

/* One place is done with. Of several reasons the one of a server that has spoken is told. */
static void
note_failure(struct pq_link *link, const struct problem *why, bool spoke)
{
	if (link->problem.text[0] == '\0' || spoke || !link->spoke)
		link->problem = *why;
	link->spoke = link->spoke || spoke;
}

static void
end_connection(struct pq_link *link)
{
	loop_stop_timer(link->loop, &link->patience);
	loop_unwatch(link->loop, &link->watch);
	if (link->connection != NULL)
		link->library->PQfinish(link->connection);
	link->connection = NULL;
}

static void
fail_place(struct pq_link *link)
{
	struct problem why;
	char sqlstate[8];
	pq_link_take_error(link->library->PQerrorMessage(link->connection), sqlstate, &why);
	judge(sqlstate, &why);
	note_failure(link, &why, sqlstate[0] != '\0');
	end_connection(link);
	pq_connect_next(link);
}

static void
on_patience(void *context, struct instant now)
{
	struct pq_link *link = context;
	struct problem why;
	(void)now;
	pq_link_explain_delay(link, &why);
	note_failure(link, &why, false);
	end_connection(link);
	pq_connect_next(link);
}

/* FATAL comes between two statements, too, as a notice. */
static void
on_notice(void *context, const PGresult *result)
{
	struct pq_link *link = context;
	const char *severity = link->library->PQresultErrorField(result, PQ_DIAG_SEVERITY);
	const char *text = link->library->PQresultErrorField(result, PQ_DIAG_MESSAGE_PRIMARY);
	if (severity == NULL || text == NULL ||
	    (strcmp(severity, "FATAL") != 0 && strcmp(severity, "PANIC") != 0))
		return;
	link->is_ended = true;
	problem_set(&link->last_words, "the server has ended the session: %.300s", text);
}

static void
on_ready(void *context, short revents)
{
	(void)revents;
	pq_connect_poll(context);
}

/* libpq may have gone on with another socket. */
static void
watch(struct pq_link *link, short events)
{
	loop_unwatch(link->loop, &link->watch);
	link->watch = (struct watch){.fd = link->library->PQsocket(link->connection),
	    .events = events,
	    .ready = on_ready,
	    .context = link};
	loop_watch(link->loop, &link->watch);
}

void
pq_connect_poll(struct pq_link *link)
{
	/* The next place is tried from here, without coming back. */
	switch ((enum pq_polling)link->library->PQconnectPoll(link->connection)) {
	case PQ_POLLING_READING:
		watch(link, POLLIN);
		break;
	case PQ_POLLING_WRITING:
		watch(link, POLLOUT);
		break;
	case PQ_POLLING_OK:
		loop_stop_timer(link->loop, &link->patience);
		loop_unwatch(link->loop, &link->watch);
		link->library->PQsetnonblocking(link->connection, 1);
		link->password = NULL;
		link->state = PQ_LINK_OPEN;
		link->events->opened(link->context);
		break;
	case PQ_POLLING_FAILED:
		fail_place(link);
		break;
	}
}

struct parameters {
	size_t count;
	const char *keywords[MAX_OPTIONS + 8];
	const char *values[MAX_OPTIONS + 8];
};

static void
give(struct parameters *parameters, const char *keyword, const char *value)
{
	if (value == NULL || value[0] == '\0' || parameters->count == MAX_OPTIONS)
		return;
	parameters->keywords[parameters->count] = keyword;
	parameters->values[parameters->count++] = value;
	parameters->keywords[parameters->count] = NULL;
}

/* Everything of the URL but what is ours to say. */
static void
give_options(struct parameters *parameters, const struct pq_option *option, bool *has_gss)
{
	static const char *const ours[] = {"host", "hostaddr", "port", "application_name",
	    "target_session_attrs", "load_balance_hosts"};
	for (; option != NULL && option->keyword != NULL; option++) {
		bool is_ours = false;
		for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
			is_ours = is_ours || strcmp(option->keyword, ours[i]) == 0;
		if (!is_ours)
			give(parameters, option->keyword, option->value);
		if (strcmp(option->keyword, "gssencmode") == 0)
			*has_gss = option->value != NULL;
	}
}

/* NULL: no memory, which libpq says of nothing else. */
static PGconn *
start(struct pq_link *link, const struct pq_place *place)
{
	const struct pq_library *library = link->library;
	struct parameters parameters = {.count = 0};
	bool has_gss = false;
	char *error = NULL;
	struct pq_option *given = library->PQconninfoParse(link->url->libpq, &error);
	give_options(&parameters, given, &has_gss);
	give(&parameters, "host", place->host);
	give(&parameters, "hostaddr", place->address);
	give(&parameters, "port", place->port);
	give(&parameters, "application_name", link->application);
	give(&parameters, "password", link->password);
	/* Else PGTARGETSESSIONATTRS would make libpq ask, and try again. */
	give(&parameters, "target_session_attrs", "any");
	if (!has_gss && getenv("PGGSSENCMODE") == NULL)
		give(&parameters, "gssencmode", "disable");
	PGconn *connection =
	    library->PQconnectStartParams(parameters.keywords, parameters.values, 0);
	library->PQconninfoFree(given);
	library->PQfreemem(error);
	return connection;
}

void
pq_connect_next(struct pq_link *link)
{
	struct problem why;
	link->state = PQ_LINK_CONNECTING;
	if (link->next_place == link->place_count) {
		why = link->problem;
		pq_link_fail(link, &why);
		return;
	}
	size_t left = link->place_count - link->next_place;
	link->connection = start(link, &link->places[link->next_place++]);
	if (link->connection == NULL) {
		problem_set(&why, "cannot connect: no memory");
		why.is_system = true;
		pq_link_fail(link, &why);
		return;
	}
	if (link->library->PQstatus(link->connection) == 1) {
		fail_place(link);
		return;
	}
	link->library->PQsetErrorVerbosity(link->connection, PQ_ERRORS_VERBOSE);
	link->library->PQsetNoticeReceiver(link->connection, on_notice, link);
	watch(link, POLLOUT);
	struct instant now = clock_now();
	link->patience = (struct timer){.due = on_patience, .context = link};
	if (left > 1)
		loop_set_timer(link->loop, &link->patience,
		    instant_plus(now, instant_between(now, link->deadline) / (int64_t)left));
}

void
pq_link_try_next(struct pq_link *link, const struct problem *why)
{
	note_failure(link, why, true);
	link->generation++;
	link->is_asking = false;
	end_connection(link);
	pq_connect_next(link);
}
