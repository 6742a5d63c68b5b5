/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "run/command.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/birth.h"

#define PULSE_NS NS_PER_MS

static void
on_failure_readable(void *context, short revents);
static void
on_grace_over(void *context, struct instant now);
static void
on_pulse(void *context, struct instant now);
static void
on_reaped(void *context, pid_t pid, int code, int status);

void
command_init(struct command *command, struct loop *loop, struct spawn_plan *plan,
    const struct command_events *events, void *context)
{
	memset(command, 0, offsetof(struct command, tree) + offsetof(struct tree, bystanders));
	command->loop = loop;
	command->plan = plan;
	command->events = events;
	command->context = context;
	command->failure_watch = (struct watch){.fd = -1,
	    .events = POLLIN,
	    .ready = on_failure_readable,
	    .context = command};
	command->grace = (struct timer){.due = on_grace_over, .context = command};
	command->pulse = (struct timer){.due = on_pulse, .context = command};
}

int
command_start(struct command *command)
{
	command->tree.reaped = on_reaped;
	command->tree.context = command;
	pid_t pid = spawn_start(command->plan, &command->failure_watch.fd, &command->gate_fd);
	if (pid < 0)
		return -1;
	command->pid = pid;
	command->tree.known = pid;
	command->state = COMMAND_RUNNING;
	loop_watch(command->loop, &command->failure_watch);
	return 0;
}

void
command_go(struct command *command)
{
	while (write(command->gate_fd, "", 1) < 0 && errno == EINTR)
		;
	close(command->gate_fd);
	birth_await(command->failure_watch.fd);
}

static void
close_failure(struct command *command)
{
	if (command->failure_watch.fd < 0)
		return;
	loop_unwatch(command->loop, &command->failure_watch);
	close(command->failure_watch.fd);
	command->failure_watch.fd = -1;
}

/* True: COMMAND was not executed, and that has been told, now or before. */
static bool
check_failure(struct command *command)
{
	struct problem problem;
	int status;
	if (command->failure_watch.fd < 0)
		return command->failed;
	int answer =
	    spawn_read_failure(command->failure_watch.fd, command->plan, &status, &problem);
	if (answer == 0)
		return false;
	close_failure(command);
	command->failed = answer < 0;
	if (command->failed)
		command->events->failed(command->context, status, &problem);
	return command->failed;
}

static void
on_failure_readable(void *context, short revents)
{
	(void)revents;
	check_failure(context);
}

/* -- ends ------------------------------------------------------------------------------------- */

static void
on_reaped(void *context, pid_t pid, int code, int status)
{
	struct command *command = context;
	if (pid != command->pid)
		return;
	command->pid = 0;
	if (!check_failure(command))
		command->events->ended(command->context, code != CLD_EXITED, status, clock_now());
}

static void
finish(struct command *command, enum command_state state, struct instant now)
{
	loop_stop_timer(command->loop, &command->grace);
	loop_stop_timer(command->loop, &command->pulse);
	command->state = state;
	command->events->finished(command->context, now);
}

/* Is an ordered end complete? */
static void
check_finished(struct command *command, struct instant now)
{
	pid_t example;
	int count;
	if (command->state != COMMAND_ENDING && command->state != COMMAND_KILLING &&
	    command->state != COMMAND_LINGERING)
		return;
	if (tree_is_empty(&command->tree, &example, &count))
		finish(command, COMMAND_GONE, now);
}

void
command_reap(struct command *command, struct instant now)
{
	siginfo_t info = {0};
	/* Only COMMAND's own stops are of interest, and only COMMAND is our child by fork. */
	while (command->pid > 0 &&
	    waitid(P_PID, (id_t)command->pid, &info, WSTOPPED | WCONTINUED | WNOHANG) == 0 &&
	    info.si_pid != 0) {
		if (info.si_code == CLD_CONTINUED)
			command->events->continued(command->context);
		else
			command->events->stopped(command->context, info.si_status);
		info.si_pid = 0;
	}
	tree_reap(&command->tree);
	check_finished(command, now);
}

void
command_signal(struct command *command, int number)
{
	if (command->pid > 0)
		kill(command->pid, number);
}

void
command_signal_tree(struct command *command, int number)
{
	tree_signal(&command->tree, getpid(), number);
}

void
command_signal_left(struct command *command, int number, bool group_has_it)
{
	tree_pass_on(&command->tree, getpid(), number, group_has_it);
}

void
command_await(struct command *command)
{
	command->state = COMMAND_LINGERING;
}

static void
on_grace_over(void *context, struct instant now)
{
	command_kill(context, 0, now);
}

void
command_end(struct command *command, int number, struct instant kill_at, struct instant now)
{
	switch (command->state) {
	case COMMAND_ENDING:
		if (kill_at.ns < command->grace.at.ns)
			loop_set_timer(command->loop, &command->grace, kill_at);
		return;
	case COMMAND_KILLING:
	case COMMAND_GONE:
	case COMMAND_STUCK:
		return;
	case COMMAND_NONE:
	case COMMAND_RUNNING:
	case COMMAND_LINGERING:
		break;
	}
	if (kill_at.ns <= now.ns) {
		command_kill(command, 0, now);
		return;
	}
	command->state = COMMAND_ENDING;
	loop_set_timer(command->loop, &command->grace, kill_at);
	command_signal_tree(command, number);
	check_finished(command, now);
}

/* One pass, or as many as fit into insist_ns. */
static void
sweep(struct command *command, int64_t insist_ns, struct instant now)
{
	struct instant until = instant_plus(now, insist_ns);
	while (tree_sweep(&command->tree) > 0) {
		now = clock_now();
		if (instant_reached(command->patience_until, now)) {
			finish(command, COMMAND_STUCK, now);
			return;
		}
		if (instant_reached(until, now)) {
			loop_set_timer(command->loop, &command->pulse, instant_plus(now, PULSE_NS));
			return;
		}
		poll(NULL, 0, 1); /* who was killed needs the processor to die */
	}
	finish(command, COMMAND_GONE, clock_now());
}

static void
on_pulse(void *context, struct instant now)
{
	sweep(context, 0, now);
}

void
command_kill(struct command *command, int64_t insist_ns, struct instant now)
{
	if (command->state == COMMAND_GONE || command->state == COMMAND_STUCK)
		return;
	if (command->state != COMMAND_KILLING) {
		command->state = COMMAND_KILLING;
		command->patience_until = instant_plus(now, COMMAND_PATIENCE_NS);
		loop_stop_timer(command->loop, &command->grace);
		command->events->killing(command->context);
		tree_kill(&command->tree);
	}
	sweep(command, insist_ns, now);
}

int
command_count_immune(struct command *command, pid_t *example)
{
	tree_pass_on(&command->tree, getpid(), 0, false);
	*example = command->tree.example;
	return command->tree.denied;
}

int
command_count_left(struct command *command, pid_t *example)
{
	int count;
	tree_reap(&command->tree); /* who has ended too is not left */
	if (!tree_is_empty(&command->tree, example, &count) && count == 0)
		count = 1; /* somebody, but /proc does not say who */
	return count;
}
