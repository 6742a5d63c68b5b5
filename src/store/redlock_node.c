/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* The connection to one node: made, lost, and made again. */
#include "base/message.h"
#include "store/redlock_parts.h"

#define RETRY_FIRST (50 * NS_PER_MS)
#define RETRY_LAST NS_PER_S

static void
set_link(struct redlock_node *node, enum quorum_link link)
{
	quorum_set_link(&node->redlock->quorum, node->index, link, clock_now());
}

/* -- the end of a connection ------------------------------------------------------------------- */

void
redlock_node_close(struct redlock_node *node)
{
	redlock_node_remember(node);
	loop_stop_timer(node->redlock->loop, &node->deadline);
	redis_login_end(&node->login);
	link_close(&node->link);
	node->phase = NODE_CLOSED;
}

/* A node less is no harm yet, but the next one may be: so -v names it, once. */
static void
say_trouble(struct redlock_node *node)
{
	if (node->is_missed)
		message_debug("%s: %s", node->member->server, node->problem.text);
	else
		message_verbose("%s: %s", node->member->server, node->problem.text);
	node->is_missed = true;
}

void
redlock_node_give_up(struct redlock_node *node)
{
	redlock_node_close(node);
	problem_set(&node->problem, "no answer in time");
	node->outcome = OUTCOME_UNKNOWN;
	say_trouble(node);
	set_link(node, NODE_DOWN);
}

void
redlock_node_fail(struct redlock_node *node, enum outcome outcome, const struct problem *why)
{
	struct redlock *redlock = node->redlock;
	bool was_idle = node->phase == NODE_READY && node->owed_count == 0;
	int64_t pause = RETRY_FIRST;
	node->outcome = outcome;
	node->problem = *why; /* it may be the link's own */
	redlock_node_close(node);
	for (unsigned int i = 0; i < node->failures && pause < RETRY_LAST; i++)
		pause *= 2;
	node->failures++;
	node->retry_at = instant_plus(clock_now(), pause < RETRY_LAST ? pause : RETRY_LAST);
	say_trouble(node);
	set_link(node, NODE_DOWN);
	redlock_go_on(redlock);
	if (was_idle)
		redlock_disturb(redlock);
}

static void
on_deadline(void *context, struct instant now)
{
	struct redlock_node *node = context;
	enum outcome outcome = OUTCOME_UNREACHABLE;
	struct problem why;
	(void)now;
	switch (node->phase) {
	case NODE_CLOSED:
	case NODE_READY:
		return;
	case NODE_CONNECTING:
		link_explain_delay(&node->link, &why);
		outcome = redis_login_judge(&node->login, &why);
		break;
	case NODE_LOGIN:
		outcome = redis_login_explain_delay(&node->login, &why);
		break;
	case NODE_TELLING:
		problem_set(&why, "no answer in time");
		break;
	}
	redlock_node_fail(node, outcome, &why);
}

/* -- who it is --------------------------------------------------------------------------------- */

/* Nothing is acquired any more. What is held is held by a majority without it: COMMAND goes on, but
 * the fault, which may show late, is said. */
static void
refuse(struct redlock_node *node, const struct problem *why)
{
	struct redlock *redlock = node->redlock;
	if (redlock->quorum.held && redlock->conflict.text[0] == '\0')
		message_error("%s; the latter has no vote", why->text);
	redlock->conflict = *why;
	quorum_refuse(&redlock->quorum);
	redlock_node_fail(node, OUTCOME_REFUSED, why);
}

static void
become_ready(struct redlock_node *node)
{
	struct redlock *redlock = node->redlock;
	struct quorum_node *vote = &redlock->quorum.nodes[node->index];
	struct instant now = clock_now();
	loop_stop_timer(redlock->loop, &node->deadline);
	node->up_since = INSTANT_NEVER;
	if (node->facts.uptime_s >= 0)
		node->up_since = instant_plus(now, -node->facts.uptime_s * NS_PER_S);
	node->watched_since = now;
	struct problem why;
	if (redlock_is_twice(node, &why)) {
		refuse(node, &why);
		return;
	}
	node->phase = NODE_READY;
	node->failures = 0;
	node->outcome = OUTCOME_OK;
	vote->votes = redlock_node_votes(node);
	if (!vote->votes)
		message_verbose("%s does not vote yet: %s", node->member->server,
		    node->problem.text);
	else if (node->is_missed)
		message_verbose("%s answers again", node->member->server);
	node->is_missed = false;
	redlock_node_give_back(node);
	set_link(node, NODE_UP);
	redlock_go_on(redlock);
}

