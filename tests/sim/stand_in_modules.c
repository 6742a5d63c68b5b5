/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What has a process, a terminal, a file or chance of its own in life. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counts.h"
#include "descriptors.h"
#include "dlock.h"
#include "exits.h"
#include "faults.h"
#include "node.h"
#include "payload.h"
#include "stand_ins.h"
#include "trace.h"
#include "world.h"

/* -- COMMAND ----------------------------------------------------------------------------------- */

pid_t
__wrap_spawn_start(struct spawn_plan *plan, int *failure_fd, int *gate_fd)
{
	(void)plan;
	struct task *command = payload_new(current);
	*failure_fd = descriptor_open(DESCRIPTOR_FAILURE);
	*gate_fd = descriptor_open(DESCRIPTOR_GATE);
	descriptor_get(*failure_fd)->command = command;
	descriptor_get(*gate_fd)->command = command;
	return command->pid;
}

int
__wrap_spawn_read_failure(int failure_fd, const struct spawn_plan *plan, int *status,
    struct problem *problem)
{
	const struct descriptor *descriptor = descriptor_get(failure_fd);
	(void)plan;
	if (!payload_is_over(descriptor->command))
		return 0;
	if (payload_was_executed(descriptor->command))
		return 1;
	problem_set(problem, "command not found");
	*status = EXIT_NOT_FOUND;
	return -1;
}

void
__wrap_birth_await(int fd)
{
	(void)fd;
}

int
__wrap_variables_prepare(struct job *job)
{
	dlock_of(job)->shown_fence = strtoll(job->lock.fence, NULL, 10);
	dlock_of(job)->shown_slot = job->lock.slot;
	return 0;
}

/* -- signals ----------------------------------------------------------------------------------- */

int
__wrap_signals_read(const struct signals *signals, int *number, int *code, int *sender)
{
	(void)signals;
	if (current->signal_count == 0)
		return 0;
	struct signal_news news = current->signals[0];
	current->signal_count--;
	memmove(current->signals, current->signals + 1,
	    (size_t)current->signal_count * sizeof news);
	for (int i = 0; i < TASK_TIMERS && news.code == SI_TIMER; i++) {
		if (current->timers[i].number == news.number)
			current->timers[i].is_pending = false;
	}
	*number = news.number;
	*code = news.code;
	*sender = news.sender;
	return 1;
}

void
__wrap_signals_end_waiting(const struct signals *signals)
{
	(void)signals;
}

bool
__wrap_signals_ends_waiter(int number)
{
	return number == SIGTERM || number == SIGINT || number == SIGHUP;
}

_Noreturn void
__wrap_signals_die_of(int number)
{
	task_exit(CLD_KILLED, number);
}

void
__wrap_signals_stop_like(int number, int channel)
{
	const struct descriptor *end = descriptor_get(channel);
	(void)number;
	if (descriptor_events(end, POLLIN) != 0)
		return;
	task_stop(current);
	while (current->is_stopped) {
		task_wake(current);
		task_wait();
	}
}

bool
__wrap_proc_has_pending(pid_t pid, int number)
{
	const struct task *task = tasks_find(pid);
	for (int i = 0; task != NULL && i < task->signal_count; i++) {
		if (task->signals[i].number == number)
			return true;
	}
	return false;
}

/* -- what nobody sees -------------------------------------------------------------------------- */

void
__wrap_terminal_mend(const struct terminal *terminal, bool killed)
{
	(void)terminal;
	(void)killed;
}

void
__wrap_descriptors_let_go(void)
{
}

void
__wrap_urgency_raise(void)
{
}

void
__wrap_answering_open(struct job *job)
{
	(void)job;
}

void
__wrap_report_write(struct report *report, const struct report_end *end)
{
	(void)report;
	counts_add_outcome((int)end->outcome);
}

void
__wrap_message_never_block(void)
{
}

static void
say(const char *format, va_list arguments)
{
	char text[600];
	if (!trace_is_on())
		return;
	vsnprintf(text, sizeof text, format, arguments);
	trace_line(current == NULL ? "world" : current->name, "says: %s", text);
}

#define SAY(name)                                                                                  \
	void __wrap_message_##name(const char *format, ...)                                        \
	{                                                                                          \
		va_list arguments;                                                                 \
		va_start(arguments, format);                                                       \
		say(format, arguments);                                                            \
		va_end(arguments);                                                                 \
	}

SAY(error)
SAY(notice)
SAY(verbose)
SAY(debug)

/* -- names and chance -------------------------------------------------------------------------- */

/* Servers are called nodeN.example, or 10.0.0.N. */
static void
give_address(const char *host, struct addresses *addresses)
{
	const char *digits = host + strcspn(host, "0123456789");
	if (strncmp(host, "10.0.0.", 7) == 0)
		digits = host + 7;
	struct sockaddr_in place = {.sin_family = AF_INET,
	    .sin_port = htons((uint16_t)atoi(digits))};
	memset(addresses, 0, sizeof *addresses);
	memcpy(&addresses->items[0], &place, sizeof place);
	addresses->lengths[0] = sizeof place;
	addresses->count = 1;
}

bool
__wrap_resolve_literal(const char *host, int port, struct addresses *addresses)
{
	(void)port;
	if (strncmp(host, "10.0.0.", 7) != 0)
		return false;
	give_address(host, addresses);
	return true;
}

static void
on_looked_up(void *context, short revents)
{
	struct resolver *resolver = context;
	(void)revents;
	loop_unwatch(resolver->loop, &resolver->watch);
	__wrap_close(resolver->watch.fd);
	resolver->done(resolver->context, &resolver->result.addresses, &resolver->result.problem);
}

static void
answer_lookup(void *subject, uint64_t fd)
{
	struct resolver *resolver = subject;
	struct descriptor *descriptor = descriptor_get((int)fd);
	if (descriptor == NULL || descriptor->kind != DESCRIPTOR_LOOKUP ||
	    resolver->watch.fd != (int)fd)
		return;
	descriptor->is_answered = true;
	task_wake(descriptor->owner);
}

int
__wrap_resolve_start(struct resolver *resolver, const char *host, int port)
{
	(void)port;
	__wrap_resolve_cancel(resolver);
	int fd = descriptor_open(DESCRIPTOR_LOOKUP);
	give_address(host, &resolver->result.addresses);
	resolver->watch =
	    (struct watch){.fd = fd, .events = POLLIN, .ready = on_looked_up, .context = resolver};
	loop_watch(resolver->loop, &resolver->watch);
	int64_t at = world.now + dice_spread(&current->dice, 50000, 5000000);
	if (world.now < current->dlock->lookups_hang_until) {
		at = current->dlock->lookups_hang_until;
		faults_felt(FAULT_LOOKUPS_HANG, current->host, NULL);
	}
	world_at(at, answer_lookup, resolver, (uint64_t)fd);
	return 0;
}

void
__wrap_resolve_cancel(struct resolver *resolver)
{
	if (!resolver->watch.linked)
		return;
	loop_unwatch(resolver->loop, &resolver->watch);
	__wrap_close(resolver->watch.fd);
}

void
__wrap_uuid_generate_random(uuid_t uuid)
{
	for (int i = 0; i < 16; i++)
		uuid[i] = (unsigned char)dice_roll(&current->dice);
}
