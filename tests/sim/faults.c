/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "fault_parts.h"

#include <stdio.h>

#include "base/clock.h"
#include "checker.h"
#include "counts.h"
#include "dlock.h"
#include "lua_scripts.h"
#include "network.h"
#include "node.h"
#include "scenario.h"
#include "trace.h"
#include "world.h"

static const struct fault *faults;
static int fault_count;
static bool is_on[MOST_FAULTS], is_counted[MOST_FAULTS];
static int on_count;
static bool any;
static int64_t over_since;

/* What befalls a lock, a server, a path, ...: true, it had an effect at once. Others have it when
 * something else happens: faults_felt. */

/* -- somebody else ----------------------------------------------------------------------------- */

/* amount 0: whoever holds it; 1: by a token that nobody has; 2: too late. */
static void
break_lock(const struct fault *fault, struct node *node, const struct keys *keys)
{
	char not_after[32];
	const char *argv[] = {"EVAL", lua_break, "5", keys->lock, keys->fence, keys->info,
	    keys->queue, keys->members, fault->amount == 1 ? "nobody" : "",
	    fault->kind == FAULT_BREAK_FORCE ? "yes" : "no", "host=breaker\n", not_after};
	snprintf(not_after, sizeof not_after, "%lld",
	    (long long)node_wall_us(node, world.now) + (fault->amount == 2 ? -1 : 1) * 1000000);
	node_command(node, sizeof argv / sizeof *argv, argv);
}

static void
use_foreign_client(const struct fault *fault, struct node *node, const char *key)
{
	char ms[32];
	const char *set[] = {"SET", key, "foreign", "PX", ms};
	const char *take[] = {"SET", key, "foreign", "NX", "PX", ms};
	const char *delete[] = {"DEL", key};
	snprintf(ms, sizeof ms, "%lld", (long long)fault->amount);
	if (fault->kind == FAULT_FOREIGN_SET)
		node_command(node, 5, set);
	else if (fault->kind == FAULT_FOREIGN_TAKE)
		node_command(node, 6, take);
	else
		node_command(node, 2, delete);
}

static bool
befall_lock(const struct fault *fault, struct node *node, const struct keys *keys)
{
	bool is_there = node_has_key(node, keys->lock);
	switch ((int)fault->kind) {
	case FAULT_BREAK:
		break_lock(fault, node, keys);
		return is_there;
	case FAULT_BREAK_FORCE:
		checker_node_forgets(node, FORGETS_AT_ONCE);
		break_lock(fault, node, keys);
		return is_there;
	case FAULT_FOREIGN_SET:
	case FAULT_FOREIGN_DELETE:
		checker_node_forgets(node, FORGETS_AT_ONCE);
		use_foreign_client(fault, node, keys->lock);
		return node->is_up && (is_there || fault->kind == FAULT_FOREIGN_SET);
	case FAULT_FOREIGN_TAKE:
		use_foreign_client(fault, node, keys->lock);
		return node->is_up && !is_there;
	default:
		return false;
	}
}

/* -- one server -------------------------------------------------------------------------------- */

static bool
befall_node(const struct fault *fault)
{
	struct node *node = nodes_get(fault->node);
	const struct keys *keys = &dlocks_get(0)->keys;
	switch ((int)fault->kind) {
	case FAULT_CRASH:
	case FAULT_CRASH_SILENT:
	case FAULT_CRASH_EMPTY:
		return node_crash(node, fault->kind != FAULT_CRASH_SILENT);
	case FAULT_FREEZE:
		node_freeze(node);
		return false;
	case FAULT_FAIL_OVER:
		node_replicate(node);
		return false;
	case FAULT_FLUSH:
		checker_node_forgets(node, FORGETS_AT_ONCE);
		return node_flush(node);
	case FAULT_EVICT:
		checker_node_forgets(node, FORGETS_AT_ONCE);
		return node_evict(node,
		    fault->amount == 0       ? keys->lock
			: fault->amount == 1 ? keys->queue
			: fault->amount == 2 ? keys->info
			: fault->amount == 3 ? keys->members
			: nodes_count() > 1  ? keys->rfence
					     : keys->fence);
	case FAULT_CLOCK_FORWARD:
		checker_node_forgets(node, FORGETS_AT_ONCE);
		node_step_clock(node, fault->amount);
		return node_has_keys(node);
	case FAULT_CLOCK_BACK:
		checker_node_forgets(node, FORGETS_THE_TIME);
		node_step_clock(node, -fault->amount);
		return node_has_keys(node);
	case FAULT_SCRIPT_FLUSH:
		return model_forget_scripts(node_look(node)) && node->is_up;
	case FAULT_FULL:
		model_set_full(node->model, true);
		return false;
	case FAULT_READ_ONLY:
		model_set_replica(node->model, true);
		return false;
	default:
		return befall_lock(fault, node, keys);
	}
}

static void
relieve_node(const struct fault *fault)
{
	struct node *node = nodes_get(fault->node);
	switch ((int)fault->kind) {
	case FAULT_CRASH:
	case FAULT_CRASH_SILENT:
	case FAULT_CRASH_EMPTY:
		/* Not when it crashes: another fault may start it in between, with its memory. */
		if (fault->kind == FAULT_CRASH_EMPTY && !node->is_up)
			checker_node_forgets(node, FORGETS_BY_CRASH);
		node_start(node, fault->kind != FAULT_CRASH_EMPTY);
		break;
	case FAULT_FREEZE:
		node_thaw(node);
		break;
	case FAULT_FAIL_OVER:
		checker_node_forgets(node, FORGETS_AT_ONCE);
		if (node_fail_over(node))
			faults_felt(FAULT_FAIL_OVER, NULL, node);
		break;
	case FAULT_FULL:
		model_set_full(node->model, false);
		break;
	case FAULT_READ_ONLY:
		model_set_replica(node->model, false);
		break;
	default:
		break;
	}
}

