/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* The time until the lock is had, in one ordinary process. */
#ifndef DLOCK_JOB_WAITER_H
#define DLOCK_JOB_WAITER_H

#include "job/job_parts.h"

/* 0: the lock is held. Else dlock's exit status, and it has been explained; or this process dies of
 * a signal that ended the wait. */
int
waiter_acquire(struct job *job);

#endif
