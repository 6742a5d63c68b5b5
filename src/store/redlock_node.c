/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* The connection to one node. Its requests are a pipeline: an attempt that failed is asked back
 * right behind what asked for it, so that nothing of it is left wherever it arrives. */
#include <errno.h>
#include <string.h>

#include "base/message.h"
#include "store/redis_answer.h"
#include "store/redlock_parts.h"

#define RETRY_FIRST (50 * NS_PER_MS)
#define RETRY_LAST NS_PER_S
#define UNASKED "the server answers what was not asked"

static struct quorum_node *
in_quorum(struct redlock_node *node)
{
	return &node->redlock->quorum.nodes[node->index];
}

static void
set_link(struct redlock_node *node, enum quorum_link link)
{
	quorum_set_link(&node->redlock->quorum, node->index, link, clock_now());
}

/* -- the end of a connection ------------------------------------------------------------------- */

/* The oldest is forgotten where there are too many: its key has an expiry. */
static void
remember(struct redlock_node *node, const char *token)
{
	for (int i = 0; i < node->stale_count; i++) {
		if (strcmp(node->stale[i], token) == 0)
			return;
	}
	if (node->stale_count == NODE_MOST_STALE) {
		memmove(node->stale[0], node->stale[1],
		    (NODE_MOST_STALE - 1) * sizeof *node->stale);
		node->stale_count--;
	}
	memcpy(node->stale[node->stale_count++], token, TOKEN_SIZE);
}

void
redlock_node_close(struct redlock_node *node)
{
	for (int i = 0; i < node->owed_count; i++) {
		const struct owed *owed = &node->owed[(node->owed_first + i) % NODE_MOST_OWED];
		if (owed->ask == ASK_TAKE || owed->ask == ASK_RETAKE || owed->ask == ASK_GIVE ||
		    owed->ask == ASK_NOTHING)
			remember(node, owed->token);
	}
	node->owed_count = 0;
	loop_stop_timer(node->redlock->loop, &node->deadline);
	redis_login_end(&node->login);
	link_close(&node->link);
	node->phase = NODE_CLOSED;
}

static void
fail(struct redlock_node *node, enum outcome outcome, const struct problem *why)
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
	message_debug("%s: %s", node->member->server, node->problem.text);
	set_link(node, NODE_DOWN);
	redlock_go_on(redlock);
	if (was_idle)
		redlock_disturb(redlock);
}

static void
fail_for(struct redlock_node *node, enum outcome outcome, const char *text)
{
	struct problem why;
	problem_set(&why, "%s", text);
	fail(node, outcome, &why);
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
	fail(node, outcome, &why);
}

/* -- who it is --------------------------------------------------------------------------------- */

/* What may stand there of attempts that failed: not what is held, or about to be given back. */
static void
give_back_stale(struct redlock_node *node)
{
	struct redlock *redlock = node->redlock;
	struct quorum *quorum = &redlock->quorum;
	int count = node->stale_count;
	node->stale_count = 0;
	for (int i = 0; i < count; i++) {
		bool is_present = strcmp(node->stale[i], redlock->token) == 0;
		if (is_present && (quorum->held || quorum->step == QUORUM_GIVING))
			continue;
		struct owed *owed =
		    &node->owed[(node->owed_first + node->owed_count++) % NODE_MOST_OWED];
		*owed = (struct owed){.ask = ASK_NOTHING};
		memcpy(owed->token, node->stale[i], TOKEN_SIZE);
		redlock_request_append_give(node, owed->token, 0);
		quorum_owes(quorum, node->index, clock_now());
	}
	if (node->owed_count > 0)
		(void)link_flush(&node->link);
}

