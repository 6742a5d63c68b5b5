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

/* A renewal has failed; the lock is lost (said once, when it is known to whom). */
void
words_tell_trouble(const struct job *job, struct instant now);
void
words_tell_loss(struct job *job, struct instant now);

/* How the release went. */
void
words_tell_release(const struct job *job);

/* For how long COMMAND may have run without the lock: after a loss that the clock told, from the
 * end of the lease; after one that the server told, at most from the last confirmation. */
void
words_tell_breach(const struct job *job);

#endif
