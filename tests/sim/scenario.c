/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "scenario.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "checker.h"
#include "counts.h"
#include "descriptors.h"
#include "network.h"
#include "node.h"
#include "trace.h"
#include "world.h"

/* Everything is over by then: the longest wait for a lost server, and some. */
#define HORIZON (900 * NS_PER_S)
#define MINUTE (60 * NS_PER_S)

static int64_t quarantine_ns;

int64_t
scenario_quarantine(void)
{
	return quarantine_ns;
}

/* -- dlocks ------------------------------------------------------------------------------------ */

static int64_t
some_ttl(struct dice *dice)
{
	static const int64_t ttls[] = {1 * NS_PER_S, 1 * NS_PER_S, 2 * NS_PER_S, 3 * NS_PER_S,
	    30 * NS_PER_S};
	return ttls[dice_below(dice, dice_chance(dice, 50) ? 5 : 4)];
}

static int64_t
some_wait(struct dice *dice)
{
	if (dice_chance(dice, 600))
		return WAIT_FOR_EVER;
	return dice_chance(dice, 300) ? 0 : dice_spread(dice, 50 * NS_PER_MS, 8 * NS_PER_S);
}

/* Below 2^53, and sometimes so close to it that what follows is beyond. */
static int64_t
some_least_fence(struct dice *dice)
{
	const int64_t most = (INT64_C(1) << 53) - 1;
	if (!dice_chance(dice, 150))
		return 0;
	return dice_chance(dice, 500) ? most - dice_below(dice, 3) : dice_below(dice, most);
}

static void
make_dlock(struct dlock_plan *plan, const struct scenario *scenario, enum lock_mode mode,
    enum fence_mode fence_mode, struct dice *dice)
{
	int64_t ttl_ns = scenario->ttl_ns;
	*plan = (struct dlock_plan){
	    .is_there = true,
	    .begins_at = WORLD_BEGIN + dice_spread(dice, NS_PER_MS / 10, 2 * NS_PER_S),
	    .mode = mode,
	    .slots = dice_chance(dice, 50) ? 3 : 2,
	    .ttl_ns = ttl_ns,
	    .grace_ns =
		dice_chance(dice, 500) ? lease_default_grace(ttl_ns) : dice_below(dice, ttl_ns / 5),
	    .wait_ns = some_wait(dice),
	    .min_fence = some_least_fence(dice),
	    .max_waiters = dice_chance(dice, 50) ? 1 : -1,
	    .fence_mode = fence_mode,
	    .work_ns = dice_chance(dice, 500) ? dice_spread(dice, NS_PER_MS, ttl_ns)
					      : dice_between(dice, ttl_ns / 4, 2 * ttl_ns),
	    .cleanup_ns = dice_spread(dice, NS_PER_MS, ttl_ns),
	    .ignores_signals = dice_chance(dice, 300),
	    .is_missing = dice_chance(dice, 20),
	    .only_signals = dice_chance(dice, 30),
	    .watches = scenario->nodes == 1 && dice_chance(dice, 150),
	};
	/* The clock need not exceed it, and then nothing else does. */
	if (fence_mode == FENCE_COUNTER)
		plan->min_fence = 0;
	if (dice_chance(dice, 100))
		plan->at_least_ns = dice_spread(dice, 10 * NS_PER_MS, 2 * ttl_ns);
	if (dice_chance(dice, 100))
		plan->max_hold_ns = dice_spread(dice, 10 * NS_PER_MS, 2 * ttl_ns);
	if (scenario->nodes > 1)
		plan->max_waiters = -1;
}

static void
make_dlocks(struct scenario *scenario, struct dice *dice)
{
	enum lock_mode mode = MODE_EXCLUSIVE;
	bool is_mixed = false;
	enum fence_mode fence_mode =
	    scenario->nodes == 1 && dice_chance(dice, 100) ? FENCE_COUNTER : FENCE_CLOCK;
	if (scenario->nodes == 1 && dice_chance(dice, 350)) {
		mode = dice_chance(dice, 500) ? MODE_SHARED : MODE_SLOTS;
		is_mixed = mode == MODE_SHARED && dice_chance(dice, 700);
	}
	scenario->dlock_count = (int)dice_between(dice, 2, dice_chance(dice, 300) ? 5 : 3);
	for (int i = 0; i < scenario->dlock_count; i++) {
		struct dice own = dice_of(scenario->seed, 10 + (uint64_t)i);
		make_dlock(&scenario->dlocks[i], scenario,
		    is_mixed && dice_chance(&own, 400) ? MODE_EXCLUSIVE : mode, fence_mode, &own);
	}
}

