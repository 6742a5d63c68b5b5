/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "checker.h"

#include <stdio.h>
#include <string.h>

#include "counts.h"
#include "dlock.h"
#include "end_check.h"
#include "faults.h"
#include "line_check.h"
#include "sure_check.h"
#include "trace.h"
#include "world.h"

/* A machine that has just woken: what is due is done before anything else, but not in no time. */
#define WAKING (INT64_C(20) * 1000000)
/* Two clocks agree so far, in percent. */
#define CLOCKS_AGREE 98
/* From having the lock to a command that runs. */
#define START (INT64_C(20) * 1000000)
#define GHOST_SLACK (INT64_C(20) * 1000000)

/* When a server forgot last; 0: never. */
static int64_t forgotten_at;
static bool clock_was_set;

void
checker_begin(void)
{
	forgotten_at = 0;
	clock_was_set = false;
	line_check_begin();
	sure_check_begin();
}

static long long
ms(int64_t at)
{
	return (long long)((at - WORLD_BEGIN) / 1000000);
}

/* -- what servers have confirmed --------------------------------------------------------------- */

static bool
is_named(const char *name, size_t length, const char *marker, const char *token)
{
	size_t marked = strlen(marker), size = strlen(token);
	return length == marked + size && memcmp(name, marker, marked) == 0 &&
	    memcmp(name + marked, token, size) == 0;
}

bool
checker_is_of(const char *name, size_t length, const char *token)
{
	return is_named(name, length, "", token) || is_named(name, length, "dlock!broken:", token);
}

/* Until when the server keeps it for that dlock, true time; 0: it does not. */
static int64_t
kept_until(struct node *node, const struct dlock *dlock)
{
	const char *token = dlock_token(dlock);
	struct model *model = node_look(node);
	struct model_key key;
	struct model_member member;
	size_t at = 0;
	if (!model_find_key(model, dlock->keys.lock, &key) || key.type != MODEL_STRING)
		return 0;
	if (dlock->plan->mode == MODE_EXCLUSIVE)
		return checker_is_of(key.value, key.value_length, token)
		    ? node_time_of(node, key.expires_ms * 1000)
		    : 0;
	if (strncmp(key.value, "dlock!s", 7) != 0 ||
	    !model_find_key(model, dlock->keys.members, &key) || key.type != MODEL_ZSET)
		return 0;
	/* Broken, and had again since: then there are two. */
	int64_t until = 0;
	while (model_next_member(model, &key, &at, &member)) {
		int64_t its = node_time_of(node, (int64_t)member.score * 1000 + 1000);
		if (checker_is_of(member.name, member.length, token) && its > until)
			until = its;
	}
	return until;
}

/* When the server, or the first of them, gave it the lock: by what it asked, or handed on by
 * another. */
static void
note_taking(struct node *node, struct dlock *dlock, bool has_it, const struct dlock *asking)
{
	const char *token = dlock_token(dlock);
	if (strcmp(dlock->taken_token, token) != 0 || (nodes_count() == 1 && !has_it)) {
		snprintf(dlock->taken_token, sizeof dlock->taken_token, "%s", token);
		dlock->taken_at = 0;
	}
	if (!has_it || dlock->taken_at != 0)
		return;
	dlock->taken_at = world.now;
	/* A clock set back gives who comes later a lower ticket, and has what had expired back. */
	bool is_first = dlock == asking && dlock->kept_until[node->index] == 0;
	if (nodes_count() == 1 && (is_first || !clock_was_set))
		line_check_order(node, dlock);
}

/* While COMMAND runs, and is not known to have been forgotten. */
static void
note_possession(struct node *node, struct dlock *dlock, const struct dlock *asking)
{
	int64_t until = kept_until(node, dlock);
	note_taking(node, dlock, until > 0, asking);
	if (until > 0) {
		sure_check_renewal(dlock, dlock->kept_until[node->index], until);
		dlock->kept_until[node->index] = until;
		dlock->is_forgotten[node->index] = false;
	} else if (!dlock->is_forgotten[node->index] &&
	    dlock->kept_until[node->index] > world.now) {
		dlock->kept_until[node->index] = world.now;
	}
}

/* What was on its way when dlock gave up takes nothing any more when it comes too late: it says
 * until when it is wanted. (A little earlier what undoes it is on its way, too.) */
