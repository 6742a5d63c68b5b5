/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "task.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checker.h"
#include "descriptors.h"
#include "dlock.h"
#include "end_check.h"
#include "faults.h"
#include "payload.h"
#include "trace.h"
#include "world.h"

#define FIRST_PID 1001
/* Of one turn: it should have waited for something by then. */
#define MOST_STEPS 20000

struct task *current;

static struct task *tasks[MOST_TASKS];
static int task_count;

void
tasks_begin(void)
{
	for (int i = 0; i < task_count; i++)
		coroutine_forget(&tasks[i]->coroutine);
	task_count = 0;
	current = NULL;
}

int
tasks_count(void)
{
	return task_count;
}

struct task *
tasks_get(int index)
{
	return tasks[index];
}

struct task *
tasks_find(int pid)
{
	int index = pid - FIRST_PID;
	return index >= 0 && index < task_count ? tasks[index] : NULL;
}

struct task *
task_new(enum task_kind kind, struct dlock *dlock, struct task *parent, void (*body)(void *context),
    void *context)
{
	static const char *const kinds[] = {"", " runner", " command"};
	if (task_count == MOST_TASKS)
		abort();
	struct task *task = world_allocate(sizeof *task);
	task->pid = FIRST_PID + task_count;
	task->kind = kind;
	task->dlock = dlock;
	task->host = dlock_host(dlock);
	task->parent = parent;
	task->is_alive = true;
	task->coroutine.body = body;
	task->coroutine.context = context;
	task->dice =
	    dice_of(world.seed, 1000 + 10 * (uint64_t)dlock_number(dlock) + (uint64_t)kind);
	snprintf(task->name, sizeof task->name, "d%d%s", dlock_number(dlock), kinds[kind]);
	tasks[task_count++] = task;
	return task;
}

bool
task_is_able(const struct task *task)
{
	return task->is_alive && !task->is_stopped && !task->host->is_suspended;
}

/* -- turns ------------------------------------------------------------------------------------- */

static void
have_turn(void *subject, uint64_t unused)
{
	struct task *task = subject;
	(void)unused;
	task->is_due = false;
	if (!task->is_alive)
		return;
	if (!task_is_able(task)) {
		task->is_missed = true;
		return;
	}
	if (task->delayed_until > world.now) {
		task->is_due = true;
		world_at(task->delayed_until, have_turn, task, 0);
		return;
	}
	current = task;
	task->steps = 0;
	coroutine_run(&task->coroutine);
	current = NULL;
	if (!task->is_alive)
		coroutine_forget(&task->coroutine);
	dlock_note_state(task->dlock);
}

void
task_wake(struct task *task)
{
	if (!task->is_alive || task->is_due || task->coroutine.body == NULL)
		return;
	task->is_due = true;
	/* Until the processor is had. */
	world_at(world.now + dice_spread(&task->dice, 2000, 100000), have_turn, task, 0);
}

void
task_wait(void)
{
	coroutine_pause(&current->coroutine);
}

static void
on_stop_over(void *subject, uint64_t unused)
{
	(void)unused;
	task_signal(subject, SIGCONT, SI_USER, 0);
}

/* Delayed, or stopped, it has its turn later, and goes on there. */
static void
spring(struct task *task)
{
	enum trap trap = task->trap;
	task->trap = TRAP_NONE;
	faults_last_until(world.now + task->trap_for);
	switch (trap) {
	case TRAP_NONE:
		return;
	case TRAP_DELAY:
		faults_felt(FAULT_DELAY_MIDDLE, task->host, NULL);
		trace_line(task->name, "is delayed for %lld us", (long long)task->trap_for / 1000);
		task->delayed_until = world.now + task->trap_for;
		break;
	case TRAP_STOP:
		faults_felt(FAULT_STOP_MIDDLE, task->host, NULL);
		trace_line(task->name, "is stopped in the middle of its work");
		task->is_stopped = true;
		world_at(world.now + task->trap_for, on_stop_over, task, 0);
		break;
	case TRAP_KILL:
		faults_felt(FAULT_KILL_MIDDLE, task->host, NULL);
		trace_line(task->name, "is killed in the middle of its work");
		task_exit(CLD_KILLED, SIGKILL);
	}
	do {
		task_wake(task);
		task_wait();
	} while (task->delayed_until > world.now);
}

void
task_step(void)
{
	if (current != NULL && ++current->steps == MOST_STEPS) {
		world_fail("%s goes round and round without waiting", current->name);
		for (;;)
			task_wait();
	}
	if (current != NULL && current->trap != TRAP_NONE && --current->trap_after <= 0)
		spring(current);
}

/* -- signals ----------------------------------------------------------------------------------- */

static void
queue_signal(struct task *task, int number, int code, int sender)
{
	for (int i = 0; i < task->signal_count; i++) {
		if (task->signals[i].number == number)
			return; /* pending already */
	}
	if (task->signal_count < MOST_SIGNALS)
		task->signals[task->signal_count++] = (struct signal_news){number, code, sender};
	task_wake(task);
}