/* -- faults ------------------------------------------------------------------------------------ */

static int64_t
some_length(enum fault_kind kind, int64_t ttl_ns, struct dice *dice)
{
	switch ((int)kind) {
	case FAULT_DELAY_MIDDLE:
	case FAULT_STOP_MIDDLE:
		return dice_chance(dice, 500) ? dice_between(dice, ttl_ns / 2, 2 * ttl_ns)
					      : dice_spread(dice, NS_PER_MS / 10, ttl_ns);
	case FAULT_DELAY:
		return dice_between(dice, ttl_ns / 10, 3 * ttl_ns);
	case FAULT_FAIL_OVER:
		return dice_spread(dice, NS_PER_MS, NS_PER_S);
	default:
		return dice_spread(dice, NS_PER_MS, dice_chance(dice, 300) ? 3 * ttl_ns : ttl_ns);
	}
}

static int64_t
some_amount(enum fault_kind kind, int64_t ttl_ns, struct dice *dice)
{
	switch ((int)kind) {
	case FAULT_DELAY: /* about as long as an answer is waited for, or anything */
		return dice_chance(dice, 600) ? dice_between(dice, ttl_ns / 20, ttl_ns / 5)
					      : dice_spread(dice, NS_PER_MS, NS_PER_S);
	case FAULT_LOSS:
		return dice_between(dice, 50, 800);
	case FAULT_BREAK:
	case FAULT_BREAK_FORCE:
		return dice_chance(dice, 800) ? 0 : dice_between(dice, 1, 2);
	case FAULT_EVICT:
		return dice_below(dice, 5);
	case FAULT_CLOCK_FORWARD: /* us */
		return dice_spread(dice, 1000, 3600 * INT64_C(1000000));
	case FAULT_CLOCK_BACK: /* what nobody renews lives longer by that */
		return dice_spread(dice, 1000, 20 * INT64_C(1000000));
	case FAULT_FOREIGN_SET:
	case FAULT_FOREIGN_TAKE: /* ms */
		return dice_spread(dice, 5, 4000);
	case FAULT_DELAY_MIDDLE:
	case FAULT_STOP_MIDDLE:
	case FAULT_KILL_MIDDLE: /* steps */
		return dice_spread(dice, 1, 60);
	default:
		return 0;
	}
}

static void
make_fault(struct fault *fault, const struct scenario *scenario, struct dice *dice)
{
	enum fault_kind kind = (enum fault_kind)dice_below(dice, FAULT_KINDS);
	*fault = (struct fault){
	    .kind = kind,
	    .is_there = true,
	    .at = WORLD_BEGIN + dice_spread(dice, NS_PER_MS, 3 * scenario->ttl_ns),
	    .host = (int)dice_below(dice, scenario->dlock_count),
	    .node = (int)dice_below(dice, scenario->nodes),
	};
	fault->lasts = some_length(kind, scenario->ttl_ns, dice);
	fault->amount = some_amount(kind, scenario->ttl_ns, dice);
	/* Where it matters most: close to when somebody acts. */
	bool is_precise =
	    kind == FAULT_DELAY_MIDDLE || kind == FAULT_STOP_MIDDLE || kind == FAULT_KILL_MIDDLE;
	if (dice_chance(dice, is_precise ? 200 : 500))
		fault->at = WORLD_BEGIN + dice_below(dice, 2 * scenario->ttl_ns);
	else if (dice_chance(dice, is_precise ? 900 : 500))
		fault->at = scenario->dlocks[fault->host].begins_at +
		    dice_spread(dice, NS_PER_MS / 20, 20 * NS_PER_MS);
}

