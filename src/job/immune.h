/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Warns, early and once, of a process below COMMAND that this user may not signal (sudo(8), another
 * set-user-ID program): should the lock be lost, it could not be ended. That is no matter of file
 * modes: each process is asked (kill(2) with signal 0), a second after the start and then ever more
 * seldom, for somebody may call sudo later. */
#ifndef DLOCK_JOB_IMMUNE_H
#define DLOCK_JOB_IMMUNE_H

#include "job/job_parts.h"

/* In RUNNER, when COMMAND has been let go. Nothing to do for root. */
void
immune_watch(struct job *job);

/* The lock is being given back. */
void
immune_unwatch(struct job *job);

#endif
