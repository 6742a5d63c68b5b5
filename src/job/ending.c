/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "job/ending.h"

#include <unistd.h>

#include "base/message.h"
#include "exits.h"
#include "job/nets.h"
#include "job/words.h"
#include "run/testing.h"

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
			command_signal_tree(&job->command, settings->first_signal);
			words_announce_loss(job);
		} else if (!testing_hook("no-kill")) {
			job->stage = STAGE_ENDING;
			command_end(&job->command, settings->first_signal, kill_at, now);
		}
	}
}

void
ending_give_back(struct job *job, struct instant now)
{
	int64_t rest_ns = 0;
	job->stage = STAGE_RELEASING;
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
	if (left > 0 && by_signal) {
		ending_begin(job, now);
		return;
	}
	if (left > 0)
		message_notice(
		    "the command of '%s' has ended and left %d process%s running (pid %d%s)",
		    job->settings->name, left, left == 1 ? "" : "es", (int)example,
		    left == 1 ? "" : " is one");
	ending_give_back(job, now);
}

void
ending_on_command_finished(void *context, struct instant now)
{
	struct job *job = context;
	if (job->ended_at.ns == INT64_MAX || job->lost)
		job->ended_at = now;
	if (job->command.state == COMMAND_STUCK) {
		message_error("processes of '%s' %s (pid %d is one): the lock is left to its TTL",
		    job->settings->name,
		    job->command.tree.denied > 0 ? "may not be killed by this user" : "do not die",
		    (int)job->command.tree.example);
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
	if (was_lost(job)) {
		words_tell_loss(job);
		last_word.number = EXIT_LOST;
	} else if (job->by_signal) {
		last_word.kind = MESSAGE_SIGNALED;
	}
	terminal_mend(&job->terminal, job->by_signal && last_word.kind == MESSAGE_EXITED);
	atomic_store(&job->channel.page->last_word, channel_pack(&last_word));
	channel_send(job->channel_watch.fd, &last_word);
	_exit(0);
}
