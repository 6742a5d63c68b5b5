/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "store/ear.h"

#include <stdlib.h>
#include <string.h>

#include "store/cluster_map.h"
#include "store/line.h"
#include "store/redis_answer.h"

#define PAUSE_FIRST (100 * NS_PER_MS)
#define PAUSE_LAST (5 * NS_PER_S)

static void
set_limit(struct ear *ear, int64_t ns)
{
	loop_set_timer(ear->loop, &ear->due, instant_plus(clock_now(), ns));
}

static void
drop(struct ear *ear, enum ear_phase next)
{
	/* The password's source is the store's too: it is left alone but in a login of our own. */
	if (ear->phase == EAR_LOGIN)
		redis_login_end(&ear->login);
	link_close(&ear->link);
	loop_stop_timer(ear->loop, &ear->due);
	ear->phase = next;
}

static int64_t
pause_after(unsigned int failures)
{
	int64_t pause = PAUSE_FIRST;
	for (unsigned int i = 1; i < failures && pause < PAUSE_LAST; i++)
		pause *= 2;
	return pause < PAUSE_LAST ? pause : PAUSE_LAST;
}

/* The store, told that it is not heard any more, asks, and then has it opened again. */
static void
fail(struct ear *ear, const struct problem *why)
{
	bool was_listening = ear->phase == EAR_LISTENING;
	ear->why = *why;
	drop(ear, EAR_PAUSING);
	set_limit(ear, pause_after(++ear->failures));
	if (was_listening)
		ear->events->lost(ear->context, clock_now());
}

static void
fail_for(struct ear *ear, const char *text)
{
	struct problem why;
	problem_set(&why, "%s", text);
	fail(ear, &why);
}

/* -- what comes ------------------------------------------------------------------------------- */

static bool
is_text(const struct reply *reply, const char *text)
{
	return reply->kind == REPLY_STRING && strcmp(reply->text, text) == 0;
}

/* A list of three that begins with the word and our channel. */
static bool
is_about_us(const struct ear *ear, const struct reply *reply, const char *word)
{
	return reply->kind == REPLY_ARRAY && reply->count == 3 && is_text(reply->items[0], word) &&
	    is_text(reply->items[1], ear->channel);
}

static void
take_message(struct ear *ear, const struct reply *text)
{
	int64_t left_ms = -1;
	enum line_event event = line_read_message(text, &left_ms);
	if (event == LINE_GRANTED)
		ear->events->woken(ear->context, WAKE_GRANTED, -1, clock_now());
	else if (event == LINE_HEAD)
		ear->events->woken(ear->context, WAKE_HEAD, left_ms < 0 ? -1 : left_ms * NS_PER_MS,
		    clock_now());
}

/* Servers before 7, proxies, and a user without the right have it for nobody, now or later. */
static void
take_refusal(struct ear *ear, const char *text)
{
	struct problem why;
	if (strstr(text, "unknown command") != NULL) {
		problem_set(&why, EAR_NO_CHANNELS);
	} else {
		answer_tell_error(text, &why);
		if (answer_classify_error(text) != OUTCOME_DENIED) {
			fail(ear,
			    &why); /* MOVED, CLUSTERDOWN, LOADING: it may be another next time */
			return;
		}
	}
	drop(ear, EAR_REFUSED);
	ear->why = why;
}

static void
take_reply(struct ear *ear, const struct reply *reply)
{
	if (is_about_us(ear, reply, "smessage")) {
		take_message(ear, reply->items[2]);
	} else if (line_is_change(reply)) {
		ear->events->woken(ear->context, WAKE_CHANGED, -1, clock_now());
	} else if (ear->phase == EAR_JOINING && !ear->is_numbered) {
		/* Merely nice: without it changes of the key are not told. */
		ear->client_id = reply->kind == REPLY_INTEGER ? reply->integer : 0;
		ear->is_numbered = true;
	} else if (is_about_us(ear, reply, "ssubscribe") && ear->phase == EAR_JOINING) {
		ear->phase = EAR_LISTENING;
		ear->failures = 0;
		loop_stop_timer(ear->loop, &ear->due);
		ear->events->ready(ear->context, clock_now());
	} else if (is_about_us(ear, reply, "sunsubscribe")) {
		fail_for(ear, "the slot has moved to another node");
	} else if (reply->kind == REPLY_ERROR && ear->phase == EAR_JOINING) {
		take_refusal(ear, reply->text);
	} else {
		fail_for(ear, "the server answers what was not asked");
	}
}

