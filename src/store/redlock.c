/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "store/redlock.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "store/redlock_parts.h"

_Static_assert(QUORUM_MOST <= LOOP_SERVERS, "the loop has room for all nodes");
_Static_assert(QUORUM_MOST < STORE_MAX_HELPERS, "and for their look-ups, and one for the password");

/* -- requests ---------------------------------------------------------------------------------- */

/* The connection may have died without a sign. */
static void
give_up_silent(struct redlock *redlock)
{
	struct quorum *quorum = &redlock->quorum;
	struct instant now = clock_now();
	for (int i = 0; i < quorum->count; i++) {
		struct redlock_node *node = &redlock->nodes[i];
		const struct quorum_node *vote = &quorum->nodes[i];
		if (node->phase != NODE_READY || vote->owes == 0 ||
		    instant_between(vote->owes_since, now) < quorum->node_limit_ns)
			continue;
		redlock_node_give_up(node);
	}
}

/* To all that have none. One that failed a moment ago is left alone, unless without it there can be
 * no majority. */
static void
renew_connections(struct redlock *redlock, int64_t limit_ns)
{
	struct quorum *quorum = &redlock->quorum;
	struct instant now = clock_now();
	int there = 0;
	give_up_silent(redlock);
	for (int i = 0; i < quorum->count; i++)
		there += redlock->nodes[i].phase != NODE_CLOSED;
	for (int i = 0; i < quorum->count; i++) {
		struct redlock_node *node = &redlock->nodes[i];
		if (node->phase == NODE_CLOSED &&
		    (there < quorum->majority || instant_reached(node->retry_at, now)))
			redlock_node_open(node, limit_ns);
	}
	for (int i = 0; i < quorum->count; i++)
		quorum->nodes[i].votes = redlock_node_votes(&redlock->nodes[i]);
}

/* A release, to those where the token may stand. To who is silent it goes behind what that one
 * owes, on the same connection. */
static void
reach_holdings(struct redlock *redlock, int64_t limit_ns)
{
	for (int i = 0; i < redlock->settings->count; i++) {
		const struct quorum_node *vote = &redlock->quorum.nodes[i];
		if (redlock->nodes[i].phase == NODE_CLOSED && vote->may_have && !vote->given)
			redlock_node_open(&redlock->nodes[i], limit_ns);
	}
}

static void
set_timer(struct redlock *redlock)
{
	struct instant due = instant_earlier(redlock->quorum.due, redlock->again_at);
	if (redlock->pending && redlock->again_at.ns == INSTANT_NEVER.ns &&
	    redlock->quorum.result != QUORUM_PENDING)
		due = clock_now();
	if (due.ns == INSTANT_NEVER.ns)
		loop_stop_timer(redlock->loop, &redlock->timer);
	else
		loop_set_timer(redlock->loop, &redlock->timer, due);
}

void
redlock_pump(struct redlock *redlock)
{
	for (int i = 0; i < redlock->settings->count; i++)
		redlock_node_pump(&redlock->nodes[i]);
}

void
redlock_go_on(struct redlock *redlock)
{
	redlock_pump(redlock);
	if (redlock->pending && !redlock->starting && redlock->again_at.ns == INSTANT_NEVER.ns &&
	    redlock->quorum.result != QUORUM_PENDING) {
		redlock_conclude(redlock);
		redlock_pump(redlock); /* a new attempt */
	}
	set_timer(redlock);
}

static void
on_timer(void *context, struct instant now)
{
	struct redlock *redlock = context;
	if (instant_reached(redlock->again_at, now)) {
		renew_connections(redlock, redlock->request.connect_limit_ns);
		redlock_begin_attempt(redlock);
	}
	quorum_tick(&redlock->quorum, now);
	redlock_go_on(redlock);
}

void
redlock_note_answer(struct redlock *redlock, const struct redlock_node *node, enum quorum_ask ask,
    const struct redlock_answer *answer)
{
	struct quorum_node *vote = &redlock->quorum.nodes[node->index];
	if (ask == ASK_ACCEPT && answer->word == WORD_ACCEPTED && answer->number > redlock->counted)
		redlock->counted = answer->number;
	if (ask == ASK_RENEW && answer->word == WORD_YES && redlock->touch)
		vote->want = ASK_ACCEPT;
	if (ask != ASK_TAKE || answer->word != WORD_OWNED)
		return;
	for (int i = 0; i < redlock->settings->count; i++) {
		if (i != node->index && redlock->quorum.nodes[i].taken)
			problem_set(&redlock->conflict,
			    "%.180s and %.180s are one server: a quorum needs independent servers",
			    redlock->nodes[i].member->server, node->member->server);
	}
}

