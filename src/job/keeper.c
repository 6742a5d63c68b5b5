/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "job/keeper.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/message.h"
#include "exits.h"
#include "job/answering.h"
#include "job/ending.h"
#include "job/immune.h"
#include "job/nets.h"
#include "job/relay.h"
#include "job/variables.h"
#include "job/verdict.h"
#include "job/words.h"
#include "run/descriptors.h"
#include "run/urgency.h"

/* -- the lease --------------------------------------------------------------------------------- */

/* Runs first on every wake-up. What has ended is reaped before its lease is judged: a command
 * that finished in time did so also when we learn of it late. */
static void
on_wake(void *context, struct instant now)
{
	struct job *job = context;
	const struct lease_terms *terms = &job->settings->lock.terms;
	if (job->stage == STAGE_RELEASING ||
	    !instant_reached(lease_term_at(terms, job->lock.t0), now))
		return;
	command_reap(&job->command, now);
	if (job->stage == STAGE_RELEASING)
		return;
	/* The lock is lost now, and says so: signal, or KILL when it is as late as that. */
	lock_tick(&job->lock, now);
	if (nets_kill_by_the_clock(job) && job->stage != STAGE_RELEASING &&
	    instant_reached(lease_kill_at(terms, job->lock.t0), now)) {
		job->stage = STAGE_ENDING;
		command_kill(&job->command, terms->slack_ns, now);
	}
}

/* -- COMMAND ----------------------------------------------------------------------------------- */

void
keeper_on_outer_death(struct job *job, struct instant now)
{
	job->outer_dead = true;
	/* Whoever killed it wanted the job to end. */
	if (job->stage == STAGE_RUNNING || job->stage == STAGE_LINGERING)
		ending_begin(job, now);
}

static void
on_command_failed(void *context, int status, const struct problem *problem)
{
	struct job *job = context;
	job->not_executed = true;
	job->value = status;
	verdict_set(job, REPORT_NOT_EXECUTED, problem->text);
	job->ended_at = clock_now();
	message_error("%s", problem->text);
	if (job->stage != STAGE_ENDING)
		ending_give_back(job, job->ended_at);
}

static void
on_command_stopped(void *context, int number)
{
	struct job *job = context;
	const struct message stopped = {.kind = MESSAGE_STOPPED, .number = number};
	channel_send(job->channel_watch.fd, &stopped);
}

static void
on_command_continued(void *context)
{
	struct job *job = context;
	const struct message continued = {.kind = MESSAGE_CONTINUED};
	channel_send(job->channel_watch.fd, &continued);
}

static void
on_command_killing(void *context)
{
	struct job *job = context;
	atomic_store(&job->channel.page->phase, PHASE_KILLING);
	deadman_begin_sweep(&job->deadman);
}

/* -- the lock ---------------------------------------------------------------------------------- */

static void
on_lock_changed(void *context, struct lock *lock, struct instant now)
{
	struct job *job = context;
	switch (lock->state) {
	case LOCK_HELD:
		nets_spread(job);
		break;
	case LOCK_DOUBTFUL:
		words_tell_trouble(job, now);
		break;
	case LOCK_LOST:
		ending_on_lost(job, now);
		break;
	case LOCK_RELEASED:
		ending_end_runner(job);
	case LOCK_IDLE:
	case LOCK_ASKING:
	case LOCK_WAITING:
	case LOCK_RELEASING:
	case LOCK_LEAVING:
	case LOCK_FAILED:
		break;
	}
	answering_on_lock_changed(job, now);
}

/* -- the start --------------------------------------------------------------------------------- */

static int
start_command(struct job *job)
{
	static const struct command_events events = {
	    .failed = on_command_failed,
	    .stopped = on_command_stopped,
	    .continued = on_command_continued,
	    .ended = ending_on_command_ended,
	    .finished = ending_on_command_finished,
	    .killing = on_command_killing,
	};
	int early[RELAY_EARLY_MAX];
	job->plan.argv = job->settings->argv;
	job->plan.signals = job->settings->signals;
	command_init(&job->command, job->loop, &job->plan, &events, job);
	job->command.tree.can_list = job->settings->tree->can_list;
	for (int i = 0; i < STORE_MAX_HELPERS && i < TREE_MAX_HELPERS; i++)
		job->command.tree.helpers[i] = job->settings->store->helpers[i];
	if (variables_prepare(job) != 0)
		return -1;
	if (command_start(&job->command) != 0)
		return -1;
	int count = relay_read_early(job, early);
	for (int i = 0; i < count; i++)
		command_signal(&job->command, early[i]);
	ending_limit(job);
	immune_watch(job);
	command_go(&job->command);
	return 0;
}

static void
on_clock_step(void *context, struct instant now)
{
	struct job *job = context;
	lock_verify(&job->lock, now);
}

/* Stopped since the grant, for longer than the lease. */
static bool
is_too_late(const struct job *job)
{
	const struct lease_terms *terms = &job->settings->lock.terms;
	return instant_reached(lease_term_at(terms, job->lock.t0), clock_now());
}

_Noreturn void
keeper_run(struct job *job)
{
	signals_end_waiting(job->settings->signals);
	job->started_at = clock_now();
	prctl(PR_SET_NAME, "dlock-run");
	if (job->cover != COVER_NONE)
		verdict_set(job, REPORT_RAN, NULL); /* until there is another */
	message_never_block();
	job->ended_at = INSTANT_NEVER;
	job->lock.changed = on_lock_changed;
	job->lock.context = job;
	job->loop->first = on_wake;
	job->loop->first_context = job;
	relay_open(job);
	if (job->cover == COVER_LOCK)
		answering_open(job);
	if (tree_become_subreaper() != 0 || deadman_open(&job->deadman) != 0)
		goto system_error;
	if (is_too_late(job))
		goto too_late;
	nets_spread(job);
	/* In between nothing would have ended a stop; from here on its own timers do. */
	if (is_too_late(job))
		goto too_late;
	if (start_command(job) != 0)
		goto system_error;
	urgency_raise(); /* only now: COMMAND has the caller's scheduling */
	descriptors_let_go();
	step_watch(&job->step, job->loop, on_clock_step, job);
	for (;;) {
		if (job_turn(job) != 0)
			break;
	}
	/* Deaf and blind: OUTER and PDEATHSIG do the rest. */
	_exit(EXIT_SYSTEM);

too_late:
	message_error("lost '%s': its lease was over before its command was started",
	    job->settings->name);
	job->value = EXIT_LOST;
	verdict_set(job, REPORT_LOST, "its lease was over before its command was started");
	goto give_up;

system_error:
	verdict_set(job, REPORT_SYSTEM_ERROR, strerror(errno));
	message_error("cannot start the command of '%s': %s", job->settings->name, job->reason);
	job->value = EXIT_SYSTEM;

give_up:
	job->not_executed = true;
	job->ended_at = clock_now();
	ending_give_back(job, job->ended_at);
	while (job_turn(job) == 0)
		;
	_exit(EXIT_SYSTEM);
}
