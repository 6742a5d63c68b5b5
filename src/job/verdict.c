/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "job/verdict.h"

#include <stdio.h>
#include <unistd.h>

#include "exits.h"
#include "run/testing.h"

void
verdict_set(struct job *job, enum report_outcome outcome, const char *reason)
{
	job->outcome = outcome;
	if (reason == NULL)
		job->reason[0] = '\0';
	else
		snprintf(job->reason, sizeof job->reason, "%s", reason);
}

static void
write_report(struct job *job, int status, int signal_number)
{
	const struct report_end end = {
	    .outcome = job->outcome,
	    .status = status,
	    .signal_number = signal_number,
	    .reason = job->reason[0] != '\0' ? job->reason : NULL,
	};
	report_write(job->settings->report, &end);
}

/* How long the lock was asked for; -1: it was not. */
static int64_t
measure_wait(const struct job *job)
{
	if (job->lock.asked_at.ns == 0 || job->cover != COVER_LOCK)
		return -1;
	return instant_between(job->lock.asked_at, clock_now());
}

/* Dying of a signal: process 1 cannot, and exits so. */
static int
status_of_death(pid_t outer, int number)
{
	return outer == 1 ? EXIT_BY_SIGNAL + number : REPORT_NO_STATUS;
}

void
verdict_report(struct job *job, int status)
{
	job->settings->report->waited_ns = measure_wait(job);
	write_report(job, status, 0);
}

_Noreturn void
verdict_die_of(struct job *job, int number)
{
	verdict_set(job, REPORT_INTERRUPTED, "ended by a signal while waiting for the lock");
	job->settings->report->waited_ns = measure_wait(job);
	write_report(job, status_of_death(getpid(), number), number);
	signals_die_of(number);
}

void
verdict_share(struct job *job)
{
	struct report *report = job->settings->report;
	report->waited_ns = measure_wait(job);
	report->fence = job->lock.fence;
	report->claim = &job->channel.page->reported;
	if (job->cover == COVER_LOCK)
		report->acquired_at = job->lock.acquired_at;
	/* Should nobody come to say better. */
	atomic_store(&job->channel.page->outcome, REPORT_LOST);
}

void
verdict_report_end(struct job *job, const struct message *last_word)
{
	bool by_signal = last_word->kind == MESSAGE_SIGNALED;
	int number = by_signal ? last_word->number : 0;
	int status = by_signal ? status_of_death(job->outer, number) : last_word->number;
	if (job->outer_dead && job->outcome != REPORT_LOST)
		verdict_set(job, REPORT_INTERRUPTED, "the first process of dlock was killed");
	/* What it exits with, or dies of, is not known then. */
	if (job->outer_dead)
		status = REPORT_NO_STATUS;
	atomic_store(&job->channel.page->outcome, (int)job->outcome);
	atomic_store(&job->channel.page->last_word, channel_pack(last_word));
	if (testing_number("slow-report") > 0)
		usleep((useconds_t)testing_number("slow-report") * 1000);
	write_report(job, status, number);
}
