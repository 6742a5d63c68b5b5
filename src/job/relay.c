/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "job/relay.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "job/keeper.h"
#include "run/proc.h"

/* That the job is suspended no stop of COMMAND tells OUTER any more, when COMMAND has ended. */
static void
tell_stop(struct job *job, int number)
{
	const struct message stopped = {.kind = MESSAGE_STOPPED, .number = number};
	channel_send(job->channel_watch.fd, &stopped);
}

/* When COMMAND has ended, what it has left and is waited for stands in its place. */
static void
pass_on(struct job *job, int number, bool group_has_it)
{
	if (job->stage != STAGE_LINGERING) {
		if (!group_has_it)
			command_signal(&job->command, number);
		return;
	}
	command_signal_left(&job->command, number, group_has_it);
	if (number == SIGTSTP)
		tell_stop(job, number);
}

static void
pass_signals_on(void *context, struct instant now)
{
	struct job *job = context;
	bool by_runner;
	int number;
	while ((number = forward_next(&job->forward, now, &by_runner)) != 0) {
		/* A stopped OUTER cannot say that it got it too: then the group did. */
		pass_on(job, number, by_runner && proc_has_pending(job->outer, number));
	}
	while ((number = forward_next_shared(&job->forward)) != 0)
		pass_on(job, number, true);
	struct instant due = forward_due(&job->forward);
	if (due.ns != INT64_MAX)
		loop_set_timer(job->loop, &job->forward_timer, due);
}

/* What the kernel sends goes to a whole group: a terminal's Ctrl-C and hang-up, what an orphaned
 * group gets. But for a timer of who was there before dlock, and the hang-up of a session leader,
 * which OUTER alone may be. */
static bool
went_to_group(const struct job *job, enum forward_witness witness, int number, int code)
{
	return code == SI_KERNEL && number != SIGALRM &&
	    (witness == FORWARD_BY_RUNNER || getsid(0) != job->outer);
}

static void
see_signal(struct job *job, enum forward_witness witness, int number, int code, int sender)
{
	/* Its own medicine is not given back to COMMAND. */
	if (sender > 0 && (sender == job->command.pid || sender == getpid()))
		return;
	bool from_group = sender > 0 && getpgid(sender) == getpgrp();
	if (went_to_group(job, witness, number, code))
		forward_see_group(&job->forward, witness, number, code, sender, clock_now());
	else
		forward_see(&job->forward, witness, number, code, sender, from_group, clock_now());
	pass_signals_on(job, clock_now());
}

/* Not COMMAND's: the kernel's timers and terminal, and the CONT that wakes RUNNER, of somebody who
 * asks one that does not answer (run/inquiry.h) or of OUTER. */
static bool
is_own_business(int number, int code)
{
	return code == SI_TIMER || number == SIGTTIN || number == SIGTTOU ||
	    (number == SIGCONT && code == SI_QUEUE);
}

static void
on_keeper_signals(void *context, short revents)
{
	struct job *job = context;
	int number, code, sender;
	(void)revents;
	while (signals_read(job->settings->signals, &number, &code, &sender)) {
		if (number == SIGCHLD)
			command_reap(&job->command, clock_now());
		else if (job->stage == STAGE_LINGERING && (number == SIGTTIN || number == SIGTTOU))
			tell_stop(job, number); /* it was for the whole group */
		else if (!is_own_business(number, code))
			see_signal(job, FORWARD_BY_RUNNER, number, code, sender);
	}
}

static void
on_channel(void *context, short revents)
{
	struct job *job = context;
	struct message message;
	int status;
	(void)revents;
	while ((status = channel_receive(job->channel_watch.fd, &message)) > 0) {
		if (message.kind == MESSAGE_SIGNAL)
			see_signal(job, FORWARD_BY_OUTER, message.number, message.code,
			    message.sender);
	}
	if (status >= 0)
		return;
	loop_unwatch(job->loop, &job->channel_watch);
	keeper_on_outer_death(job, clock_now());
}

int
relay_read_early(struct job *job, int early[RELAY_EARLY_MAX])
{
	int number, code, sender, count = 0;
	while (signals_read(job->settings->signals, &number, &code, &sender)) {
		if (number == SIGCHLD || is_own_business(number, code) || count == RELAY_EARLY_MAX)
			continue;
		forward_see_settled(&job->forward, number, code, sender, clock_now());
		early[count++] = number;
	}
	return count;
}

void
relay_open(struct job *job)
{
	job->signal_watch = (struct watch){.fd = job->settings->signals->fd,
	    .events = POLLIN,
	    .ready = on_keeper_signals,
	    .context = job};
	job->channel_watch = (struct watch){.fd = channel_take(&job->channel, CHANNEL_RUNNER),
	    .events = POLLIN,
	    .ready = on_channel,
	    .context = job};
	job->forward_timer = (struct timer){.due = pass_signals_on, .context = job};
	loop_watch(job->loop, &job->signal_watch);
	loop_watch(job->loop, &job->channel_watch);
}
