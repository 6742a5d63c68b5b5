/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What a job says about its lock. */
#ifndef DLOCK_JOB_WORDS_H
#define DLOCK_JOB_WORDS_H

#include <stddef.h>

#include "job/job_parts.h"

/* "deploy@web3 pid 4711 rsync, for 3m12s", or what is known of a foreign client. */
void
words_describe_holder(const struct holder *holder, char *out, size_t size);

/* Why the lock was lost, and who has it now, as far as that is known. */
void
words_describe_loss(const struct job *job, char *out, size_t size);

/* A renewal has failed. */
void
words_tell_trouble(const struct job *job, struct instant now);

/* Behind who has it: ", and 3 wait", where the lock was not had and others want it too; else "". */
void
words_describe_line(const struct place *place, char *out, size_t size);

/* The lock is lost, and COMMAND may go on for long (--on-lost signal). */
void
words_announce_loss(struct job *job);

/* The one line about a loss, when COMMAND has ended: why, who has it now, and for how long
 * exclusivity may have been broken. */
void
words_tell_loss(const struct job *job);

/* COMMAND has ended, and `left` processes live on, `example` among them: left alone, or waited for.
 */
void
words_tell_left(const struct job *job, int left, pid_t example);

/* Some do not die: says so, and makes it the reason of the report. */
void
words_tell_stuck(struct job *job);

/* --max-hold has ended it. */
void
words_tell_max_hold(const struct job *job);

/* How the release went. */
void
words_tell_release(const struct job *job);

#endif