/* -- the way between --------------------------------------------------------------------------- */

static bool
befall_path(const struct fault *fault, bool begins)
{
	struct dlock *dlock = dlocks_get(fault->host);
	const struct node *node = nodes_get(fault->node);
	struct path *path = network_path(&dlock->host, node);
	switch ((int)fault->kind) {
	case FAULT_DELAY:
		/* Of requests, of answers, of both. */
		path->delay_up_ns = begins && fault->amount % 3 != 0 ? fault->amount : 0;
		path->delay_down_ns = begins && fault->amount % 3 != 1 ? fault->amount : 0;
		return false;
	case FAULT_LOSS:
		path->loss = begins ? (int)fault->amount : 0;
		return false;
	case FAULT_CUT:
		path->is_cut = begins;
		return false;
	case FAULT_RESET:
	case FAULT_RESET_BEHIND:
		return begins &&
		    network_reset(&dlock->host, node, fault->kind == FAULT_RESET_BEHIND) > 0;
	case FAULT_BLACK_HOLE:
		return begins && network_blacken(&dlock->host, node) > 0;
	case FAULT_LOOKUPS_HANG:
		dlock->lookups_hang_until = begins ? world.now + fault->lasts : 0;
		return false;
	default:
		return false;
	}
}

/* -- all --------------------------------------------------------------------------------------- */

static void
count(const struct fault *fault)
{
	is_counted[fault - faults] = true;
	counts_add_fault(fault->kind);
}

void
faults_felt(enum fault_kind kind, const struct host *host, const struct node *node)
{
	for (int i = 0; i < fault_count; i++) {
		const struct fault *fault = &faults[i];
		if (fault->kind == kind && is_on[i] && !is_counted[i] &&
		    (host == NULL || host == &dlocks_get(fault->host)->host) &&
		    (node == NULL || node == nodes_get(fault->node)))
			count(fault);
	}
}

static bool
is_start(enum fault_kind kind)
{
	return kind == FAULT_CRASH || kind == FAULT_CRASH_SILENT || kind == FAULT_CRASH_EMPTY ||
	    kind == FAULT_FAIL_OVER || kind == FAULT_CLOCK_BACK;
}

/* It springs later, if ever. */
static bool
is_trap(enum fault_kind kind)
{
	return kind == FAULT_DELAY_MIDDLE || kind == FAULT_STOP_MIDDLE || kind == FAULT_KILL_MIDDLE;
}

static void
end(void *subject, uint64_t unused)
{
	const struct fault *fault = subject;
	(void)unused;
	trace_line("fault", "over: %s", fault_name(fault->kind));
	relieve_node(fault);
	is_on[fault - faults] = is_trap(fault->kind);
	befall_path(fault, false);
	fault_befall_process(fault, false);
	if (fault->kind == FAULT_SUSPEND)
		fault_befall_machine(fault, false);
	on_count--;
	faults_last_until(world.now);
	/* A quorum has a server wait that was started, and may count in whole seconds. */
	if (nodes_count() > 1 && is_start(fault->kind))
		faults_last_until(world.now + scenario_quarantine() + 2 * NS_PER_S);
	network_pump();
}

static void
begin(void *subject, uint64_t unused)
{
	const struct fault *fault = subject;
	(void)unused;
	trace_line("fault", "%s: d%d, node%d, amount %lld, for %.3fs", fault_name(fault->kind),
	    fault->host + 1, fault->node + 1, (long long)fault->amount, (double)fault->lasts / 1e9);
	any = true;
	is_on[fault - faults] = true;
	if (befall_node(fault) || befall_path(fault, true) || fault_befall_machine(fault, true) ||
	    fault_befall_process(fault, true))
		count(fault);
	on_count++;
	world_at(world.now + fault->lasts, end, subject, 0);
}

void
faults_begin(const struct fault *all, int all_count)
{
	faults = all;
	fault_count = all_count;
	on_count = 0;
	any = false;
	over_since = WORLD_BEGIN;
	for (int i = 0; i < fault_count; i++) {
		is_on[i] = is_counted[i] = false;
		if (faults[i].is_there)
			world_at(faults[i].at, begin, (void *)(uintptr_t)&faults[i], 0);
	}
}

void
faults_last_until(int64_t until)
{
	over_since = until > over_since ? until : over_since;
}

bool
faults_are_on(void)
{
	return on_count > 0 || world.now < over_since;
}

int64_t
faults_over_since(void)
{
	return over_since;
}

bool
faults_spare_answers(void)
{
	for (int i = 0; i < fault_count; i++) {
		enum fault_kind kind = faults[i].kind;
		if (faults[i].is_there && kind != FAULT_FLUSH && kind != FAULT_EVICT &&
		    kind != FAULT_BREAK && kind != FAULT_BREAK_FORCE && kind != FAULT_FOREIGN_SET &&
		    kind != FAULT_FOREIGN_TAKE && kind != FAULT_FOREIGN_DELETE &&
		    kind != FAULT_CLOCK_FORWARD && kind != FAULT_SCRIPT_FLUSH)
			return false;
	}
	return true;
}

bool
faults_were_none(void)
{
	return !any;
}
