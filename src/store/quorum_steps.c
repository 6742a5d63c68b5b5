/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "store/quorum_parts.h"

#define SETTLE_LEAST NS_PER_MS

/* -- steps ------------------------------------------------------------------------------------- */

static void
finish(struct quorum *quorum, enum quorum_result result)
{
	quorum->result = result;
	quorum->due = INSTANT_NEVER;
}

static void
begin_step(struct quorum *quorum, enum quorum_step step, int64_t limit_ns, struct instant now)
{
	quorum->step = step;
	quorum->result = QUORUM_PENDING;
	quorum->serial++;
	quorum->limit_ns = limit_ns;
	quorum->sent_at = INSTANT_NEVER;
	quorum->due = instant_plus(now, limit_ns);
	for (int i = 0; i < quorum->count; i++) {
		struct quorum_node *node = &quorum->nodes[i];
		node->gone = false;
		if (node->owes > 0 &&
		    instant_between(node->owes_since, now) >= quorum->node_limit_ns)
			node->silent = true;
		node->vote = node->link == NODE_DOWN || node->silent ? VOTE_ABSENT : VOTE_NONE;
		node->want = ASK_NOTHING;
		node->asked = false;
	}
}

/* Everything that was taken, or may be, is given back; nobody waits for it. */
static void
ask_back(struct quorum *quorum)
{
	for (int i = 0; i < quorum->count; i++) {
		struct quorum_node *node = &quorum->nodes[i];
		node->want = node->may_have && node->link == NODE_UP ? ASK_GIVE : ASK_NOTHING;
	}
}

void
quorum_fail_attempt(struct quorum *quorum, enum quorum_result result)
{
	ask_back(quorum);
	finish(quorum, result);
}

void
quorum_ask_to_accept(struct quorum *quorum, struct instant now)
{
	quorum->step = QUORUM_ACCEPTING;
	quorum->serial++;
	quorum->due = instant_plus(now, quorum->node_limit_ns);
	for (int i = 0; i < quorum->count; i++) {
		struct quorum_node *node = &quorum->nodes[i];
		if (!node->taken)
			continue;
		node->vote = node->link == NODE_DOWN ? VOTE_ABSENT : VOTE_NONE;
		node->want = node->link == NODE_DOWN ? ASK_NOTHING : ASK_ACCEPT;
	}
}

/* -- decisions --------------------------------------------------------------------------------- */

bool
quorum_is_over(const struct quorum *quorum, struct instant now)
{
	return instant_reached(instant_plus(quorum->t0, quorum->ttl_ns - quorum->drift_ns), now);
}

/* As long as it may become a majority; `yes` are certain. */
static bool
can_still_win(const struct quorum *quorum)
{
	return quorum_count_votes(quorum, VOTE_YES) + quorum_count_votes(quorum, VOTE_NONE) >=
	    quorum->majority;
}

/* How long the rest is waited for when a majority is there: as long as that took. A node that never
 * comes costs it once; where all others are connected already, nothing. */
static int64_t
settle_ns(const struct quorum *quorum, struct instant now)
{
	int64_t took_ns = instant_between(quorum->begun_at, now);
	if (took_ns < SETTLE_LEAST)
		return took_ns == 0 ? 0 : SETTLE_LEAST;
	return took_ns < quorum->node_limit_ns / 4 ? took_ns : quorum->node_limit_ns / 4;
}

static void
decide_gathering(struct quorum *quorum, struct instant now)
{
	int up = 0, coming = 0, awaited = 0;
	for (int i = 0; i < quorum->count; i++) {
		const struct quorum_node *node = &quorum->nodes[i];
		up += node->link == NODE_UP && node->votes && !node->silent;
		coming += node->link == NODE_COMING;
		awaited += node->link == NODE_COMING && !node->late;
	}
	if (up + coming < quorum->majority) {
		finish(quorum, QUORUM_TOO_FEW);
		return;
	}
	/* All together, where the others are not far behind. */
	if (up < quorum->majority)
		quorum->due = INSTANT_NEVER; /* it may have been more */
	else if (quorum->due.ns == INSTANT_NEVER.ns)
		quorum->due = instant_plus(now, settle_ns(quorum, now));
	if (up < quorum->majority || (awaited > 0 && !instant_reached(quorum->due, now)))
		return;
	begin_step(quorum, QUORUM_TAKING, quorum->node_limit_ns, now);
	for (int i = 0; i < quorum->count; i++) {
		struct quorum_node *node = &quorum->nodes[i];
		if (node->link == NODE_COMING && node->late)
			node->vote = VOTE_ABSENT; /* it joins when it is there */
		else if (node->vote == VOTE_NONE && node->votes)
			node->want = ASK_TAKE;
		else if (!node->votes)
			node->vote = VOTE_MUTE;
	}
}

static void
decide_taking(struct quorum *quorum, struct instant now)
{
	int yes = quorum_count_votes(quorum, VOTE_YES), no = quorum_count_votes(quorum, VOTE_NO);
	if (yes >= quorum->majority) {
		quorum->t0 = quorum->sent_at;
		quorum_ask_to_accept(quorum, now);
		return;
	}
	if (can_still_win(quorum))
		return;
	/* Taken or out of order: whoever has not answered may be needed to tell. */
	if (yes + no >= quorum->majority)
		quorum_fail_attempt(quorum, QUORUM_TAKEN);
	else if (yes + no + quorum_count_votes(quorum, VOTE_NONE) < quorum->majority)
		quorum_fail_attempt(quorum, QUORUM_TOO_FEW);
}