static void
become_ready(struct redlock_node *node)
{
	struct redlock *redlock = node->redlock;
	struct instant now = clock_now();
	loop_stop_timer(redlock->loop, &node->deadline);
	node->up_since = INSTANT_NEVER;
	if (node->facts.uptime_s >= 0)
		node->up_since = instant_plus(now, -node->facts.uptime_s * NS_PER_S);
	node->watched_since = now;
	struct problem why;
	if (redlock_is_twice(node, &why)) {
		redlock->conflict = why;
		quorum_refuse(&redlock->quorum);
		fail(node, OUTCOME_REFUSED, &why);
		return;
	}
	node->phase = NODE_READY;
	node->failures = 0;
	node->outcome = OUTCOME_OK;
	in_quorum(node)->votes = redlock_node_votes(node);
	give_back_stale(node);
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
take_answer(struct redlock_node *node, const struct reply *reply)
{
	struct redlock *redlock = node->redlock;
	struct redlock_answer answer;
	struct instant now = clock_now();
	if (node->owed_count == 0) {
		fail_for(node, OUTCOME_REFUSED, UNASKED);
		return;
	}
	const struct owed owed = node->owed[node->owed_first];
	bool is_present = owed.ask != ASK_NOTHING && strcmp(owed.token, redlock->token) == 0;
	node->owed_first = (node->owed_first + 1) % NODE_MOST_OWED;
	node->owed_count--;
	redlock_answer_read(reply, owed.ask == ASK_NOTHING ? ASK_GIVE : owed.ask, &answer);
	if (answer.clock_us != 0) {
		node->clock_us = answer.clock_us;
		node->clock_at = now;
	}
	if (!is_present) {
		quorum_heard(&redlock->quorum, node->index, now);
	} else {
		node->word = answer.word;
		node->outcome = answer.word == WORD_FAILED ? answer.outcome : OUTCOME_OK;
		if (answer.word == WORD_FAILED)
			node->problem = answer.problem;
		if (answer.word == WORD_BUSY)
			node->holder = answer.holder;
		redlock_note_answer(redlock, node, owed.ask, &answer);
		quorum_answered(&redlock->quorum, node->index, owed.ask, owed.serial, answer.word,
		    answer.number, answer.clock_us, now);
	}
	if (answer.word == WORD_FAILED && answer.outcome == OUTCOME_UNKNOWN && answer.clock_us == 0)
		/* What else comes on it may be an answer to anything. */
		fail(node, OUTCOME_UNKNOWN, &answer.problem);
	else
		redlock_go_on(redlock);
}

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
		take_answer(node, reply);
		break;
	case NODE_CLOSED:
	case NODE_CONNECTING:
		break;
	}
}

/* -- requests ---------------------------------------------------------------------------------- */

static int64_t
not_after_us(const struct redlock_node *node, enum quorum_ask ask, struct instant now)
{
	const struct quorum *quorum = &node->redlock->quorum;
	int64_t limit_ns = quorum->node_limit_ns;
	int64_t valid_ns = quorum->ttl_ns - quorum->drift_ns - instant_between(quorum->t0, now);
	if (ask == ASK_RETAKE && valid_ns < limit_ns)
		limit_ns = valid_ns;
	return node->clock_us + (instant_between(node->clock_at, now) + limit_ns) / NS_PER_US;
}

void
redlock_node_pump(struct redlock_node *node)
{
	struct redlock *redlock = node->redlock;
	struct quorum_node *vote = in_quorum(node);
	enum quorum_ask ask = vote->want;
	struct instant now = clock_now();
	if (ask == ASK_NOTHING || node->phase != NODE_READY)
		return;
	if (ask != ASK_GIVE && instant_reached(redlock->request.not_later, now)) {
		vote->want = ASK_NOTHING;
		return;
	}
	if (node->owed_count == NODE_MOST_OWED) {
		fail_for(node, OUTCOME_UNKNOWN, "no answer in time");
		return;
	}
	/* A yes that is older than the question would make the lease longer than the server's. */
	if (node->owed_count == 0 && link_has_unread(&node->link)) {
		fail_for(node, OUTCOME_REFUSED, UNASKED);
		return;
	}
	struct owed *owed = &node->owed[(node->owed_first + node->owed_count++) % NODE_MOST_OWED];
	*owed = (struct owed){.ask = ask, .serial = redlock->quorum.serial};
	memcpy(owed->token, redlock->token, TOKEN_SIZE);
	redlock_request_append(node, ask, not_after_us(node, ask, now));
	quorum_sent(&redlock->quorum, node->index, now);
	if (!link_flush(&node->link)) {
		struct problem why;
		problem_set_errno(&why, "cannot write a request", ENOMEM);
		fail(node, OUTCOME_UNKNOWN, &why);
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
	fail(context, outcome, why);
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
	fail(node, outcome, &why);
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
