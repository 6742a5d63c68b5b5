/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* The time until the lock is had, in one ordinary process. */
#ifndef DLOCK_JOB_WAITER_H
#define DLOCK_JOB_WAITER_H

#include "job/job_parts.h"

/* True: the lock is held, or COMMAND is to run without one (job->cover). False: it is not, that has
 * been explained, and *status is dlock's exit status, which may well be 0 (-E 0). Or this process
 * dies of a signal that ended the wait. */
bool
waiter_acquire(struct job *job, int *status);

#endif
