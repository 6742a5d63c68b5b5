/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "line_check.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "counts.h"
#include "faults.h"
#include "world.h"

#define LOOK_EVERY (100 * NS_PER_MS)
/* With nothing wrong for long, but perhaps a message lost before: a waiter who is told asks after 5
 * s at the latest, the second after 10 s (src/lock/waiting.c), one who is not within a second; and
 * then there are round trips. */
#define ASKS_AFTER (5500 * NS_PER_MS)
#define ROUND_TRIPS (1500 * NS_PER_MS)
/* With nothing wrong ever. */
#define HAND_OFF_BOUND (30 * NS_PER_MS)

static int64_t free_since; /* somebody who could take it waits; NEVER: it is not so */
static int64_t handing_off_since;

static void
look(void *subject, uint64_t unused);

void
line_check_begin(void)
{
	free_since = NEVER;
	handing_off_since = NEVER;
	world_at(world.now + LOOK_EVERY, look, NULL, 0);
}

static bool
is_waiting(const struct dlock *dlock)
{
	return dlock->is_begun && dlock->job.lock.state == LOCK_WAITING &&
	    task_is_able(dlock->outer);
}

static int
count_waiting(void)
{
	int count = 0;
	for (int i = 0; i < dlocks_count(); i++)
		count += is_waiting(dlocks_get(i));
	return count;
}

/* When the first of them asks at the latest. */
static int64_t
bound(void)
{
	int64_t least = NEVER;
	for (int i = 0; i < dlocks_count(); i++) {
		const struct dlock *dlock = dlocks_get(i);
		const struct place *place = &dlock->job.lock.place;
		if (!is_waiting(dlock))
			continue;
		int64_t own = place->told ? ASKS_AFTER * (place->rank + 1) : NS_PER_S;
		least = own < least ? own : least;
	}
	return least + ROUND_TRIPS;
}

/* Nobody has it there, or nobody whose time is not over. */
static bool
is_free_at(struct node *node)
{
	const struct keys *keys = &dlocks_get(0)->keys;
	struct model *model = node_look(node);
	struct model_key key;
	struct model_member member;
	size_t at = 0;
	if (!model_find_key(model, keys->lock, &key))
		return true;
	if (strncmp(key.value, "dlock!s", 7) != 0 || !model_find_key(model, keys->members, &key))
		return false;
	while (model_next_member(model, &key, &at, &member)) {
		if (member.score * 1000 + 1000 > (double)node_wall_us(node, world.now))
			return false;
	}
	return true;
}

static bool
is_free(void)
{
	int free = 0;
	for (int i = 0; i < nodes_count(); i++) {
		struct node *node = nodes_get(i);
		if (!node->is_up || node->is_frozen)
			return false;
		free += is_free_at(node);
	}
	return free == nodes_count();
}

static void
look(void *subject, uint64_t unused)
{
	(void)subject;
	(void)unused;
	if (faults_are_on() || !is_free() || count_waiting() == 0) {
		free_since = NEVER;
	} else {
		int64_t since = faults_over_since();
		if (free_since == NEVER)
			free_since = world.now;
		since = since > free_since ? since : free_since;
		if (world.now - since > bound())
			world_fail("the lock has been free for %lld ms, and %d wait for it",
			    (long long)((world.now - since) / NS_PER_MS), count_waiting());
	}
	world_at(world.now + LOOK_EVERY, look, NULL, 0);
}

void
line_check_node(struct node *node)
{
	struct model_key key;
	struct model_member member;
	size_t at = 0;
	if (!model_find_key(node_look(node), dlocks_get(0)->keys.queue, &key) ||
	    key.type != MODEL_ZSET)
		return;
	while (model_next_member(node->model, &key, &at, &member)) {
		for (int i = 0; i < dlocks_count(); i++) {
			if (strcmp(dlocks_get(i)->token, member.name) == 0)
				dlocks_get(i)->ticket = (int64_t)member.score;
		}
	}
}

/* First come, first served: nobody stands in line whom the server could have told, and who came
 * earlier. */
void
line_check_order(struct node *node, const struct dlock *newcomer)
{
	struct model *model = node_look(node);
	int64_t ticket = newcomer->ticket;
	struct model_key key;
	struct model_member member;
	char channel[SIBLING_SIZE + 64];
	size_t at = 0;
	if (ticket == 0) /* it had not waited */
		ticket = node_wall_us(node, world.now);
	if (!model_find_key(model, newcomer->keys.queue, &key) || key.type != MODEL_ZSET)
		return;
	while (model_next_member(model, &key, &at, &member)) {
		snprintf(channel, sizeof channel, "%s:%s", newcomer->keys.queue, member.name);
		if (member.score < (double)ticket && model_count_ears(model, channel) > 0)
			world_fail("d%d was served before %s, who had come before it",
			    newcomer->number, member.name);
	}
}

/* Do those who wait wait for it, and each for itself? */
static bool
is_plain_line(void)
{
	int count = 0;
	for (int i = 0; i < dlocks_count(); i++) {
		const struct dlock *dlock = dlocks_get(i);
		if (dlock->plan->mode != MODE_EXCLUSIVE || dlock->plan->is_missing ||
		    dlock->plan->max_waiters >= 0)
			return false;
		count += is_waiting(dlock) && dlock->plan->wait_ns == WAIT_FOR_EVER;
	}
	return count > 0;
}

/* Of the engine that has a line, when nothing is wrong. */
void
line_check_ended(const struct dlock *dlock)
{
	if (nodes_count() == 1 && faults_were_none() && dlock->plan->at_least_ns == 0 &&
	    is_plain_line() && handing_off_since == NEVER)
		handing_off_since = world.now;
}

void
line_check_taken(const struct dlock *dlock)
{
	(void)dlock;
	if (handing_off_since == NEVER)
		return;
	counts_add(COUNTED_HAND_OFFS, 1);
	if (faults_were_none() && world.now - handing_off_since > HAND_OFF_BOUND)
		world_fail("the lock was handed on after %lld ms",
		    (long long)((world.now - handing_off_since) / NS_PER_MS));
	handing_off_since = NEVER;
}