static void
check_ghost(struct node *node, struct dlock *dlock, const struct dlock *asking)
{
	int64_t until = kept_until(node, dlock), before = dlock->had_until[node->index];
	/* By hand-off, for the moment that a claim lasts, who has gone may have it. */
	if (!dlock_is_over(dlock) || dlock != asking) {
		dlock->had_until[node->index] = until;
		return;
	}
	/* A renewal may come late: the holder's lease was to last until then. */
	if (before != 0 && dlock->runner != NULL)
		return;
	int64_t wanted_until = dlock->outer->ended_at +
	    lease_request_limit(&dlock->settings.lock.terms) * 102 / 100 + GHOST_SLACK;
	if (until > before && !clock_was_set && world.now > wanted_until)
		world_fail("%s has given the lock to d%d, which had gone %lld ms before",
		    node->name, dlock->number,
		    (long long)((world.now - dlock->outer->ended_at) / 1000000));
}

bool
checker_keeps(const struct dlock *dlock, int64_t at)
{
	int kept = 0;
	for (int i = 0; i < nodes_count(); i++)
		kept += dlock->kept_until[i] > at;
	return kept >= nodes_count() / 2 + 1;
}

bool
checker_has_forgotten(void)
{
	return forgotten_at != 0;
}

static void
check_expiries(struct node *node)
{
	struct model *model = node_look(node);
	struct model_key key;
	size_t at = 0;
	while (model_next_key(model, &at, &key)) {
		bool is_counter = strstr(key.name, "#fence") != NULL &&
		    dlocks_get(0)->plan->fence_mode == FENCE_COUNTER;
		if (key.expires_ms < 0 && !is_counter)
			world_fail("the key %s has no expiry at %s", key.name, node->name);
	}
}

void
checker_node_has_worked(struct node *node, const struct dlock *dlock)
{
	for (int i = 0; i < dlocks_count(); i++) {
		if (!dlocks_get(i)->is_begun)
			continue;
		note_possession(node, dlocks_get(i), dlock);
		check_ghost(node, dlocks_get(i), dlock);
	}
	check_expiries(node);
	line_check_node(node);
	sure_check_number(node);
}

/* Others may have the lock from now on, but this one only as long as it may believe in it: that is
 * what a lease is for. */
static void
excuse(struct dlock *dlock)
{
	for (int i = 0; i < nodes_count(); i++) {
		if (dlock->kept_until[i] > dlock->excused_until)
			dlock->excused_until = dlock->kept_until[i];
	}
}

void
checker_node_forgets(struct node *node, enum forgetting how)
{
	forgotten_at = world.now;
	sure_check_forget(node);
	clock_was_set = clock_was_set || how == FORGETS_THE_TIME;
	if (how == FORGETS_THE_TIME)
		return;
	for (int i = 0; i < dlocks_count(); i++) {
		struct dlock *dlock = dlocks_get(i);
		if (!dlock->is_begun || kept_until(node, dlock) == 0)
			continue;
		dlock->is_forgotten[node->index] = true;
		if (how == FORGETS_AT_ONCE || nodes_count() == 1)
			excuse(dlock);
	}
}

/* -- two at once ------------------------------------------------------------------------------- */

/* Nobody's fault: asleep, or just awake. Or it was asked for. */
bool
checker_is_excused(const struct dlock *dlock)
{
	return world.now < dlock->excused_until || dlock->plan->only_signals ||
	    dlock->host.is_suspended ||
	    (dlock->awake_since != 0 && world.now - dlock->awake_since < WAKING);
}

static bool
may_be_together(const struct dlock *one, const struct dlock *other)
{
	if (one->plan->mode != other->plan->mode)
		return false;
	if (one->plan->mode == MODE_SLOTS)
		return one->shown_slot != other->shown_slot;
	return one->plan->mode == MODE_SHARED;
}

static void
check_overlap(const struct dlock *newcomer)
{
	int together = 0;
	for (int i = 0; i < dlocks_count(); i++) {
		const struct dlock *other = dlocks_get(i);
		if (other == newcomer || !dlock_works(other) || checker_is_excused(other))
			continue;
		together++;
		if (!may_be_together(newcomer, other))
			world_fail(
			    "two hold the lock at once: d%d (%s, slot %d) since %lld ms, and "
			    "d%d (%s, slot %d)",
			    other->number, other->mode, other->shown_slot, ms(other->began_at),
			    newcomer->number, newcomer->mode, newcomer->shown_slot);
	}
	if (newcomer->plan->mode == MODE_SLOTS && together >= newcomer->plan->slots)
		world_fail("%d hold a lock of %d slots", together + 1, newcomer->plan->slots);
}