/* Names are looked up for a new connection alone, most of them at the start. */
static void
aim_at_lookup(struct fault *fault, struct scenario *scenario, struct dice *dice)
{
	struct dlock_plan *plan = &scenario->dlocks[fault->host];
	if (fault->kind != FAULT_LOOKUPS_HANG || !dice_chance(dice, 600))
		return;
	plan->looks_up = true;
	fault->at = plan->begins_at - dice_below(dice, NS_PER_MS / 10);
}

void
scenario_make(struct scenario *scenario, uint64_t seed)
{
	struct dice dice = dice_of(seed, 1);
	scenario->seed = seed;
	scenario->nodes = 1;
	if (dice_chance(&dice, 300))
		scenario->nodes = dice_chance(&dice, 150) ? 5 : 3;
	scenario->ttl_ns = some_ttl(&dice);
	make_dlocks(scenario, &dice);
	scenario->fault_count =
	    dice_chance(&dice, 100) ? 0 : (int)dice_spread(&dice, 1, MOST_FAULTS / 2);
	for (int i = 0; i < scenario->fault_count; i++) {
		struct dice own = dice_of(seed, 30 + (uint64_t)i);
		make_fault(&scenario->faults[i], scenario, &own);
		own = dice_of(seed, 60 + (uint64_t)i);
		aim_at_lookup(&scenario->faults[i], scenario, &own);
	}
}

/* -- a run ------------------------------------------------------------------------------------- */

static bool
all_is_over(void)
{
	for (int i = 0; i < dlocks_count(); i++) {
		const struct dlock *dlock = dlocks_get(i);
		if (dlock->plan->is_there && !dlock_is_over(dlock))
			return false;
	}
	return true;
}

static void
set_clocks(const struct scenario *scenario)
{
	struct dice dice = dice_of(scenario->seed, 2);
	/* Some quorums have clocks that do not agree. */
	bool differ = dice_chance(&dice, 300);
	for (int i = 0; i < scenario->nodes; i++) {
		struct node *node = nodes_get(i);
		node->rate_ppm = dice_between(&dice, -4900, 4900);
		if (differ)
			node_step_clock(node,
			    dice_between(&dice, -600 * INT64_C(1000000), 600 * INT64_C(1000000)));
		model_set_started(node->model, node_wall_us(node, node->started_at));
	}
}

bool
scenario_run(const struct scenario *scenario)
{
	world_begin(scenario->seed);
	quarantine_ns = scenario->ttl_ns;
	tasks_begin();
	descriptors_begin();
	network_begin();
	nodes_begin(scenario->nodes);
	set_clocks(scenario);
	dlocks_begin(scenario->dlocks, scenario->dlock_count, scenario->seed);
	faults_begin(scenario->faults, scenario->fault_count);
	checker_begin();
	int64_t until = WORLD_BEGIN + HORIZON;
	while (!world.has_failed && !all_is_over() && world_step(until))
		checker_look();
	if (!world.has_failed)
		checker_end();
	counts_add(COUNTED_SCHEDULES, 1);
	counts_add(COUNTED_EVENTS, world.events);
	dlocks_end();
	return !world.has_failed;
}

void
scenario_print(const struct scenario *scenario)
{
	static const char *const modes[] = {"exclusive", "shared", "slots"};
	printf("seed %" PRIu64 ": %d server%s, TTL %" PRId64 " ms\n", scenario->seed,
	    scenario->nodes, scenario->nodes == 1 ? "" : "s", scenario->ttl_ns / NS_PER_MS);
	for (int i = 0; i < scenario->dlock_count; i++) {
		const struct dlock_plan *plan = &scenario->dlocks[i];
		if (plan->is_there)
			printf("  d%d at +%.6fs: %s, works for %.6fs\n", i + 1,
			    (double)(plan->begins_at - WORLD_BEGIN) / 1e9, modes[plan->mode],
			    (double)plan->work_ns / 1e9);
	}
	for (int i = 0; i < scenario->fault_count; i++) {
		const struct fault *fault = &scenario->faults[i];
		if (fault->is_there)
			printf("  +%.6fs: %s\n", (double)(fault->at - WORLD_BEGIN) / 1e9,
			    fault_name(fault->kind));
	}
}