void
task_stop(struct task *task)
{
	if (!task->is_alive || task->is_stopped)
		return;
	trace_line(task->name, "is stopped");
	task->is_stopped = true;
	task->has_stopped_news = true;
	task->has_continued_news = false;
	if (task->parent != NULL && task->kind == TASK_COMMAND)
		queue_signal(task->parent, SIGCHLD, CLD_STOPPED, task->pid);
}

static void
make_up(struct task *task)
{
	if (!task_is_able(task))
		return;
	if (task->is_missed) {
		task->is_missed = false;
		task_wake(task);
	}
	if (task->kind == TASK_COMMAND)
		payload_on_able(task);
}

void
task_continue(struct task *task)
{
	if (!task->is_alive || !task->is_stopped)
		return;
	trace_line(task->name, "is continued");
	task->is_stopped = false;
	task->has_continued_news = true;
	task->has_stopped_news = false;
	if (task->parent != NULL && task->kind == TASK_COMMAND)
		queue_signal(task->parent, SIGCHLD, CLD_CONTINUED, task->pid);
	make_up(task);
}

static void
on_killed(void *subject, uint64_t unused)
{
	struct task *task = subject;
	(void)unused;
	if (task->host->is_suspended)
		return; /* when it wakes */
	task_die(task, CLD_KILLED, SIGKILL);
}

void
task_signal(struct task *task, int number, int code, int sender)
{
	if (!task->is_alive)
		return;
	if (number != SIGCHLD)
		trace_line(task->name, "gets %s", strsignal(number));
	if (number == SIGKILL) {
		if (!task->is_dying)
			world_at(world.now + dice_spread(&task->dice, 10000, 500000), on_killed,
			    task, 0);
		task->is_dying = true;
		return;
	}
	if (number == SIGSTOP) {
		task_stop(task);
		return;
	}
	if (number == SIGCONT)
		task_continue(task);
	if (task->kind == TASK_COMMAND)
		payload_on_signal(task, number);
	else
		queue_signal(task, number, code, sender);
}

/* -- the end ----------------------------------------------------------------------------------- */

void
task_die(struct task *task, int code, int status)
{
	if (!task->is_alive)
		return;
	trace_line(task->name, code == CLD_EXITED ? "exits with %d" : "dies of signal %d", status);
	if (task->kind == TASK_COMMAND)
		checker_command_ends(task);
	task->is_alive = false;
	task->ended_at = world.now;
	task->code = code;
	task->status = status;
	if (task->kind == TASK_OUTER)
		end_check_status(task);
	descriptors_close_all(task);
	for (int i = 0; i < task_count; i++) {
		struct task *child = tasks[i];
		if (child->parent != task)
			continue;
		child->parent = task->parent; /* a subreaper */
		if (child->is_alive && task->kind == TASK_RUNNER)
			task_signal(child, SIGKILL, SI_KERNEL, 0); /* PR_SET_PDEATHSIG */
		if (!child->is_alive && child->parent != NULL && !child->is_reaped)
			queue_signal(child->parent, SIGCHLD, child->code, child->pid);
	}
	if (task->parent == NULL || !task->parent->is_alive)
		task->is_reaped = true;
	else
		queue_signal(task->parent, SIGCHLD, code, task->pid);
	if (task != current)
		coroutine_forget(&task->coroutine);
}

_Noreturn void
task_exit(int code, int status)
{
	task_die(current, code, status);
	for (;;)
		coroutine_pause(&current->coroutine);
}

/* -- a machine that sleeps --------------------------------------------------------------------- */

static void
on_timer(void *subject, uint64_t argument)
{
	struct task *task = subject;
	struct kernel_timer *timer = &task->timers[argument % TASK_TIMERS];
	if (!task->is_alive || timer->generation != argument / TASK_TIMERS || timer->at == NEVER ||
	    task->host->is_suspended)
		return;
	int number = timer->number;
	int64_t next = timer->every > 0 ? timer->at + timer->every : NEVER;
	int64_t now = host_boottime(task->host, world.now);
	if (next != NEVER && next <= now)
		next = now + timer->every;
	task_set_timer(task, (int)(argument % TASK_TIMERS), next, timer->every);
	if (timer->is_pending)
		return;
	timer->is_pending = number != SIGKILL;
	task_signal(task, number, SI_TIMER, 0);
}

void
task_set_timer(struct task *task, int index, int64_t at, int64_t every)
{
	struct kernel_timer *timer = &task->timers[index];
	timer->at = at;
	timer->every = every;
	timer->generation++;
	world_at(host_time_of(task->host, at), on_timer, task,
	    timer->generation * TASK_TIMERS + (uint64_t)index);
}

void
tasks_suspend(struct host *host)
{
	host->is_suspended = true;
	host->suspended_at = world.now;
}

void
tasks_resume(struct host *host)
{
	host->is_suspended = false;
	for (int i = 0; i < task_count; i++) {
		struct task *task = tasks[i];
		if (task->host != host || !task->is_alive)
			continue;
		if (task->is_dying)
			task_die(task, CLD_KILLED, SIGKILL);
		for (int timer = 0; timer < TASK_TIMERS; timer++) {
			if (task->timers[timer].number != 0)
				task_set_timer(task, timer, task->timers[timer].at,
				    task->timers[timer].every);
		}
		make_up(task);
	}
}
