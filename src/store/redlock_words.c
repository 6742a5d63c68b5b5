/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include <stdio.h>
#include <string.h>

#include "base/values.h"
#include "store/redlock_parts.h"

/* -- who has it -------------------------------------------------------------------------------- */

static bool
is_busy(const struct redlock *redlock, int index)
{
	return redlock->quorum.nodes[index].vote == VOTE_NO &&
	    redlock->nodes[index].word == WORD_BUSY;
}

/* INT64_MAX: for ever. */
static int64_t
time_left(const struct redlock *redlock, int index)
{
	int64_t left_ns = redlock->nodes[index].holder.left_ns;
	return left_ns < 0 ? INT64_MAX : left_ns;
}

/* Until so many nodes are free that there may be a majority, if nothing is done; -1: never. */
static int64_t
find_time_left(const struct redlock *redlock)
{
	int busy = 0, count = redlock->settings->count;
	for (int i = 0; i < count; i++)
		busy += is_busy(redlock, i);
	int needed = redlock->quorum.majority - (count - busy);
	for (int i = 0; i < count; i++) {
		int sooner = 0, as_soon = 0;
		if (!is_busy(redlock, i))
			continue;
		for (int k = 0; k < count; k++) {
			sooner +=
			    is_busy(redlock, k) && time_left(redlock, k) < time_left(redlock, i);
			as_soon +=
			    is_busy(redlock, k) && time_left(redlock, k) == time_left(redlock, i);
		}
		if (sooner < needed && sooner + as_soon >= needed)
			return time_left(redlock, i) == INT64_MAX ? -1 : time_left(redlock, i);
	}
	return 0;
}

void
redlock_find_holder(const struct redlock *redlock, struct holder *holder, int *most)
{
	const struct redlock_node *best = NULL;
	*most = 0;
	for (int i = 0; i < redlock->settings->count; i++) {
		const struct redlock_node *node = &redlock->nodes[i];
		int same = 0;
		if (!is_busy(redlock, i))
			continue;
		for (int k = 0; k < redlock->settings->count; k++)
			same += is_busy(redlock, k) &&
			    strcmp(redlock->nodes[k].holder.token, node->holder.token) == 0;
		/* Of a marker the one who has put it there may not be known everywhere. */
		if (same > *most || (same == *most && best && !best->holder.known)) {
			best = node;
			*most = same;
		}
	}
	if (best == NULL)
		return;
	*holder = best->holder;
	holder->left_ns = find_time_left(redlock);
	const char *owner = strrchr(holder->token, ':');
	holder->ours = holder->broken && owner != NULL && strcmp(owner + 1, redlock->token) == 0;
}

/* -- why not ----------------------------------------------------------------------------------- */

/* OK: it has voted. */
static enum outcome
explain_node(const struct redlock *redlock, int index, struct problem *problem)
{
	const struct quorum_node *vote = &redlock->quorum.nodes[index];
	const struct redlock_node *node = &redlock->nodes[index];
	*problem = node->problem;
	if (!vote->votes && node->phase == NODE_READY)
		return OUTCOME_REFUSED;
	if (vote->vote == VOTE_YES || vote->vote == VOTE_NO)
		return OUTCOME_OK;
	if (redlock->quorum.step == QUORUM_GIVING && (vote->given || !vote->may_have))
		return OUTCOME_OK; /* in a try before this one, or there was nothing to give back */
	if (node->phase == NODE_READY && node->outcome == OUTCOME_OK) {
		if (redlock->quorum.step == QUORUM_GATHERING && !vote->silent)
			return OUTCOME_OK; /* it would have */
		problem_set(problem, "%s",
		    !vote->asked || vote->owes > 0 ? "no answer in time"
			: node->word == WORD_BUSY  ? "another has it there"
						   : "it is not ours there any more");
		return OUTCOME_UNKNOWN;
	}
	if (node->phase != NODE_READY && node->phase != NODE_CLOSED) {
		if (redlock->quorum.step == QUORUM_GATHERING)
			return OUTCOME_OK; /* without it there were too few already */
		problem_set(problem, "not connected yet");
		return OUTCOME_UNREACHABLE;
	}
	return node->outcome == OUTCOME_OK ? OUTCOME_UNREACHABLE : node->outcome;
}

