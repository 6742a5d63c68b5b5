/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include <inttypes.h>
#include <stdio.h>

#include "store/redlock_parts.h"

/* For so long a split vote, in which nobody has a majority, is tried again before it counts as
 * held. */
#define SPLIT_PATIENCE (300 * NS_PER_MS)

/* xorshift64 (Marsaglia 2003). */
static uint64_t
next_random(struct redlock *redlock)
{
	redlock->random ^= redlock->random << 13;
	redlock->random ^= redlock->random >> 7;
	redlock->random ^= redlock->random << 17;
	return redlock->random;
}

/* -- answers ----------------------------------------------------------------------------------- */

static void
report(struct redlock *redlock, struct store_answer *answer)
{
	const struct quorum *quorum = &redlock->quorum;
	redlock->pending = false;
	answer->sent_at = redlock->asked_at;
	if (answer->outcome == OUTCOME_OK && quorum->held)
		answer->sent_at = quorum->t0;
	else if (quorum->sent_at.ns != INSTANT_NEVER.ns)
		answer->sent_at = quorum->sent_at;
	answer->received_at = clock_now();
	redlock->store.events->answered(redlock->store.context, answer);
}

static void
report_too_few(struct redlock *redlock)
{
	struct store_answer answer = {.outcome = OUTCOME_UNKNOWN};
	answer.outcome = redlock_explain_too_few(redlock, &answer.problem);
	report(redlock, &answer);
}

static void
report_too_late(struct redlock *redlock)
{
	struct store_answer answer = {.outcome = OUTCOME_UNKNOWN};
	problem_set(&answer.problem,
	    "a majority has answered, but so late that the lease was over by then");
	report(redlock, &answer);
}

static void
report_acquired(struct redlock *redlock)
{
	struct store_answer answer = {.outcome = OUTCOME_OK, .token = redlock->token};
	int64_t fence = redlock->settings->naive ? redlock->counted : redlock->quorum.fence;
	snprintf(answer.fence, sizeof answer.fence, "%" PRId64, fence);
	report(redlock, &answer);
}

static void
report_same(struct redlock *redlock)
{
	struct store_answer answer = {.outcome = OUTCOME_REFUSED,
	    .for_good = true,
	    .problem = redlock->conflict};
	if (answer.problem.text[0] == '\0')
		problem_set(&answer.problem,
		    "two of the nodes are one server: a quorum needs independent servers");
	report(redlock, &answer);
}

void
redlock_begin_attempt(struct redlock *redlock)
{
	identity_make_token(redlock->token);
	redlock->again_at = INSTANT_NEVER;
	redlock->was_held = false;
	redlock->counted = 0;
	quorum_begin_acquire(&redlock->quorum, clock_now());
	if (redlock->conflict.text[0] != '\0') /* found between two attempts */
		quorum_refuse(&redlock->quorum);
}

/* Nobody has a majority: all have given up what they had, and who comes back first has it. */
static void
conclude_taken(struct redlock *redlock)
{
	struct store_answer answer = {.outcome = OUTCOME_HELD};
	/* Looked at once: who is stopped between two looks would take that for a slow attempt. */
	struct instant now = clock_now();
	int64_t took_ns = instant_between(redlock->quorum.begun_at, now);
	int most = 0;
	redlock_find_holder(redlock, &answer.holder, &most);
	answer.place.rank = -1;
	if (most >= redlock->quorum.majority ||
	    instant_between(redlock->asked_at, now) >= SPLIT_PATIENCE) {
		report(redlock, &answer);
		return;
	}
	redlock->splits++;
	redlock->again_at =
	    instant_plus(now, quorum_split_pause(took_ns, redlock->splits, next_random(redlock)));
}

static void
conclude_acquire(struct redlock *redlock)
{
	switch (redlock->quorum.result) {
	case QUORUM_PENDING:
		break;
	case QUORUM_WON:
		redlock->was_held = true;
		report_acquired(redlock);
		break;
	case QUORUM_TAKEN:
		conclude_taken(redlock);
		break;
	case QUORUM_LOST:
		/* It was to be confirmed, and is gone: what comes now is another acquisition, to
		 * which what a few nodes still have of this one is no obstacle. */
		quorum_begin_release(&redlock->quorum, 0, clock_now());
		redlock_pump(redlock);
		redlock_begin_attempt(redlock);
		break;
	case QUORUM_TOO_FEW:
		report_too_few(redlock);
		break;
	case QUORUM_TOO_LATE:
		report_too_late(redlock);
		break;
	case QUORUM_SAME:
		report_same(redlock);
		break;
	}
}

static void
conclude_lost(struct redlock *redlock)
{
	struct store_answer answer = {.outcome = OUTCOME_LOST, .gone = true};
	for (int i = 0; i < redlock->settings->count; i++) {
		const struct quorum_node *vote = &redlock->quorum.nodes[i];
		if (vote->vote == VOTE_NO && redlock->nodes[i].word == WORD_ANOTHERS)
			answer.gone = false;
		if (vote->vote != VOTE_NO && vote->may_have && !vote->given)
			answer.partly = true;
	}
	report(redlock, &answer);
}

static void
conclude_look(struct redlock *redlock)
{
	struct store_answer answer = {.outcome = OUTCOME_HELD};
	int most = 0;
	if (redlock->quorum.result != QUORUM_WON) {
		report_too_few(redlock);
		return;
	}
	redlock_find_holder(redlock, &answer.holder, &most);
	answer.place.rank = -1;
	if (quorum_count_votes(&redlock->quorum, VOTE_YES) >= redlock->quorum.majority)
		answer.outcome = OUTCOME_OK;
	report(redlock, &answer);
}

void
redlock_conclude(struct redlock *redlock)
{
	struct store_answer done = {.outcome = OUTCOME_OK, .token = redlock->token};
	enum quorum_result result = redlock->quorum.result;
	switch (redlock->request.verb) {
	case STORE_ACQUIRE:
		conclude_acquire(redlock);
		return;
	case STORE_LOOK:
		conclude_look(redlock);
		return;
	case STORE_RENEW:
	case STORE_TOUCH:
		break;
	case STORE_RELEASE:
		/* An attempt that is broken off has nothing that must be given back. */
		if (!redlock->was_held)
			result = QUORUM_WON;
		break;
	}
	if (result == QUORUM_WON)
		report(redlock, &done);
	else if (result == QUORUM_LOST)
		conclude_lost(redlock);
	else
		report_too_few(redlock);
}