static void
on_answer(void *context, const struct reply *reply)
{
	struct ear *ear = context;
	if (ear->phase == EAR_LOGIN)
		redis_login_answer(&ear->login, reply);
	else
		take_reply(ear, reply);
}

/* -- a connection ----------------------------------------------------------------------------- */

static void
on_opened(void *context)
{
	struct ear *ear = context;
	if (ear->held_back) {
		fail_for(ear, "the password is needed elsewhere");
		return;
	}
	ear->phase = EAR_LOGIN;
	redis_login_start(&ear->login);
}

static void
on_logged_in(void *context, int64_t server_us)
{
	struct ear *ear = context;
	const char *const id[] = {"CLIENT", "ID"};
	const char *const words[] = {"SSUBSCRIBE", ear->channel};
	(void)server_us;
	ear->phase = EAR_JOINING;
	ear->is_numbered = false;
	set_limit(ear, ear->limit_ns);
	link_append(&ear->link, 2, id);
	link_append(&ear->link, 2, words);
	if (!link_flush(&ear->link))
		fail_for(ear, "cannot write a request");
}

static void
on_login_failed(void *context, enum outcome outcome, const struct problem *why)
{
	(void)outcome;
	fail(context, why);
}

static void
on_failed(void *context, const struct problem *why)
{
	fail(context, why);
}

static void
on_due(void *context, struct instant now)
{
	struct ear *ear = context;
	(void)now;
	switch (ear->phase) {
	case EAR_PAUSING:
		ear->phase = EAR_CLOSED;
		return;
	case EAR_CONNECTING:
	case EAR_LOGIN:
		fail_for(ear, "no connection in time");
		return;
	case EAR_JOINING:
		fail_for(ear, "no answer in time");
		return;
	case EAR_CLOSED:
	case EAR_LISTENING:
	case EAR_REFUSED:
		return;
	}
}

/* -- the user's side -------------------------------------------------------------------------- */

struct ear *
ear_new(struct loop *loop, const struct redis_settings *settings, const char *channel,
    const struct ear_events *events, void *context)
{
	static const struct link_events link_events = {
	    .opened = on_opened,
	    .answered = on_answer,
	    .failed = on_failed,
	};
	struct ear *ear = calloc(1, sizeof *ear);
	if (ear == NULL)
		return NULL;
	ear->loop = loop;
	ear->channel = channel;
	ear->events = events;
	ear->context = context;
	ear->due = (struct timer){.due = on_due, .context = ear};
	link_init(&ear->link, loop, settings->url, &link_events, ear);
	ear->login = (struct redis_login){
	    .link = &ear->link,
	    .url = settings->url,
	    .secret = settings->secret,
	    .done = on_logged_in,
	    .failed = on_login_failed,
	    .context = ear,
	};
	return ear;
}

void
ear_free(struct ear *ear)
{
	if (ear == NULL)
		return;
	ear_close(ear);
	link_free(&ear->link);
	free(ear);
}

void
ear_listen(struct ear *ear, const struct url_place *place, int64_t limit_ns)
{
	if (ear == NULL || ear->phase == EAR_REFUSED)
		return;
	bool is_there = cluster_map_same(&ear->link.place, place);
	if (ear->phase != EAR_CLOSED && is_there)
		return;
	drop(ear, EAR_CONNECTING);
	ear->limit_ns = limit_ns;
	set_limit(ear, limit_ns);
	link_aim(&ear->link, place);
	link_open(&ear->link, ear->due.at, true);
}

int64_t
ear_client_id(const struct ear *ear, const struct url_place *place)
{
	bool hears = ear != NULL && ear->phase == EAR_LISTENING;
	return hears && cluster_map_same(&ear->link.place, place) ? ear->client_id : 0;
}

const struct problem *
ear_refusal(const struct ear *ear)
{
	return ear != NULL && ear->phase == EAR_REFUSED ? &ear->why : NULL;
}

void
ear_hold_back(struct ear *ear, bool hold_back)
{
	if (ear == NULL)
		return;
	ear->held_back = hold_back;
	if (hold_back && ear->phase == EAR_LOGIN)
		fail_for(ear, "the password is needed elsewhere");
}

void
ear_close(struct ear *ear)
{
	if (ear != NULL && ear->phase != EAR_REFUSED)
		drop(ear, EAR_CLOSED);
}

void
ear_forget(struct ear *ear)
{
	if (ear == NULL)
		return;
	link_forget(&ear->link);
	ear->phase = EAR_CLOSED;
}

const pid_t *
ear_helper(const struct ear *ear)
{
	return ear != NULL ? &ear->link.resolver.helper : NULL;
}
