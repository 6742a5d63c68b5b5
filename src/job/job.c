/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "job/job.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/message.h"
#include "base/values.h"
#include "exits.h"
#include "job/ancestor.h"
#include "job/job_parts.h"
#include "job/keeper.h"
#include "job/verdict.h"
#include "job/waiter.h"
#include "run/guard.h"

static void
on_lock_due(void *context, struct instant now)
{
	struct job *job = context;
	lock_tick(&job->lock, now);
}

int
job_turn(struct job *job)
{
	struct instant due = lock_due(&job->lock);
	if (due.ns == INT64_MAX)
		loop_stop_timer(job->loop, &job->lock_timer);
	else
		loop_set_timer(job->loop, &job->lock_timer, due);
	return loop_run_once(job->loop);
}

const char *
job_token(const struct job *job)
{
	return job->lock.token[0] != '\0' ? job->lock.token : job->settings->token;
}

int
job_prepare_split(struct job *job)
{
	const struct job_settings *settings = job->settings;
	if (job->prepared)
		return 0;
	job->guard = (struct guard_settings){
	    .name = settings->name,
	    .loop = &job->guard_loop,
	    .channel = &job->channel,
	    .signals = settings->signals,
	    .tree = settings->tree,
	    .terminal = &job->terminal,
	};
	if (tree_become_subreaper() != 0 || channel_open(&job->channel) != 0)
		return -1;
	if (guard_prepare(&job->guard) != 0) {
		int error = errno;
		channel_close(&job->channel);
		errno = error;
		return -1;
	}
	job->prepared = true;
	return 0;
}

/* One process becomes two. Returns only when that fails, with errno set. */
static void
split(struct job *job)
{
	const struct job_settings *settings = job->settings;
	struct guard_settings *guard = &job->guard;
	if (job_prepare_split(job) != 0)
		return;
	guard->has_lock = job->cover == COVER_LOCK;
	guard->report = settings->report;
	if (settings->on_lost == ON_LOST_KILL)
		atomic_store(&job->channel.page->guard_at_ns,
		    lease_guard_at(&settings->lock.terms, job->lock.t0).ns);
	signals_block_stops();
	terminal_note(&job->terminal);
	job->outer = getpid();
	verdict_share(job);
	guard->runner = fork();
	if (guard->runner < 0)
		return;
	if (guard->runner == 0) {
		loop_close(guard->loop);
		keeper_run(job);
	}
	signals_end_waiting(settings->signals);
	settings->tree->known = guard->runner;
	channel_take(&job->channel, CHANNEL_OUTER);
	settings->store->operations->forget(settings->store);
	loop_close(job->loop);
	guard_run(guard);
}

/* Returns as job_run does. */
static int
run(struct job *job)
{
	const struct job_settings *settings = job->settings;
	struct problem problem;
	char waited[32];
	verdict_set(job, REPORT_SYSTEM_ERROR, NULL);
	if (!ancestors_read(job))
		return EXIT_USAGE;
	int status =
	    spawn_look_up(settings->argv[0], job->plan.path, sizeof job->plan.path, &problem);
	if (status != 0) {
		message_error("%s", problem.text);
		verdict_set(job, REPORT_NOT_EXECUTED, problem.text);
		return status;
	}
	lock_init(&job->lock, settings->store, &settings->lock, settings->seed);
	const struct held_entry *ancestor = held_find_key(&job->above, settings->key);
	if (ancestor != NULL) {
		job->lock.settings.ancestor = ancestor->token;
		/* Of one that has gone, or is no ancestor of ours, the token may be there still. */
		job->lock.settings.under = settings->reentrant && inquiry_runner_is_above(ancestor);
	}
	if (!waiter_acquire(job, &status))
		return status;
	if (job->cover == COVER_LOCK)
		message_verbose("acquired '%s' after %s, fence %s", settings->name,
		    value_print_duration(waited, sizeof waited,
			instant_between(job->lock.asked_at, clock_now())),
		    job->lock.fence);
	split(job);
	verdict_set(job, REPORT_SYSTEM_ERROR, strerror(errno));
	message_error("cannot run the command of '%s': %s", settings->name, job->reason);
	lock_release(&job->lock, clock_now(), 0);
	while (job->lock.state != LOCK_RELEASED && job_turn(job) == 0)
		;
	return EXIT_SYSTEM;
}

int
job_run(const struct job_settings *settings)
{
	static struct job job;
	job.settings = settings;
	job.loop = settings->loop;
	job.lock_timer = (struct timer){.due = on_lock_due, .context = &job};
	int status = run(&job);
	verdict_report(&job, status);
	return status;
}