static void
decide_accepting(struct quorum *quorum, struct instant now)
{
	if (quorum_count_votes(quorum, VOTE_YES) >= quorum->majority) {
		if (quorum_is_over(quorum, now)) {
			quorum_fail_attempt(quorum, QUORUM_TOO_LATE);
			return;
		}
		quorum->held = true;
		finish(quorum, QUORUM_WON);
		for (int i = 0; i < quorum->count; i++) {
			if (quorum->nodes[i].want == ASK_TAKE)
				quorum->nodes[i].want = ASK_RETAKE; /* by the rule of phase 2 */
		}
	} else if (!can_still_win(quorum)) {
		quorum_fail_attempt(quorum, QUORUM_TOO_FEW);
	}
}

static void
decide_renewing(struct quorum *quorum)
{
	if (quorum_count_votes(quorum, VOTE_YES) >= quorum->majority) {
		quorum->t0 = quorum->sent_at;
		finish(quorum, QUORUM_WON);
	} else if (quorum_count_votes(quorum, VOTE_NO) > quorum->count - quorum->majority) {
		quorum->held = false;
		finish(quorum, QUORUM_LOST);
	} else if (!can_still_win(quorum) && quorum_count_votes(quorum, VOTE_NONE) == 0) {
		finish(quorum, QUORUM_TOO_FEW);
	}
}

/* When a majority has done it nobody waits for a node that owes an older answer, or is not even
 * connected. */
static void
decide_giving(struct quorum *quorum)
{
	int done = 0, coming = 0, without = 0;
	for (int i = 0; i < quorum->count; i++) {
		const struct quorum_node *node = &quorum->nodes[i];
		if (node->vote == VOTE_NONE && node->link == NODE_UP && !node->slow)
			return;
		coming += node->vote == VOTE_NONE;
		done += node->given;
		without += !node->given && !node->may_have;
	}
	if (done >= quorum->majority)
		finish(quorum, QUORUM_WON);
	else if (without > quorum->count - quorum->majority)
		finish(quorum, QUORUM_LOST);
	else if (coming == 0)
		finish(quorum, QUORUM_TOO_FEW);
}

static void
decide_looking(struct quorum *quorum)
{
	int answered = quorum_count_votes(quorum, VOTE_YES) + quorum_count_votes(quorum, VOTE_NO);
	if (quorum_count_votes(quorum, VOTE_NONE) > 0)
		return;
	finish(quorum, answered >= quorum->majority ? QUORUM_WON : QUORUM_TOO_FEW);
}

void
quorum_decide(struct quorum *quorum, struct instant now)
{
	if (quorum->result != QUORUM_PENDING)
		return;
	switch (quorum->step) {
	case QUORUM_IDLE:
		break;
	case QUORUM_GATHERING:
		decide_gathering(quorum, now);
		break;
	case QUORUM_TAKING:
		decide_taking(quorum, now);
		break;
	case QUORUM_ACCEPTING:
		decide_accepting(quorum, now);
		break;
	case QUORUM_RENEWING:
		decide_renewing(quorum);
		break;
	case QUORUM_GIVING:
		decide_giving(quorum);
		break;
	case QUORUM_LOOKING:
		decide_looking(quorum);
		break;
	}
}

/* -- beginnings -------------------------------------------------------------------------------- */

void
quorum_begin_acquire(struct quorum *quorum, struct instant now)
{
	begin_step(quorum, QUORUM_GATHERING, 0, now);
	quorum->due = INSTANT_NEVER; /* connections have limits of their own */
	quorum->begun_at = now;
	quorum->held = false;
	quorum->fence = quorum->min_fence + 1;
	quorum->t0 = INSTANT_NEVER;
	for (int i = 0; i < quorum->count; i++) {
		struct quorum_node *node = &quorum->nodes[i];
		node->taken = node->may_have = node->given = false;
	}
	quorum_decide(quorum, now);
}

static void
begin_asking(struct quorum *quorum, enum quorum_step step, enum quorum_ask ask, int64_t limit_ns,
    struct instant now)
{
	begin_step(quorum, step, limit_ns, now);
	for (int i = 0; i < quorum->count; i++) {
		if (quorum->nodes[i].vote == VOTE_NONE)
			quorum->nodes[i].want = ask;
	}
	quorum_decide(quorum, now);
}

void
quorum_begin_renew(struct quorum *quorum, int64_t limit_ns, struct instant now)
{
	begin_asking(quorum, QUORUM_RENEWING, ASK_RENEW, limit_ns, now);
}

void
quorum_begin_look(struct quorum *quorum, int64_t limit_ns, struct instant now)
{
	begin_asking(quorum, QUORUM_LOOKING, ASK_LOOK, limit_ns, now);
}

/* A silent node is asked as well, behind what it owes. */
void
quorum_begin_release(struct quorum *quorum, int64_t limit_ns, struct instant now)
{
	begin_step(quorum, QUORUM_GIVING, limit_ns, now);
	quorum->held = false;
	for (int i = 0; i < quorum->count; i++) {
		struct quorum_node *node = &quorum->nodes[i];
		node->vote = VOTE_ABSENT;
		node->slow = node->owes > 0;
		if (node->given || !node->may_have || node->link == NODE_DOWN)
			continue;
		node->want = ASK_GIVE;
		node->vote = VOTE_NONE;
	}
	quorum_decide(quorum, now);
}
