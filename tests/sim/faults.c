/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "faults.h"

#include <signal.h>
#include <stdio.h>

#include "base/clock.h"
#include "checker.h"
#include "counts.h"
#include "descriptors.h"
#include "dlock.h"
#include "lua_scripts.h"
#include "network.h"
#include "node.h"
#include "scenario.h"
#include "trace.h"
#include "world.h"

static int on_count;
static bool any;
static int64_t over_since;

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

/* False: it is no fault of these. */
static bool
befall_lock(const struct fault *fault, struct node *node, const struct keys *keys)
{
	switch ((int)fault->kind) {
	case FAULT_BREAK:
		break_lock(fault, node, keys);
		return true;
	case FAULT_BREAK_FORCE:
		checker_node_forgets(node, FORGETS_AT_ONCE);
		break_lock(fault, node, keys);
		return true;
	case FAULT_FOREIGN_SET:
	case FAULT_FOREIGN_DELETE:
		checker_node_forgets(node, FORGETS_AT_ONCE);
		use_foreign_client(fault, node, keys->lock);
		return true;
	case FAULT_FOREIGN_TAKE:
		use_foreign_client(fault, node, keys->lock);
		return true;
	default:
		return false;
	}
}

/* -- one server -------------------------------------------------------------------------------- */

/* False: it had no effect, or it is no fault of a server. */
static bool
befall_node(const struct fault *fault)
{
	struct node *node = nodes_get(fault->node);
	const struct keys *keys = &dlocks_get(0)->keys;
	switch ((int)fault->kind) {
	case FAULT_CRASH:
	case FAULT_CRASH_SILENT:
	case FAULT_CRASH_EMPTY:
		node_crash(node, fault->kind != FAULT_CRASH_SILENT);
		return true;
	case FAULT_FREEZE:
		node_freeze(node);
		return true;
	case FAULT_FAIL_OVER:
		node_replicate(node);
		return true;
	case FAULT_FLUSH:
		checker_node_forgets(node, FORGETS_AT_ONCE);
		node_flush(node);
		return true;
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
		return true;
	case FAULT_CLOCK_BACK:
		checker_node_forgets(node, FORGETS_THE_TIME);
		node_step_clock(node, -fault->amount);
		return true;
	case FAULT_SCRIPT_FLUSH:
		model_forget_scripts(node_look(node));
		return true;
	case FAULT_FULL:
		model_set_full(node->model, true);
		return true;
	case FAULT_READ_ONLY:
		model_set_replica(node->model, true);
		return true;
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
		node_fail_over(node);
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
		return true;
	case FAULT_LOSS:
		path->loss = begins ? (int)fault->amount : 0;
		return true;
	case FAULT_CUT:
		path->is_cut = begins;
		return true;
	case FAULT_RESET:
	case FAULT_RESET_BEHIND:
		return !begins ||
		    network_reset(&dlock->host, node, fault->kind == FAULT_RESET_BEHIND) > 0;
	case FAULT_BLACK_HOLE:
		return !begins || network_blacken(&dlock->host, node) > 0;
	case FAULT_LOOKUPS_HANG:
		dlock->lookups_hang_until = begins ? world.now + fault->lasts : 0;
		return true;
	default:
		return false;
	}
}

/* -- a machine, a process ---------------------------------------------------------------------- */

static bool
stop(struct task *task, bool begins)
{
	if (task == NULL || !task->is_alive)
		return false;
	if (begins)
		task_signal(task, SIGSTOP, SI_USER, 0);
	else
		task_signal(task, SIGCONT, SI_USER, 0);
	return true;
}

static bool
kill_task(struct task *task)
{
	if (task == NULL || !task->is_alive)
		return false;
	task_signal(task, SIGKILL, SI_USER, 0);
	return true;
}

static bool
set_trap(const struct fault *fault, struct task *task)
{
	if (task == NULL || !task->is_alive)
		return false;
	task->trap = fault->kind == FAULT_DELAY_MIDDLE ? TRAP_DELAY
	    : fault->kind == FAULT_STOP_MIDDLE         ? TRAP_STOP
						       : TRAP_KILL;
	task->trap_after = (int)fault->amount;
	task->trap_for = fault->lasts;
	return true;
}

static bool
befall_process(const struct fault *fault, bool begins)
{
	struct dlock *dlock = dlocks_get(fault->host);
	struct task *keeper = dlock->runner != NULL ? dlock->runner : dlock->outer;
	switch ((int)fault->kind) {
	case FAULT_STOP_OUTER:
		return stop(dlock->outer, begins);
	case FAULT_STOP_RUNNER:
		return stop(dlock->runner, begins);
	case FAULT_STOP_COMMAND:
		return stop(dlock->command, begins);
	case FAULT_STOP_BOTH:
		return stop(dlock->runner, begins) | stop(dlock->outer, begins);
	case FAULT_KILL_OUTER:
		return begins && kill_task(dlock->outer);
	case FAULT_KILL_RUNNER:
		return begins && kill_task(dlock->runner);
	case FAULT_KILL_BOTH:
		return begins && (kill_task(dlock->outer) & kill_task(dlock->runner));
	case FAULT_KILL_COMMAND:
		return begins && kill_task(dlock->command);
	case FAULT_TERMINATE:
		if (begins && dlock->outer->is_alive)
			task_signal(dlock->outer, SIGTERM, SI_USER, 0);
		return begins && dlock->outer->is_alive;
	case FAULT_DELAY_MIDDLE:
	case FAULT_STOP_MIDDLE:
	case FAULT_KILL_MIDDLE:
		return begins && set_trap(fault, keeper);
	default:
		return false;
	}
}

static bool
befall_machine(const struct fault *fault, bool begins)
{
	struct dlock *dlock = dlocks_get(fault->host);
	if (fault->kind == FAULT_SUSPEND) {
		trace_line("machine", "of d%d %s", dlock->number, begins ? "sleeps" : "wakes");
		dlock->awake_since = world.now;
		if (begins)
			tasks_suspend(&dlock->host);
		else
			tasks_resume(&dlock->host);
		return true;
	}
	if (fault->kind == FAULT_WALL_CLOCK && begins)
		descriptors_step_clock(&dlock->host);
	return fault->kind == FAULT_WALL_CLOCK;
}

/* -- all --------------------------------------------------------------------------------------- */

static bool
is_start(enum fault_kind kind)
{
	return kind == FAULT_CRASH || kind == FAULT_CRASH_SILENT || kind == FAULT_CRASH_EMPTY ||
	    kind == FAULT_FAIL_OVER || kind == FAULT_CLOCK_BACK;
}

static void
end(void *subject, uint64_t unused)
{
	const struct fault *fault = subject;
	(void)unused;
	trace_line("fault", "over: %s", fault_name(fault->kind));
	relieve_node(fault);
	befall_path(fault, false);
	befall_process(fault, false);
	if (fault->kind == FAULT_SUSPEND)
		befall_machine(fault, false);
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
	if (befall_node(fault) || befall_path(fault, true) || befall_machine(fault, true) ||
	    befall_process(fault, true))
		counts_add_fault(fault->kind);
	on_count++;
	world_at(world.now + fault->lasts, end, subject, 0);
}

void
faults_begin(const struct fault *faults, int count)
{
	on_count = 0;
	any = false;
	over_since = WORLD_BEGIN;
	for (int i = 0; i < count; i++) {
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
faults_were_none(void)
{
	return !any;
}
