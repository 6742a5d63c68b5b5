/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "job/keeper.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/message.h"
#include "exits.h"
#include "job/relay.h"
#include "job/words.h"
#include "run/descriptors.h"
#include "run/testing.h"
#include "run/urgency.h"

/* While it gives the lock back nothing needs killing, but a stop must not last. */
#define RELEASE_WAKE_NS (100 * NS_PER_MS)
#define WAKE_LEAST_NS (20 * NS_PER_MS)
static _Noreturn void
end_runner(struct job *job);

/* -- the lease --------------------------------------------------------------------------------- */

static bool
kills_by_the_clock(const struct job *job)
{
	return job->settings->on_lost == ON_LOST_KILL && !testing_hook("no-kill");
}

/* After each confirmation: the page first, then the timers, so that no net has an old deadline
 * when another already trusts the new one. */
static void
spread_deadline(struct job *job)
{
	const struct lease_terms *terms = &job->settings->lock.terms;
	struct instant t0 = job->lock.t0;
	struct instant guard_at = INSTANT_NEVER;
	int64_t wake_every = terms->slack_ns / 2;

	if (job->settings->on_lost == ON_LOST_KILL && !testing_hook("no-guard"))
		guard_at = lease_guard_at(terms, t0);
	atomic_store(&job->channel.page->guard_at_ns, guard_at.ns);
	message_debug("confirmed t0=%lld.%09lld ttl=%lldms", (long long)(t0.ns / NS_PER_S),
	    (long long)(t0.ns % NS_PER_S), (long long)ms_from_ns(terms->ttl_ns));
	/* In a sweep the KILL timer stays off and the wake-up calls stay frequent. */
	if (job->command.state == COMMAND_KILLING)
		return;
	deadman_arm(&job->deadman, lease_renew_at(terms, t0),
	    wake_every > WAKE_LEAST_NS ? wake_every : WAKE_LEAST_NS, guard_at);
}

/* Nothing is left to be killed: the nets are taken down, but for a wake-up call. */
static void
stand_down(struct job *job)
{
	atomic_store(&job->channel.page->guard_at_ns, INT64_MAX);
	deadman_arm(&job->deadman, instant_plus(clock_now(), RELEASE_WAKE_NS), RELEASE_WAKE_NS,
	    INSTANT_NEVER);
}

static void
on_lost(struct job *job, struct instant now)
{
	const struct job_settings *settings = job->settings;
	struct instant kill_at = instant_earlier(instant_plus(now, settings->lock.terms.grace_ns),
	    lease_kill_at(&settings->lock.terms, job->lock.t0));
	if (!job->lost && job->stage != STAGE_RELEASING) {
		job->lost = true;
		job->lost_at = now;
		if (settings->on_lost == ON_LOST_SIGNAL) {
			command_signal_tree(&job->command, settings->first_signal);
			words_announce_loss(job);
		} else if (!testing_hook("no-kill")) {
			job->stage = STAGE_ENDING;
			command_end(&job->command, settings->first_signal, kill_at, now);
		}
	}
}

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
	if (kills_by_the_clock(job) && job->stage != STAGE_RELEASING &&
	    instant_reached(lease_kill_at(terms, job->lock.t0), now)) {
		job->stage = STAGE_ENDING;
		command_kill(&job->command, terms->slack_ns, now);
	}
}

/* -- COMMAND ----------------------------------------------------------------------------------- */

static void
give_back(struct job *job, struct instant now)
{
	int64_t rest_ns = 0;
	job->stage = STAGE_RELEASING;
	stand_down(job);
	if (job->settings->at_least_ns > 0 && !job->not_executed) {
		rest_ns = job->settings->at_least_ns - instant_between(job->lock.acquired_at, now);
		if (rest_ns < NS_PER_MS)
			rest_ns = 0;
	}
	lock_release(&job->lock, now, rest_ns);
}

static void
end_tree(struct job *job, struct instant now)
{
	job->stage = STAGE_ENDING;
	command_end(&job->command, job->settings->first_signal,
	    instant_plus(now, job->settings->lock.terms.grace_ns), now);
}

void
keeper_on_outer_death(struct job *job, struct instant now)
{
	/* Whoever killed it wanted the job to end. */
	if (job->stage == STAGE_RUNNING)
		end_tree(job, now);
}

