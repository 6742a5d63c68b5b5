/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What befalls a process, and a machine. */
#include <signal.h>

#include "descriptors.h"
#include "dlock.h"
#include "fault_parts.h"
#include "trace.h"
#include "world.h"

static bool
stop(struct task *task, bool begins)
{
	bool was_able = task != NULL && task_is_able(task) && !task->is_dying;
	if (task == NULL || !task->is_alive)
		return false;
	task_signal(task, begins ? SIGSTOP : SIGCONT, SI_USER, 0);
	return begins && was_able;
}

static bool
kill_task(struct task *task)
{
	if (task == NULL || !task->is_alive)
		return false;
	bool was_dying = task->is_dying;
	task_signal(task, SIGKILL, SI_USER, 0);
	return !was_dying;
}

static void
set_trap(const struct fault *fault, struct task *task)
{
	if (task == NULL || !task->is_alive)
		return;
	task->trap = fault->kind == FAULT_DELAY_MIDDLE ? TRAP_DELAY
	    : fault->kind == FAULT_STOP_MIDDLE         ? TRAP_STOP
						       : TRAP_KILL;
	task->trap_after = (int)fault->amount;
	task->trap_for = fault->lasts;
}

bool
fault_befall_process(const struct fault *fault, bool begins)
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
		return stop(dlock->runner, begins) & stop(dlock->outer, begins);
	case FAULT_KILL_OUTER:
		return begins && kill_task(dlock->outer);
	case FAULT_KILL_RUNNER:
		return begins && kill_task(dlock->runner);
	case FAULT_KILL_BOTH:
		return begins && (kill_task(dlock->outer) & kill_task(dlock->runner));
	case FAULT_KILL_COMMAND:
		return begins && kill_task(dlock->command);
	case FAULT_TERMINATE:
		if (!begins || !dlock->outer->is_alive)
			return false;
		if (dlock->runner == NULL && dlock->told_to_end_at == 0)
			dlock->told_to_end_at = world.now;
		task_signal(dlock->outer, SIGTERM, SI_USER, 0);
		return !dlock->outer->is_dying;
	case FAULT_DELAY_MIDDLE:
	case FAULT_STOP_MIDDLE:
	case FAULT_KILL_MIDDLE:
		if (begins)
			set_trap(fault, keeper);
		return false;
	default:
		return false;
	}
}

bool
fault_befall_machine(const struct fault *fault, bool begins)
{
	struct dlock *dlock = dlocks_get(fault->host);
	if (fault->kind == FAULT_SUSPEND) {
		trace_line("machine", "of d%d %s", dlock->number, begins ? "sleeps" : "wakes");
		dlock->awake_since = world.now;
		if (begins)
			tasks_suspend(&dlock->host);
		else
			tasks_resume(&dlock->host);
		return begins && dlock->is_begun && !dlock_is_over(dlock);
	}
	return fault->kind == FAULT_WALL_CLOCK && begins && descriptors_step_clock(&dlock->host);
}
