/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "job/ending.h"

#include <unistd.h>

#include "base/message.h"
#include "exits.h"
#include "job/immune.h"
#include "job/nets.h"
#include "job/verdict.h"
#include "job/words.h"
#include "run/testing.h"

/* A wait says nothing for so long. */
#define LINGER_NOTICE_NS NS_PER_S

void
ending_on_lost(struct job *job, struct instant now)
{
	const struct job_settings *settings = job->settings;
	struct instant kill_at = instant_earlier(instant_plus(now, settings->lock.terms.grace_ns),
	    lease_kill_at(&settings->lock.terms, job->lock.t0));
	if (!job->lost && job->stage != STAGE_RELEASING) {
		job->lost = true;
		job->lost_at = now;
		if (settings->on_lost == ON_LOST_SIGNAL) {
			/* Whose end has begun (--max-hold) has had the signal. */
			if (job->stage != STAGE_ENDING)
				command_signal_tree(&job->command, settings->first_signal);
		} else if (job->lock.loss == LOSS_ENDED && !testing_hook("no-kill")) {
			/* Others may have it already: no grace. */
			job->stage = STAGE_ENDING;
			command_kill(&job->command, settings->lock.terms.slack_ns, now);
		} else if (!testing_hook("no-kill")) {
			job->stage = STAGE_ENDING;
			command_end(&job->command, settings->first_signal, kill_at, now);
			nets_call(job);
		}
	}
	/* Not before it is known who has it now: we are called again then. */
	if (job->lost && settings->on_lost == ON_LOST_SIGNAL && job->lock.explained &&
	    !job->loss_announced)
		words_announce_loss(job);
}

void
ending_give_back(struct job *job, struct instant now)
{
	int64_t rest_ns = 0;
	job->stage = STAGE_RELEASING;
	loop_stop_timer(job->loop, &job->max_hold);
	immune_unwatch(job);
	loop_stop_timer(job->loop, &job->wait_notice);
	nets_take_down(job);
	if (job->settings->at_least_ns > 0 && !job->not_executed) {
		rest_ns = job->settings->at_least_ns - instant_between(job->lock.acquired_at, now);
		if (rest_ns < NS_PER_MS)
			rest_ns = 0;
	}
	lock_release(&job->lock, now, rest_ns);
}

void
ending_begin(struct job *job, struct instant now)
{
	job->stage = STAGE_ENDING;
	command_end(&job->command, job->settings->first_signal,
	    instant_plus(now, job->settings->lock.terms.grace_ns), now);
	nets_call(job);
}

static void
on_max_hold(void *context, struct instant now)
{
	struct job *job = context;
	/* What has ended in time did so, also when we learn of it late. */
	command_reap(&job->command, now);
	if (job->stage != STAGE_RUNNING && job->stage != STAGE_LINGERING)
		return;
	job->overstayed = true;
	ending_begin(job, now);
}

void
ending_limit(struct job *job)
{
	job->max_hold = (struct timer){.due = on_max_hold, .context = job};
	if (job->settings->max_hold_ns == 0)
		return;
	loop_set_timer(job->loop, &job->max_hold,
	    instant_plus(clock_now(), job->settings->max_hold_ns));
	nets_call(job);
}

static void
on_linger_notice(void *context, struct instant now)
{
	struct job *job = context;
	pid_t example;
	int left = command_count_left(&job->command, &example);
	(void)now;
	if (left > 0)
		words_tell_left(job, left, example);
}

/* COMMAND has ended well, and these `left` processes have not. */
static void
linger(struct job *job, struct instant now)
{
	job->stage = STAGE_LINGERING;
	command_await(&job->command);
	job->wait_notice = (struct timer){.due = on_linger_notice, .context = job};
	loop_set_timer(job->loop, &job->wait_notice, instant_plus(now, LINGER_NOTICE_NS));
}

void
ending_on_command_ended(void *context, bool by_signal, int value, struct instant now)
{
	struct job *job = context;
	pid_t example;
	job->by_signal = by_signal;
	job->value = value;
	job->ended_at = now;
	if (job->stage == STAGE_ENDING)
		return;
	int left = command_count_left(&job->command, &example);
	if (left == 0) {
		ending_give_back(job, now);
	} else if (by_signal || job->settings->descendants == DESCENDANTS_KILL) {
		ending_begin(job, now);
	} else if (job->settings->descendants == DESCENDANTS_WAIT) {
		linger(job, now);
	} else {
		words_tell_left(job, left, example);
		ending_give_back(job, now);
	}
}

void
ending_on_command_finished(void *context, struct instant now)
{
	struct job *job = context;
	job->ended_at = now; /* the last of the tree, not COMMAND alone */
	if (job->command.state == COMMAND_STUCK) {
		words_tell_stuck(job);
		ending_end_runner(job);
	}
	ending_give_back(job, now);
}

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

_Noreturn void
ending_end_runner(struct job *job)
{
	struct message last_word = {.kind = MESSAGE_EXITED, .number = job->value};
	if (job->lock.state == LOCK_RELEASED)
		words_tell_release(job);
	if (job->not_executed) {
		; /* the verdict is there */
	} else if (was_lost(job)) {
		words_tell_loss(job);
		words_describe_loss(job, job->reason, sizeof job->reason);
		job->outcome = REPORT_LOST;
		last_word.number = EXIT_LOST;
	} else if (job->overstayed) {
		last_word.number = EXIT_MAX_HOLD;
		job->outcome = REPORT_MAX_HOLD;
		if (job->command.state != COMMAND_STUCK)
			words_tell_max_hold(job);
	} else if (job->by_signal) {
		last_word.kind = MESSAGE_SIGNALED;
	}
	terminal_mend(&job->terminal, job->by_signal && last_word.kind == MESSAGE_EXITED);
	verdict_report_end(job, &last_word);
	channel_send(job->channel_watch.fd, &last_word);
	_exit(0);
}
