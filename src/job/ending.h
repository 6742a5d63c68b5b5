/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* How a run ends, in RUNNER: what becomes of COMMAND's tree, the release, the last word. */
#ifndef DLOCK_JOB_ENDING_H
#define DLOCK_JOB_ENDING_H

#include "job/job_parts.h"

/* The lock is lost: ends the tree, or with --on-lost signal only signals it. */
void
ending_on_lost(struct job *job, struct instant now);

/* Ends the tree: first signal now, KILL after the grace, then the release. */
void
ending_begin(struct job *job, struct instant now);

/* COMMAND has been let go: --max-hold counts from here. */
void
ending_limit(struct job *job);

/* COMMAND itself has ended; its descendants may live on. */
void
ending_on_command_ended(void *context, bool by_signal, int value, struct instant now);

/* The end of the tree is complete, or cannot be had. */
void
ending_on_command_finished(void *context, struct instant now);

/* Nobody needs the lock any more. */
void
ending_give_back(struct job *job, struct instant now);

/* RUNNER's last act. */
_Noreturn void
ending_end_runner(struct job *job);

#endif
