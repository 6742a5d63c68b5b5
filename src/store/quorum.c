/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "store/quorum_parts.h"

#include <string.h>

#define NODE_LIMIT_LEAST (50 * NS_PER_MS)
#define SPLIT_UNIT_LEAST (2 * NS_PER_MS)
#define SPLIT_UNITS_MOST 5

void
quorum_init(struct quorum *quorum, int count, int64_t ttl_ns, int64_t drift_ns, int64_t min_fence)
{
	memset(quorum, 0, sizeof *quorum);
	quorum->count = count;
	quorum->majority = count / 2 + 1;
	quorum->ttl_ns = ttl_ns;
	quorum->drift_ns = drift_ns;
	quorum->node_limit_ns = ttl_ns / 20 > NODE_LIMIT_LEAST ? ttl_ns / 20 : NODE_LIMIT_LEAST;
	quorum->min_fence = min_fence;
	quorum->sent_at = quorum->due = INSTANT_NEVER;
	for (int i = 0; i < count; i++)
		quorum->nodes[i].votes = true;
}

int
quorum_count_votes(const struct quorum *quorum, enum quorum_vote vote)
{
	int count = 0;
	for (int i = 0; i < quorum->count; i++)
		count += quorum->nodes[i].vote == vote;
	return count;
}

int64_t
quorum_split_pause(int64_t took_ns, unsigned int splits, uint64_t random)
{
	int64_t unit = took_ns > SPLIT_UNIT_LEAST ? took_ns : SPLIT_UNIT_LEAST;
	if (unit > QUORUM_SPLIT_PAUSE_MOST)
		unit = QUORUM_SPLIT_PAUSE_MOST;
	uint64_t range = (uint64_t)unit * (splits < SPLIT_UNITS_MOST ? splits : SPLIT_UNITS_MOST);
	int64_t pause = unit / 2 + (int64_t)(random % range);
	return pause < QUORUM_SPLIT_PAUSE_MOST ? pause : QUORUM_SPLIT_PAUSE_MOST;
}

/* -- what happens ------------------------------------------------------------------------------ */

void
quorum_set_link(struct quorum *quorum, int index, enum quorum_link link, struct instant now)
{
	struct quorum_node *node = &quorum->nodes[index];
	node->link = link;
	if (link != NODE_COMING)
		node->late = link == NODE_DOWN;
	if (link != NODE_UP) {
		node->owes = 0;
		node->silent = false;
		if (node->asked && node->vote == VOTE_NONE)
			node->vote = VOTE_ABSENT;
	}
	if (link == NODE_DOWN) {
		node->want = ASK_NOTHING;
		if (node->vote == VOTE_NONE)
			node->vote = VOTE_ABSENT;
	}
	/* It comes in the middle of a step, in which it was not asked yet. */
	bool joins = link != NODE_DOWN && !node->asked && node->vote == VOTE_ABSENT &&
	    quorum->result == QUORUM_PENDING;
	if (link == NODE_UP && node->want == ASK_TAKE && !node->votes) {
		node->want = ASK_NOTHING;
		node->vote = VOTE_MUTE;
	} else if (joins && quorum->step == QUORUM_TAKING && !node->votes) {
		node->vote = VOTE_MUTE;
	} else if (joins && (quorum->step == QUORUM_TAKING || quorum->step == QUORUM_RENEWING)) {
		node->vote = VOTE_NONE;
		node->want = quorum->step == QUORUM_TAKING ? ASK_TAKE : ASK_RENEW;
	} else if (joins && quorum->step == QUORUM_GIVING && node->may_have && !node->given) {
		node->vote = VOTE_NONE;
		node->want = ASK_GIVE;
	}
	quorum_decide(quorum, now);
}

void
quorum_owes(struct quorum *quorum, int index, struct instant now)
{
	struct quorum_node *node = &quorum->nodes[index];
	if (node->owes++ == 0)
		node->owes_since = now;
}

void
quorum_sent(struct quorum *quorum, int index, struct instant now)
{
	struct quorum_node *node = &quorum->nodes[index];
	if (node->want == ASK_TAKE || node->want == ASK_RETAKE) {
		node->may_have = true;
		node->given = false;
	}
	node->want = ASK_NOTHING;
	node->asked = true;
	quorum_owes(quorum, index, now);
	if (quorum->sent_at.ns == INSTANT_NEVER.ns) {
		quorum->sent_at = now;
		if (quorum->result == QUORUM_PENDING)
			quorum->due = instant_plus(now, quorum->limit_ns);
	}
}

void
quorum_heard(struct quorum *quorum, int index, struct instant now)
{
	struct quorum_node *node = &quorum->nodes[index];
	if (node->owes > 0)
		node->owes--;
	node->owes_since = now;
	node->silent = false;
	quorum_decide(quorum, now);
}

void
quorum_refuse(struct quorum *quorum)
{
	if (quorum->step <= QUORUM_ACCEPTING && quorum->result == QUORUM_PENDING)
		quorum_fail_attempt(quorum, QUORUM_SAME);
}

static int64_t
above(int64_t one, int64_t other)
{
	return one > other ? one : other;
}

/* Phase 1, or later: then it is asked to accept what the others have accepted, so that the number
 * is known there too. */
