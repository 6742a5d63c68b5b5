/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "net/pq_link.h"

#include <ctype.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "net/pq_parts.h"

static void
on_ready(void *context, short revents);

/* -- errors ----------------------------------------------------------------------------------- */

/* "FATAL:  28P01: password authentication failed ...", as PQ_ERRORS_VERBOSE has it: the five bytes
 * of SQLSTATE between the two colons; NULL: there are none. */
static const char *
find_sqlstate(const char *text)
{
	for (const char *at = strstr(text, ":  "); at != NULL; at = strstr(at + 1, ":  ")) {
		size_t length = 0;
		while (length < 5 && isalnum((unsigned char)at[3 + length]))
			length++;
		if (length == 5 && at[8] == ':' && at[9] == ' ')
			return at + 3;
	}
	return NULL;
}

/* The first line says it; what follows is advice, or what was tried without TLS afterwards. */
void
pq_link_take_error(const char *text, char *sqlstate, struct problem *why)
{
	char line[sizeof why->text];
	size_t used = 0, length = strcspn(text, "\n");
	const char *state = find_sqlstate(text);
	if (sqlstate != NULL)
		snprintf(sqlstate, 8, "%.5s", state != NULL ? state : "");
	for (size_t i = 0; i < length && used + 1 < sizeof line; i++) {
		if (text + i == state)
			i += 7; /* and ": " */
		line[used++] = text[i];
	}
	line[used] = '\0';
	problem_set(why, "%s", used > 0 ? line : "the server has closed the connection");
}

bool
pq_link_check(const struct url *url, struct problem *why)
{
	const struct pq_library *library = pq_library_load(why);
	char *error = NULL;
	if (library == NULL)
		return false;
	struct pq_option *options = library->PQconninfoParse(url->libpq, &error);
	if (options == NULL) {
		struct problem text;
		pq_link_take_error(error != NULL ? error : "out of memory", NULL, &text);
		problem_set(why, "bad server URL: libpq says: %.400s", text.text);
		library->PQfreemem(error);
		return false;
	}
	library->PQconninfoFree(options);
	return true;
}

/* -- opening and closing ---------------------------------------------------------------------- */

void
pq_link_init(struct pq_link *link, struct loop *loop, const struct url *url,
    const char *application, const struct pq_link_events *events, void *context)
{
	memset(link, 0, sizeof *link);
	link->loop = loop;
	link->url = url;
	link->application = application;
	link->events = events;
	link->context = context;
}

void
pq_link_close(struct pq_link *link)
{
	link->generation++;
	pq_places_cancel(link);
	link->name_count = 0;
	loop_unwatch(link->loop, &link->watch);
	if (link->result != NULL)
		link->library->PQclear(link->result);
	link->result = NULL;
	if (link->connection != NULL)
		link->library->PQfinish(link->connection);
	link->connection = NULL;
	link->is_asking = false;
	link->password = NULL;
	link->state = PQ_LINK_CLOSED;
}

void
pq_link_fail(struct pq_link *link, const struct problem *why)
{
	struct problem copy = *why; /* it may be the link's own */
	pq_link_close(link);
	link->events->failed(link->context, &copy);
}

void
pq_link_forget(struct pq_link *link)
{
	loop_unwatch(link->loop, &link->watch);
	link->connection = NULL;
	link->state = PQ_LINK_CLOSED;
}

void
pq_link_open(struct pq_link *link, struct instant deadline, const char *password)
{
	struct problem why;
	pq_link_close(link);
	link->deadline = deadline;
	link->password = password;
	link->problem.text[0] = '\0';
	link->spoke = false;
	link->is_ended = false;
	link->next_place = 0;
	link->state = PQ_LINK_RESOLVING;
	link->library = pq_library_load(&why);
	if (link->library == NULL)
		pq_link_fail(link, &why);
	else
		pq_places_find(link);
}

void
pq_link_explain_delay(const struct pq_link *link, struct problem *why)
{
	const struct pq_place *place =
	    &link->places[link->next_place > 0 ? link->next_place - 1 : 0];
	if (link->state == PQ_LINK_RESOLVING)
		problem_set(why, "the name look-up has not answered");
	else
		problem_set(why, "no connection in time to %s port %s",
		    place->host[0] != '\0'          ? place->host
			: place->address[0] != '\0' ? place->address
						    : "the local server",
		    place->port[0] != '\0' ? place->port : "5432");
}

/* -- asking ----------------------------------------------------------------------------------- */