/* Two answers: INFO server, INFO replication. Who may not use INFO is told nothing. */
static void
take_info(struct redlock_node *node, const struct reply *reply)
{
	if (reply->kind == REPLY_STRING)
		redlock_facts_read(&node->facts, reply->text);
	if (++node->told == 2)
		become_ready(node);
}

/* -- answers ----------------------------------------------------------------------------------- */

static void
on_answer(void *context, const struct reply *reply)
{
	struct redlock_node *node = context;
	switch (node->phase) {
	case NODE_LOGIN:
		redis_login_answer(&node->login, reply);
		break;
	case NODE_TELLING:
		take_info(node, reply);
		break;
	case NODE_READY:
		redlock_node_hear(node, reply);
		break;
	case NODE_CLOSED:
	case NODE_CONNECTING:
		break;
	}
}

/* -- a connection ------------------------------------------------------------------------------ */

static void
prepare(struct redlock *redlock)
{
	if (redlock->settings->prepare != NULL)
		redlock->settings->prepare(redlock->settings->prepare_context);
}

static void
on_opened(void *context)
{
	struct redlock_node *node = context;
	node->phase = NODE_LOGIN;
	/* As in redis.c: beside a password nothing is done. */
	if (node->member->secret != NULL)
		prepare(node->redlock);
	redis_login_start(&node->login);
	if (node->member->secret == NULL)
		prepare(node->redlock);
}

static void
append_info(void *context)
{
	static const char *const server[] = {"INFO", "server"};
	static const char *const replication[] = {"INFO", "replication"};
	struct redlock_node *node = context;
	link_append(&node->link, 2, server);
	link_append(&node->link, 2, replication);
}

static void
on_logged_in(void *context, int64_t server_us)
{
	struct redlock_node *node = context;
	node->clock_us = server_us;
	node->clock_at = clock_now();
	node->phase = NODE_TELLING;
	node->told = 0;
	node->facts = (struct redlock_facts){.uptime_s = -1};
}

static void
on_login_failed(void *context, enum outcome outcome, const struct problem *why)
{
	redlock_node_fail(context, outcome, why);
}

static void
on_failed(void *context, const struct problem *failure)
{
	struct redlock_node *node = context;
	enum outcome outcome = OUTCOME_UNREACHABLE;
	struct problem why = *failure;
	if (node->phase == NODE_CONNECTING)
		outcome = redis_login_judge(&node->login, failure);
	else if (node->phase == NODE_LOGIN)
		outcome = redis_login_explain_failure(&node->login, failure, &why);
	else if (node->owed_count > 0)
		outcome = OUTCOME_UNKNOWN;
	redlock_node_fail(node, outcome, &why);
}

void
redlock_node_open(struct redlock_node *node, int64_t limit_ns)
{
	struct instant limit = instant_plus(clock_now(), limit_ns);
	node->phase = NODE_CONNECTING;
	loop_set_timer(node->redlock->loop, &node->deadline, limit);
	set_link(node, NODE_COMING);
	link_open(&node->link, limit, true);
}

void
redlock_node_init(struct redlock_node *node, struct redlock *redlock, int index)
{
	static const struct link_events events = {
	    .opened = on_opened,
	    .answered = on_answer,
	    .failed = on_failed,
	};
	const struct redlock_member *member = &redlock->settings->members[index];
	node->redlock = redlock;
	node->member = member;
	node->index = index;
	node->deadline = (struct timer){.due = on_deadline, .context = node};
	link_init(&node->link, redlock->loop, member->url, &events, node);
	node->login = (struct redis_login){
	    .link = &node->link,
	    .url = member->url,
	    .secret = member->secret,
	    .done = on_logged_in,
	    .failed = on_login_failed,
	    .append = append_info,
	    .context = node,
	};
}
