/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* RUNNER: keeps the lock alive for exactly as long as COMMAND runs, and ends COMMAND when the lock
 * is lost.
 *
 * On any wake-up, in this order: it reads the clock; past term_at it signals, past kill_at it
 * kills, before any I/O; only then it looks at sockets. */
#ifndef DLOCK_JOB_KEEPER_H
#define DLOCK_JOB_KEEPER_H

#include "job/job_parts.h"

/* Runs in RUNNER from the fork to its end, with the lock held. */
_Noreturn void
keeper_run(struct job *job);

/* OUTER has died: COMMAND's tree is ended, then the lock is given back. */
void
keeper_on_outer_death(struct job *job, struct instant now);

#endif
