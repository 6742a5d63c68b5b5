/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* RUNNER answers who asks from below whether the lock is still held (run/inquiry.h).
 *
 *   question ---> same user or root, and a descendant? ---> a renewal made for it ---> answer
 *
 * A yes follows a renewal that was sent after the question had come, never an older one. Several
 * questions share a renewal, and their number does not raise that of renewals (lock_confirm). What
 * questions may take of a turn of the loop is bounded, and its first act is to look at the clock: a
 * flood of them delays nothing that the lease demands. */
#ifndef DLOCK_JOB_ANSWERING_H
#define DLOCK_JOB_ANSWERING_H

#include "job/job_parts.h"

/* Begins to listen, in RUNNER, before COMMAND is started. Where that cannot be, COMMAND runs
 * nevertheless, and a question ends with "cannot be asked". */
void
answering_open(struct job *job);

/* After each change of the lock: answers those who can be told now. */
void
answering_on_lock_changed(struct job *job, struct instant now);

#endif