/* How much it says of the whole. */
static int
rank_of(enum outcome outcome)
{
	switch (outcome) {
	case OUTCOME_OK:
	case OUTCOME_HELD:
	case OUTCOME_LOST:
	case OUTCOME_UNCONFIRMED:
		break;
	case OUTCOME_UNREACHABLE:
		return 1;
	case OUTCOME_UNKNOWN:
		return 2;
	case OUTCOME_REFUSED:
		return 3;
	case OUTCOME_DENIED:
		return 4;
	}
	return 0;
}

enum outcome
redlock_explain_too_few(const struct redlock *redlock, struct problem *problem)
{
	enum outcome outcome = OUTCOME_OK;
	bool is_passing = true, is_setting = false, is_system = false, is_young = false;
	char list[QUORUM_MOST * (sizeof problem->text + 520)] = "";
	size_t used = 0;
	for (int i = 0; i < redlock->settings->count; i++) {
		struct problem why;
		enum outcome of_node = explain_node(redlock, i, &why);
		if (of_node == OUTCOME_OK)
			continue;
		used += (size_t)snprintf(list + used, sizeof list - used, "%s%s: %s",
		    used == 0 ? "" : "; ", redlock->nodes[i].member->server, why.text);
		if (of_node == OUTCOME_REFUSED && !why.is_passing)
			is_passing = false;
		is_young = is_young || !redlock->quorum.nodes[i].votes;
		is_setting = is_setting || why.is_setting;
		is_system = is_system || why.is_system;
		if (rank_of(of_node) > rank_of(outcome))
			outcome = of_node;
	}
	problem_set(problem, "fewer than %d of %d nodes vote%s%s%s", redlock->quorum.majority,
	    redlock->settings->count, list[0] != '\0' ? ": " : "", list,
	    is_young ? "; with -w that is waited for" : "");
	problem->is_passing = outcome == OUTCOME_REFUSED && is_passing;
	problem->is_setting = is_setting;
	problem->is_system = is_system && outcome == OUTCOME_UNREACHABLE;
	/* Nothing was asked of a majority that could have been done. */
	if (outcome == OUTCOME_UNKNOWN && redlock->quorum.step == QUORUM_GATHERING)
		outcome = OUTCOME_UNREACHABLE;
	return outcome == OUTCOME_OK ? OUTCOME_UNKNOWN : outcome;
}

/* -- who may vote ------------------------------------------------------------------------------ */

/* One server under two names, or two that have the same data, are one vote. */
static bool
is_another(const struct redlock_node *node, const struct redlock_node *other,
    struct problem *problem)
{
	const struct redlock_facts *one = &node->facts, *two = &other->facts;
	if (other == node || other->phase != NODE_READY)
		return true;
	bool same = one->run_id[0] != '\0' && strcmp(one->run_id, two->run_id) == 0;
	bool copy = one->replid[0] != '\0' && strcmp(one->replid, two->replid) == 0 &&
	    (one->is_replica || two->is_replica);
	if (!same && !copy)
		return true;
	problem_set(problem, "%.180s and %.180s are %s: a quorum needs independent servers",
	    other->member->server, node->member->server,
	    same ? "one server" : "a server and its replica");
	return false;
}

bool
redlock_node_votes(struct redlock_node *node)
{
	const struct redlock_settings *settings = node->redlock->settings;
	struct instant now = clock_now();
	struct instant since =
	    node->up_since.ns != INSTANT_NEVER.ns ? node->up_since : node->watched_since;
	char up[32], needed[32];
	int64_t up_ns = instant_between(since, now);
	if (node->phase != NODE_READY || up_ns >= settings->quarantine_ns)
		return true;
	value_print_duration(needed, sizeof needed, settings->quarantine_ns);
	value_print_duration(up, sizeof up, up_ns - up_ns % NS_PER_S);
	if (node->up_since.ns == INSTANT_NEVER.ns)
		problem_set(&node->problem,
		    "for how long it has been up it does not tell (this user lacks +info), and it has "
		    "been watched for less than the --quarantine of %s",
		    needed);
	else
		problem_set(&node->problem, "up for %s, less than the --quarantine of %s", up,
		    needed);
	node->problem.is_passing = true;
	node->outcome = OUTCOME_REFUSED;
	return false;
}

bool
redlock_is_twice(const struct redlock_node *node, struct problem *problem)
{
	const struct redlock *redlock = node->redlock;
	for (int i = 0; i < redlock->settings->count; i++) {
		if (!is_another(node, &redlock->nodes[i], problem))
			return true;
	}
	return false;
}