void
redlock_disturb(struct redlock *redlock)
{
	if (redlock->quorum.held && !redlock->pending)
		redlock->store.events->disturbed(redlock->store.context, clock_now());
}

/* -- the store --------------------------------------------------------------------------------- */

static struct redlock *
from_store(struct store *store)
{
	return (struct redlock *)store;
}

static void
begin(struct redlock *redlock, const struct store_request *request, struct instant now)
{
	struct quorum *quorum = &redlock->quorum;
	redlock->touch = request->verb == STORE_TOUCH;
	switch (request->verb) {
	case STORE_ACQUIRE:
		if (quorum->held) /* to be confirmed afresh */
			quorum_begin_renew(quorum, request->answer_limit_ns, now);
		else
			redlock_begin_attempt(redlock);
		break;
	case STORE_RENEW:
	case STORE_TOUCH:
		quorum_begin_renew(quorum, request->answer_limit_ns, now);
		break;
	case STORE_RELEASE:
		quorum_begin_release(quorum, request->answer_limit_ns, now);
		break;
	case STORE_LOOK:
		quorum_begin_look(quorum, request->answer_limit_ns, now);
		break;
	}
}

/* It is answered from the loop, as every request is. */
static void
redlock_start(struct store *store, const struct store_request *request)
{
	struct redlock *redlock = from_store(store);
	redlock->starting = true;
	redlock->request = *request;
	redlock->pending = true;
	redlock->asked_at = clock_now();
	redlock->again_at = INSTANT_NEVER;
	redlock->splits = 0;
	for (int i = 0; i < redlock->settings->count; i++) {
		if (redlock->nodes[i].phase == NODE_READY)
			redlock->nodes[i].outcome = OUTCOME_OK;
	}
	if (request->verb != STORE_RELEASE)
		renew_connections(redlock, request->connect_limit_ns);
	else if (redlock->was_held)
		reach_holdings(redlock, request->connect_limit_ns);
	begin(redlock, request, clock_now());
	redlock_go_on(redlock);
	redlock->starting = false;
}

static void
redlock_close(struct store *store)
{
	struct redlock *redlock = from_store(store);
	loop_stop_timer(redlock->loop, &redlock->timer);
	redlock->pending = false;
	redlock->again_at = INSTANT_NEVER;
	redlock->quorum.held = false;
	for (int i = 0; i < redlock->settings->count; i++) {
		redlock_node_close(&redlock->nodes[i]);
		quorum_set_link(&redlock->quorum, i, NODE_DOWN, clock_now());
	}
}

static void
redlock_forget(struct store *store)
{
	struct redlock *redlock = from_store(store);
	redlock->pending = false;
	for (int i = 0; i < redlock->settings->count; i++) {
		struct redlock_node *node = &redlock->nodes[i];
		link_forget(&node->link);
		if (node->member->secret != NULL)
			node->member->secret->operations->forget(node->member->secret);
		node->phase = NODE_CLOSED;
	}
}

struct store *
redlock_store_new(struct loop *loop, const struct redlock_settings *settings)
{
	static const struct store_operations operations = {
	    .start = redlock_start,
	    .close = redlock_close,
	    .forget = redlock_forget,
	};
	size_t size =
	    sizeof(struct redlock) + (size_t)settings->count * sizeof(struct redlock_node);
	struct redlock *redlock = malloc(size);
	if (redlock == NULL)
		return NULL;
	memset(redlock, 0, sizeof *redlock);
	redlock->store.operations = &operations;
	redlock->store.server = settings->server;
	redlock->loop = loop;
	redlock->settings = settings;
	redlock->random = settings->seed | 1;
	redlock->again_at = INSTANT_NEVER;
	redlock->timer = (struct timer){.due = on_timer, .context = redlock};
	quorum_init(&redlock->quorum, settings->count, settings->ttl_ns, settings->drift_ns,
	    settings->min_fence);
	for (int i = 0; i < settings->count; i++) {
		struct redlock_node *node = &redlock->nodes[i];
		memset(node, 0, offsetof(struct redlock_node, link));
		redlock_node_init(node, redlock, i);
		redlock->store.helpers[i] = &node->link.resolver.helper;
	}
	redlock->store.helpers[settings->count] = settings->secret_helper;
	return &redlock->store;
}

void
redlock_store_free(struct store *store)
{
	if (store == NULL)
		return;
	struct redlock *redlock = from_store(store);
	redlock_close(store);
	for (int i = 0; i < redlock->settings->count; i++)
		link_free(&redlock->nodes[i].link);
	free(redlock);
}
