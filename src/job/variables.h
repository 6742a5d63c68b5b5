/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* The variables that COMMAND finds (SPEC section 4). */
#ifndef DLOCK_JOB_VARIABLES_H
#define DLOCK_JOB_VARIABLES_H

#include "job/job_parts.h"

/* Fills in job->plan.envp, when the lock is had. 0, or -1: no memory. */
int
variables_prepare(struct job *job);

#endif