static void
on_command_failed(void *context, int status, const struct problem *problem)
{
	struct job *job = context;
	job->not_executed = true;
	job->value = status;
	job->ended_at = clock_now();
	message_error("%s", problem->text);
	if (job->stage != STAGE_ENDING)
		give_back(job, job->ended_at);
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
on_command_ended(void *context, bool by_signal, int value, struct instant now)
{
	struct job *job = context;
	pid_t example;
	job->by_signal = by_signal;
	job->value = value;
	job->ended_at = now;
	if (job->stage == STAGE_ENDING)
		return;
	int left = command_count_left(&job->command, &example);
	if (left > 0 && by_signal) {
		end_tree(job, now);
		return;
	}
	if (left > 0)
		message_notice(
		    "the command of '%s' has ended and left %d process%s running (pid %d%s)",
		    job->settings->name, left, left == 1 ? "" : "es", (int)example,
		    left == 1 ? "" : " is one");
	give_back(job, now);
}

static void
on_command_killing(void *context)
{
	struct job *job = context;
	atomic_store(&job->channel.page->phase, PHASE_KILLING);
	deadman_begin_sweep(&job->deadman);
}

static void
on_command_finished(void *context, struct instant now)
{
	struct job *job = context;
	if (job->ended_at.ns == INT64_MAX || job->lost)
		job->ended_at = now;
	if (job->command.state == COMMAND_STUCK) {
		message_error("processes of '%s' %s (pid %d is one): the lock is left to its TTL",
		    job->settings->name,
		    job->command.tree.denied > 0 ? "may not be killed by this user" : "do not die",
		    (int)job->command.tree.example);
		end_runner(job);
	}
	give_back(job, now);
}

/* -- the end ----------------------------------------------------------------------------------- */

static bool
was_lost(const struct job *job)
{
	const struct lock *lock = &job->lock;
	/* A command that never ran has lost nothing, and has a status that says more. */
	if (job->not_executed)
		return false;
	if (job->lost || lock->loss != LOSS_NONE)
		return true;
	if (lock->state != LOCK_RELEASED)
		return false;
	/* Found out at release only: it counts if COMMAND ran after it was surely ours. */
	if (lock->released == RELEASE_FOUND_LOST)
		return true;
	return lock->released == RELEASE_UNCONFIRMED &&
	    job->ended_at.ns > lease_sure_until(&job->settings->lock.terms, lock->t0).ns;
}

/* RUNNER's last act. */
static _Noreturn void
end_runner(struct job *job)
{
	struct message last_word = {.kind = MESSAGE_EXITED, .number = job->value};
	if (job->lock.state == LOCK_RELEASED)
		words_tell_release(job);
	if (was_lost(job)) {
		words_tell_loss(job);
		last_word.number = EXIT_LOST;
	} else if (job->by_signal) {
		last_word.kind = MESSAGE_SIGNALED;
	}
	atomic_store(&job->channel.page->last_word, channel_pack(&last_word));
	channel_send(job->channel_watch.fd, &last_word);
	_exit(0);
}

static void
on_lock_changed(void *context, struct lock *lock, struct instant now)
{
	struct job *job = context;
	switch (lock->state) {
	case LOCK_HELD:
		spread_deadline(job);
		break;
	case LOCK_DOUBTFUL:
		words_tell_trouble(job, now);
		break;
	case LOCK_LOST:
		on_lost(job, now);
		break;
	case LOCK_RELEASED:
		end_runner(job);
	case LOCK_IDLE:
	case LOCK_ASKING:
	case LOCK_WAITING:
	case LOCK_RELEASING:
	case LOCK_LEAVING:
	case LOCK_FAILED:
		break;
	}
}

/* -- the start --------------------------------------------------------------------------------- */

static int
prepare_environment(struct job *job)
{
	const struct job_settings *settings = job->settings;
	const struct spawn_variable variables[] = {
	    {"DLOCK_NAME", settings->name},
	    {"DLOCK_KEY", settings->key},
	    {"DLOCK_TOKEN", settings->token},
	    {"DLOCK_FENCE", job->lock.fence},
	};
	job->plan.envp =
	    spawn_environment(environ, variables, sizeof variables / sizeof *variables);
	return job->plan.envp == NULL ? -1 : 0;
}

static int
start_command(struct job *job)
{
	static const struct command_events events = {
	    .failed = on_command_failed,
	    .stopped = on_command_stopped,
	    .continued = on_command_continued,
	    .ended = on_command_ended,
	    .finished = on_command_finished,
	    .killing = on_command_killing,
	};
	int early[RELAY_EARLY_MAX];
	job->plan.argv = job->settings->argv;
	job->plan.signals = job->settings->signals;
	command_init(&job->command, job->loop, &job->plan, &events, job);
	job->command.tree.can_list = job->settings->tree->can_list;
	job->command.tree.helper = job->settings->store->helper;
	if (prepare_environment(job) != 0)
		return -1;
	if (command_start(&job->command) != 0)
		return -1;
	int count = relay_read_early(job, early);
	for (int i = 0; i < count; i++)
		command_signal(&job->command, early[i]);
	command_go(&job->command);
	return 0;
}

static void
on_clock_step(void *context, struct instant now)
{
	struct job *job = context;
	lock_verify(&job->lock, now);
}

_Noreturn void
keeper_run(struct job *job)
{
	prctl(PR_SET_NAME, "dlock-run");
	message_never_block();
	job->ended_at = INSTANT_NEVER;
	job->lock.changed = on_lock_changed;
	job->lock.context = job;
	job->loop->first = on_wake;
	job->loop->first_context = job;
	relay_open(job);
	step_watch(&job->step, job->loop, on_clock_step, job);
	if (tree_become_subreaper() != 0 || deadman_open(&job->deadman) != 0)
		goto system_error;
	if (instant_reached(lease_term_at(&job->settings->lock.terms, job->lock.t0), clock_now()))
		goto too_late;
	spread_deadline(job);
	if (start_command(job) != 0)
		goto system_error;
	urgency_raise(); /* only now: COMMAND has the caller's scheduling */
	descriptors_let_go();
	for (;;) {
		if (job_turn(job) != 0)
			break;
	}
	/* Deaf and blind: OUTER and PDEATHSIG do the rest. */
	_exit(EXIT_SYSTEM);

too_late:
	/* Stopped since the grant, for longer than the lease. */
	message_error("lost '%s': its lease was over before its command was started",
	    job->settings->name);
	job->value = EXIT_LOST;
	goto give_up;

system_error:
	message_error("cannot start the command of '%s': %s", job->settings->name, strerror(errno));
	job->value = EXIT_SYSTEM;

give_up:
	job->not_executed = true;
	job->ended_at = clock_now();
	give_back(job, job->ended_at);
	while (job_turn(job) == 0)
		;
	_exit(EXIT_SYSTEM);
}