static void
set_watch(struct pq_link *link, bool has_more)
{
	if (!link->watch.linked || link->watch.ready != on_ready) {
		loop_unwatch(link->loop, &link->watch);
		link->watch = (struct watch){.fd = link->library->PQsocket(link->connection),
		    .ready = on_ready,
		    .context = link};
		loop_watch(link->loop, &link->watch);
	}
	link->watch.events = has_more ? POLLIN | POLLOUT : POLLIN;
}

/* The connection has gone: as libpq, or the server before, has said it. */
static void
fail_open(struct pq_link *link)
{
	struct problem why;
	pq_link_take_error(link->library->PQerrorMessage(link->connection), NULL, &why);
	pq_link_fail(link, link->is_ended ? &link->last_words : &why);
}

void
pq_link_ask(struct pq_link *link, const char *statement)
{
	const struct pq_library *library = link->library;
	link->is_asking = true;
	if (link->result != NULL)
		library->PQclear(link->result);
	link->result = NULL;
	/* Whether it fails now or later is told from the loop: who asks is not called from here. */
	library->PQsendQueryParams(link->connection, statement, 0, NULL, NULL, NULL, NULL, 0);
	set_watch(link, library->PQflush(link->connection) != 0);
}

static void
tell_notifications(struct pq_link *link)
{
	unsigned int generation = link->generation;
	struct pq_notification *notification;
	while (generation == link->generation && link->state == PQ_LINK_OPEN &&
	    (notification = link->library->PQnotifies(link->connection)) != NULL) {
		if (link->events->notified != NULL)
			link->events->notified(link->context, notification->channel,
			    notification->payload);
		link->library->PQfreemem(notification);
	}
}

static void
tell_answer(struct pq_link *link, PGresult *result)
{
	const struct pq_library *library = link->library;
	struct pq_answer answer = {.library = library, .result = result};
	int status = library->PQresultStatus(result);
	if (status == PQ_TUPLES_OK) {
		answer.rows = library->PQntuples(result);
	} else if (status != PQ_COMMAND_OK) {
		const char *state = library->PQresultErrorField(result, PQ_DIAG_SQLSTATE);
		const char *text = library->PQresultErrorField(result, PQ_DIAG_MESSAGE_PRIMARY);
		snprintf(answer.sqlstate, sizeof answer.sqlstate, "%.5s",
		    state != NULL ? state : "XX000");
		problem_set(&answer.problem, "%.400s", text != NULL ? text : "no reason given");
		answer.result = NULL;
	}
	link->events->answered(link->context, &answer);
	library->PQclear(result);
}

/* An answer is complete when the server is ready again: its transaction has been committed then.
 * (The rows come before that.) Of a row and an error behind it the error counts. */
static void
take_results(struct pq_link *link)
{
	const struct pq_library *library = link->library;
	while (link->is_asking && library->PQisBusy(link->connection) == 0) {
		PGresult *result = library->PQgetResult(link->connection);
		if (result == NULL) {
			result = link->result;
			link->result = NULL;
			link->is_asking = false;
			if (result != NULL)
				tell_answer(link, result);
			else
				fail_open(link); /* it could not be sent */
			return;
		}
		if (link->result != NULL)
			library->PQclear(link->result);
		link->result = result;
	}
}

static void
on_ready(void *context, short revents)
{
	struct pq_link *link = context;
	unsigned int generation = link->generation;
	const struct pq_library *library = link->library;
	(void)revents;
	bool is_there = library->PQconsumeInput(link->connection) == 1;
	bool has_more = is_there && library->PQflush(link->connection) != 0;
	if (is_there)
		set_watch(link, has_more);
	/* It is this that reads what came between answers, and a reason that came with the end. */
	tell_notifications(link);
	if (generation != link->generation)
		return;
	/* What ends the session may come in the place of an answer. */
	if (!is_there || link->is_ended || library->PQstatus(link->connection) != 0) {
		fail_open(link);
		return;
	}
	take_results(link);
	if (generation == link->generation && link->connection != NULL &&
	    library->PQstatus(link->connection) != 0)
		fail_open(link);
}

const char *
pq_answer_text(const struct pq_answer *answer, int row, int column)
{
	if (answer->result == NULL || row >= answer->rows ||
	    column >= answer->library->PQnfields(answer->result) ||
	    answer->library->PQgetisnull(answer->result, row, column))
		return "";
	return answer->library->PQgetvalue(answer->result, row, column);
}
