/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What a node is asked, and what it answers. Its requests are a pipeline: an attempt that failed is
 * asked back right behind what asked for it, so that nothing of it is left wherever it arrives; and
 * where the connection has ended before that, at the beginning of the next one. */
#include <errno.h>
#include <string.h>

#include "store/redis_answer.h"
#include "store/redlock_parts.h"

#define UNASKED "the server answers what was not asked"

static struct quorum_node *
in_quorum(struct redlock_node *node)
{
	return &node->redlock->quorum.nodes[node->index];
}

static void
fail_for(struct redlock_node *node, enum outcome outcome, const char *text)
{
	struct problem why;
	problem_set(&why, "%s", text);
	redlock_node_fail(node, outcome, &why);
}

/* -- what is owed ------------------------------------------------------------------------------ */

/* There is room. */
static void
add_owed(struct redlock_node *node, enum quorum_ask ask, const char *token)
{
	struct owed *owed = &node->owed[(node->owed_first + node->owed_count++) % NODE_MOST_OWED];
	*owed = (struct owed){.ask = ask, .serial = node->redlock->quorum.serial};
	memcpy(owed->token, token, TOKEN_SIZE);
}

/* There is one. */
static struct owed
end_owed(struct redlock_node *node)
{
	struct owed owed = node->owed[node->owed_first];
	node->owed_first = (node->owed_first + 1) % NODE_MOST_OWED;
	node->owed_count--;
	return owed;
}

/* -- tokens that may stand there --------------------------------------------------------------- */

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
redlock_node_remember(struct redlock_node *node)
{
	const struct quorum_node *vote = in_quorum(node);
	while (node->owed_count > 0) {
		const struct owed owed = end_owed(node);
		if (owed.ask == ASK_TAKE || owed.ask == ASK_RETAKE || owed.ask == ASK_GIVE ||
		    owed.ask == ASK_NOTHING)
			remember(node, owed.token);
	}
	if (vote->may_have && !vote->given) /* and its answer was there */
		remember(node, node->redlock->token);
}

/* The present token: what is held is given back by a release alone, when its command is dead, even
 * if it is lost; and an attempt may still come to be held. */
static bool
is_in_use(const struct redlock *redlock)
{
	const struct quorum *quorum = &redlock->quorum;
	bool attempting = quorum->step <= QUORUM_ACCEPTING && quorum->result == QUORUM_PENDING;
	return quorum->held || redlock->was_held || attempting || quorum->step == QUORUM_GIVING;
}

void
redlock_node_give_back(struct redlock_node *node)
{
	struct redlock *redlock = node->redlock;
	int count = node->stale_count;
	node->stale_count = 0;
	for (int i = 0; i < count; i++) {
		if (is_in_use(redlock) && strcmp(node->stale[i], redlock->token) == 0)
			continue;
		add_owed(node, ASK_NOTHING, node->stale[i]);
		redlock_request_append_give(node, node->stale[i], 0);
		quorum_owes(&redlock->quorum, node->index, clock_now());
	}
	if (node->owed_count > 0)
		(void)link_flush(&node->link);
}

/* -- answers ----------------------------------------------------------------------------------- */

void
redlock_node_hear(struct redlock_node *node, const struct reply *reply)
{
	struct redlock *redlock = node->redlock;
	struct redlock_answer answer;
	struct instant now = clock_now();
	if (node->owed_count == 0) {
		fail_for(node, OUTCOME_REFUSED, UNASKED);
		return;
	}
	const struct owed owed = end_owed(node);
	bool is_present = owed.ask != ASK_NOTHING && strcmp(owed.token, redlock->token) == 0;
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
		redlock_node_fail(node, OUTCOME_UNKNOWN, &answer.problem);
	else
		redlock_go_on(redlock);
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
	add_owed(node, ask, redlock->token);
	redlock_request_append(node, ask, not_after_us(node, ask, now));
	quorum_sent(&redlock->quorum, node->index, now);
	if (!link_flush(&node->link)) {
		struct problem why;
		problem_set_errno(&why, "cannot write a request", ENOMEM);
		redlock_node_fail(node, OUTCOME_UNKNOWN, &why);
	}
}
