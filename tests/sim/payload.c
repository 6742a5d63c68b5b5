/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "payload.h"

#include <signal.h>

#include "checker.h"
#include "dlock.h"
#include "exits.h"
#include "trace.h"
#include "world.h"

enum end {
	END_OF_WORK,
	END_BY_SIGNAL,
};

struct task *
payload_new(struct task *runner)
{
	return task_new(TASK_COMMAND, runner->dlock, runner, NULL, NULL);
}

static void
end(struct task *command, enum end how)
{
	if (how == END_OF_WORK)
		task_die(command, CLD_EXITED, 0);
	else
		task_die(command, CLD_KILLED, command->pending);
}

static void
on_end(void *subject, uint64_t how)
{
	struct task *command = subject;
	if (!command->is_alive)
		return;
	if (task_is_able(command))
		end(command, (enum end)how);
	else
		command->missed_end = (int)how + 1;
}

static void
obey(struct task *command)
{
	const struct dlock_plan *plan = command->dlock->plan;
	if (command->pending == 0 || plan->ignores_signals || !task_is_able(command) ||
	    !command->is_executed || command->obeys)
		return;
	command->obeys = true;
	world_at(world.now + plan->cleanup_ns, on_end, command, END_BY_SIGNAL);
}

void
payload_execute(struct task *command)
{
	if (!command->is_alive)
		return;
	task_wake(command->parent);
	if (command->dlock->plan->is_missing) {
		task_die(command, CLD_EXITED, EXIT_NOT_FOUND);
		return;
	}
	command->is_executed = true;
	checker_command_begins(command);
	world_at(world.now + command->dlock->plan->work_ns, on_end, command, END_OF_WORK);
	obey(command);
}

bool
payload_is_over(const struct task *command)
{
	return command->is_executed || !command->is_alive;
}

bool
payload_was_executed(const struct task *command)
{
	return command->is_executed;
}

void
payload_on_signal(struct task *command, int number)
{
	if (number == SIGTSTP)
		task_stop(command);
	if (number != SIGTERM && number != SIGINT && number != SIGHUP)
		return;
	command->pending = number;
	obey(command);
}

void
payload_on_able(struct task *command)
{
	if (command->missed_end != 0)
		end(command, (enum end)(command->missed_end - 1));
	else
		obey(command);
}
