/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "sure_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checker.h"
#include "dlock.h"
#include "world.h"

#define UNKNOWN (-1)
/* A key lives through its last millisecond. */
#define LAST_MS (INT64_C(2) * 1000000)

/* By node. */
static int64_t accepted[MOST_NODES];
/* What stood at the lock's key. */
#define VALUE_SIZE 256
static char value_before[VALUE_SIZE];

void
sure_check_begin(void)
{
	for (int i = 0; i < MOST_NODES; i++)
		accepted[i] = 0;
}

static long long
ms(int64_t ns)
{
	return (long long)(ns / 1000000);
}

/* -- deadlines --------------------------------------------------------------------------------- */

/* One that has passed while its process was stopped is acted upon at once. */
static void
check_deadline(const struct dlock *dlock, const char *what, int64_t boottime)
{
	int64_t at = host_time_of(&dlock->host, boottime);
	if (boottime != INT64_MAX && at > world.now && !checker_is_excused(dlock) &&
	    !checker_keeps(dlock, at))
		world_fail("%s of d%d is %lld ms from now: no server keeps the lock for it as long",
		    what, dlock->number, ms(at - world.now));
}

/* By its own clock: between the deadline and the expiry a server would still say yes. */
static void
check_lease(struct dlock *dlock)
{
	struct instant t0 = dlock->job.lock.t0, seen = dlock->t0_seen;
	dlock->t0_seen = dlock_works(dlock) ? t0 : (struct instant){0};
	if (seen.ns == 0 || dlock->t0_seen.ns == seen.ns)
		return;
	struct instant deadline = lease_term_at(&dlock->settings.lock.terms, seen);
	if (instant_reached(deadline, dlock->t0_seen))
		world_fail("d%d believes in a renewal that it sent %lld ms after its deadline",
		    dlock->number, ms(instant_between(deadline, dlock->t0_seen)));
}

void
sure_check_look(struct dlock *dlock)
{
	const struct job *job = &dlock->job;
	check_lease(dlock);
	if (dlock->runner == NULL || !dlock->outer->is_alive)
		return;
	int64_t guard_at = atomic_load(&job->channel.page->guard_at_ns);
	if (guard_at == dlock->guard_seen)
		return;
	dlock->guard_seen = guard_at;
	if (guard_at == INT64_MAX)
		return;
	check_deadline(dlock, "OUTER's deadline", guard_at);
	check_deadline(dlock, "the end of the sure lease",
	    lease_sure_until(&dlock->settings.lock.terms, job->lock.t0).ns);
}

void
sure_check_timer(const struct task *runner, int64_t at)
{
	if (at != NEVER)
		check_deadline(runner->dlock, "the KILL timer", at);
}

/* -- what a server does ------------------------------------------------------------------------ */

/* An acquire whose answer was lost may still come: it is none of a renewal. */
static bool
may_be_ghost(const struct dlock *dlock)
{
	return dlock->job.lock.ghost_until.ns > host_boottime(&dlock->host, world.now);
}

void
sure_check_renewal(const struct dlock *dlock, int64_t before, int64_t until)
{
	if (nodes_count() == 1 && before != 0 && before + LAST_MS <= world.now &&
	    until > world.now && dlock->runner != NULL && !may_be_ghost(dlock) &&
	    !checker_has_forgotten())
		world_fail("d%d has back by a renewal what had expired %lld ms before",
		    dlock->number, ms(world.now - before));
}

static void
note_value(struct node *node, char *value, size_t size)
{
	struct model_key key;
	value[0] = '\0';
	if (model_find_key(node_look(node), dlocks_get(0)->keys.lock, &key) &&
	    key.type == MODEL_STRING)
		snprintf(value, size, "%s", key.value);
}

void
sure_check_before(struct node *node)
{
	if (nodes_count() > 1)
		note_value(node, value_before, sizeof value_before);
}

void
sure_check_number(struct node *node)
{
	struct model_key key;
	char *end, value[VALUE_SIZE];
	int64_t *last = &accepted[node->index];
	if (nodes_count() == 1)
		return;
	if (!model_find_key(node_look(node), dlocks_get(0)->keys.rfence, &key)) {
		*last = 0; /* expired, after a month */
		return;
	}
	int64_t number = strtoll(key.value, &end, 10);
	if (number < *last)
		world_fail("%s had accepted the number %lld, and has %lld", node->name,
		    (long long)*last, (long long)number);
	note_value(node, value, sizeof value);
	/* The next words of who has the lock may be those that give it back. */
	if (*last != UNKNOWN && number > *last && !checker_is_of(value, strlen(value), end + 1) &&
	    !checker_is_of(value_before, strlen(value_before), end + 1))
		world_fail("%s has accepted the number %s, but the lock there is '%s'", node->name,
		    key.value, value_before);
	*last = number;
}

void
sure_check_forget(const struct node *node)
{
	accepted[node->index] = UNKNOWN;
}
