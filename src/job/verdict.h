/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What --report says of a job: which outcome, and why. The line itself is run/report's. */
#ifndef DLOCK_JOB_VERDICT_H
#define DLOCK_JOB_VERDICT_H

#include "job/job_parts.h"

/* Notes the outcome, and the reason (NULL: none), while the facts are there. */
void
verdict_set(struct job *job, enum report_outcome outcome, const char *reason);

/* In the one process: reports the end of a run without COMMAND. */
void
verdict_report(struct job *job, int status);

/* In the one process, while it waits: reports that this signal ends it, and dies of it. */
_Noreturn void
verdict_die_of(struct job *job, int number);

/* Before the fork: what both processes are to know. */
void
verdict_share(struct job *job);

/* In RUNNER, with its last word: notes for OUTER, should RUNNER not come to report itself, what the
 * outcome is, then the word, and reports. */
void
verdict_report_end(struct job *job, const struct message *last_word);

#endif