static void
take_first_answer(struct quorum *quorum, struct quorum_node *node, enum quorum_word word,
    int64_t number, int64_t clock_us)
{
	bool attempting = quorum->step == QUORUM_TAKING || quorum->step == QUORUM_ACCEPTING;
	bool wanted = quorum->held || (attempting && quorum->result == QUORUM_PENDING);
	if (word == WORD_BUSY)
		node->may_have = false;
	if (word == WORD_OWNED && attempting && quorum->result == QUORUM_PENDING) {
		quorum_fail_attempt(quorum, QUORUM_SAME);
		return;
	}
	if (!wanted)
		return;
	if (word == WORD_TAKEN) {
		bool undecided = attempting && quorum->result == QUORUM_PENDING;
		int64_t least = above(number + 1, clock_us);
		if (undecided)
			node->taken = true;
		if (quorum->step == QUORUM_TAKING && undecided)
			quorum->fence = above(quorum->fence, least);
		else if (node->want == ASK_NOTHING)
			node->want = ASK_ACCEPT;
	}
	if (quorum->step == QUORUM_TAKING) {
		node->vote = word == WORD_FAILED ? VOTE_ABSENT
		    : word == WORD_TAKEN         ? VOTE_YES
						 : VOTE_NO;
	} else if (quorum->step == QUORUM_ACCEPTING && !node->taken) {
		node->vote = VOTE_ABSENT;
	}
}

static void
take_number_answer(struct quorum *quorum, struct quorum_node *node, enum quorum_word word,
    int64_t number, struct instant now)
{
	if (quorum->step != QUORUM_ACCEPTING || quorum->result != QUORUM_PENDING || !node->taken)
		return;
	if (word == WORD_ACCEPTED) {
		node->vote = VOTE_YES;
	} else if (quorum_is_over(quorum, now)) {
		/* However often a number is refused, an attempt is no longer than its lease. */
		quorum_fail_attempt(quorum, QUORUM_TOO_LATE);
	} else if (word == WORD_LOW && number < INT64_MAX - 1) {
		quorum->fence = above(quorum->fence, number) + 1;
		quorum_ask_to_accept(quorum, now);
	} else {
		/* GONE: it has expired, or was taken away, between the phases. */
		node->vote = VOTE_ABSENT;
	}
}

static void
take_renewal(struct quorum_node *node, enum quorum_word word)
{
	node->vote = word == WORD_YES                    ? VOTE_YES
	    : word == WORD_GONE || word == WORD_ANOTHERS ? VOTE_NO
							 : VOTE_ABSENT;
	/* Where it is gone it is taken again when a majority has said that it is still ours: never
	 * on the strength of what is taken again. */
	node->gone = word == WORD_GONE;
	/* Another's may be the marker of --break, which is ours to give back. */
	node->may_have = word != WORD_GONE;
	node->given = false;
}

static void
take_again(struct quorum *quorum, struct instant now)
{
	if (!quorum->held || quorum->step != QUORUM_RENEWING || quorum->result != QUORUM_WON ||
	    quorum_is_over(quorum, now))
		return;
	for (int i = 0; i < quorum->count; i++) {
		struct quorum_node *node = &quorum->nodes[i];
		if (node->gone && node->link == NODE_UP)
			node->want = ASK_RETAKE;
		node->gone = false; /* once a round */
	}
}

static void
take_return(struct quorum_node *node, enum quorum_word word)
{
	if (word == WORD_FAILED) {
		node->vote = VOTE_ABSENT;
		return;
	}
	node->may_have = false;
	node->given = node->given || word == WORD_YES;
	node->vote = word == WORD_YES ? VOTE_YES : VOTE_NO;
}

void
quorum_answered(struct quorum *quorum, int index, enum quorum_ask ask, unsigned int serial,
    enum quorum_word word, int64_t number, int64_t clock_us, struct instant now)
{
	struct quorum_node *node = &quorum->nodes[index];
	bool is_now = serial == quorum->serial;
	if (node->owes > 0)
		node->owes--;
	node->owes_since = now;
	node->silent = false;
	switch (ask) {
	case ASK_NOTHING:
		break;
	case ASK_TAKE:
		take_first_answer(quorum, node, word, number, clock_us);
		break;
	case ASK_ACCEPT:
		if (is_now)
			take_number_answer(quorum, node, word, number, now);
		break;
	case ASK_RENEW:
		if (is_now && quorum->step == QUORUM_RENEWING)
			take_renewal(node, word);
		break;
	case ASK_RETAKE:
		if (word == WORD_BUSY || word == WORD_LOW)
			node->may_have = false;
		break;
	case ASK_GIVE:
		if (is_now && quorum->step == QUORUM_GIVING)
			take_return(node, word);
		else if (word != WORD_FAILED) {
			node->may_have = false;
			node->given = node->given || word == WORD_YES;
		}
		break;
	case ASK_LOOK:
		if (is_now && quorum->step == QUORUM_LOOKING)
			node->vote = word == WORD_BUSY ? VOTE_NO
			    : word == WORD_FREE        ? VOTE_YES
						       : VOTE_ABSENT;
		break;
	}
	quorum_decide(quorum, now);
	take_again(quorum, now);
}

/* Who has not answered by now is silent. */
void
quorum_tick(struct quorum *quorum, struct instant now)
{
	if (!instant_reached(quorum->due, now))
		return;
	if (quorum->step == QUORUM_GATHERING) {
		quorum_decide(quorum, now);
		return;
	}
	quorum->due = INSTANT_NEVER;
	for (int i = 0; i < quorum->count; i++) {
		struct quorum_node *node = &quorum->nodes[i];
		if (node->vote != VOTE_NONE)
			continue;
		node->vote = VOTE_ABSENT;
		node->silent = node->asked;
		node->late = node->late || node->link == NODE_COMING;
		if (!node->asked)
			node->want = ASK_NOTHING;
	}
	quorum_decide(quorum, now);
}