/* Who asked for it (--at-least) has the lock kept when its command is over. */
static void
check_rest(const struct dlock *newcomer)
{
	for (int i = 0; i < dlocks_count() && faults_were_none(); i++) {
		const struct dlock *other = dlocks_get(i);
		int64_t rest_until =
		    other->began_at + other->plan->at_least_ns / 100 * CLOCKS_AGREE - START;
		if (other == newcomer || other->ended_at == 0 || other->plan->at_least_ns == 0 ||
		    may_be_together(newcomer, other))
			continue;
		counts_add(COUNTED_RESTS, 1);
		if (world.now < rest_until)
			world_fail(
			    "d%d has the lock, which d%d had kept (--at-least) for another %lld ms",
			    newcomer->number, other->number,
			    (long long)((rest_until - world.now) / 1000000));
	}
}

/* -- fences ------------------------------------------------------------------------------------ */

/* Was the number of an earlier holder perhaps lost, together with the time? */
static bool
is_beyond_memory(const struct dlock *earlier, const struct dlock *later)
{
	if (forgotten_at < earlier->held_from)
		return false;
	if (later->plan->fence_mode == FENCE_COUNTER || earlier->plan->fence_mode == FENCE_COUNTER)
		return true;
	for (int i = 0; i < nodes_count(); i++) {
		if (node_wall_us(nodes_get(i), later->taken_at) <= earlier->shown_fence)
			return later->plan->min_fence < earlier->shown_fence;
	}
	return false;
}

/* Whose command ran before the other one was given the lock had it before that. */
static void
check_fences(const struct dlock *newcomer)
{
	if (newcomer->shown_fence <= newcomer->plan->min_fence)
		world_fail("d%d has the fence %lld, which was to exceed %lld", newcomer->number,
		    (long long)newcomer->shown_fence, (long long)newcomer->plan->min_fence);
	for (int i = 0; i < dlocks_count(); i++) {
		const struct dlock *other = dlocks_get(i);
		if (other == newcomer || other->began_at == 0 ||
		    other->began_at >= newcomer->taken_at)
			continue;
		counts_add(COUNTED_FENCE_PAIRS, 1);
		if (newcomer->shown_fence <= other->shown_fence &&
		    !is_beyond_memory(other, newcomer))
			world_fail("fences do not increase: d%d had %lld, and later d%d has %lld",
			    other->number, (long long)other->shown_fence, newcomer->number,
			    (long long)newcomer->shown_fence);
	}
}

/* -- commands ---------------------------------------------------------------------------------- */

void
checker_command_begins(struct task *command)
{
	struct dlock *dlock = command->dlock;
	dlock->command = command;
	dlock->began_at = world.now;
	dlock->held_from = dlock->taken_at;
	counts_add(COUNTED_COMMANDS, 1);
	trace_line(command->name, "begins, fence %lld, slot %d", (long long)dlock->shown_fence,
	    dlock->shown_slot);
	if (world.now < dlock->excused_until)
		counts_add(COUNTED_EXCUSED, 1);
	else if (!checker_is_excused(dlock))
		check_overlap(dlock);
	check_rest(dlock);
	check_fences(dlock);
	line_check_taken(dlock);
}

static void
check_lease(const struct dlock *dlock)
{
	if (!checker_is_excused(dlock) && !checker_keeps(dlock, world.now))
		world_fail("the command of d%d runs, but no server keeps the lock for it",
		    dlock->number);
}

void
checker_command_ends(struct task *command)
{
	struct dlock *dlock = command->dlock;
	if (!command->is_executed)
		return;
	check_lease(dlock);
	dlock->ended_at = world.now;
	dlock->was_gone = nodes_count() == 1 && kept_until(nodes_get(0), dlock) == 0;
	line_check_ended(dlock);
}

void
checker_look(void)
{
	for (int i = 0; i < dlocks_count(); i++) {
		if (dlock_works(dlocks_get(i)))
			check_lease(dlocks_get(i));
		sure_check_look(dlocks_get(i));
		end_check_look(dlocks_get(i));
	}
}

void
checker_end(void)
{
	for (int i = 0; i < dlocks_count(); i++) {
		const struct dlock *dlock = dlocks_get(i);
		if (dlock->is_begun && !dlock_is_over(dlock))
			world_fail("d%d does not come to an end", dlock->number);
	}
}
