/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Signals and messages that reach RUNNER: CHLD, what is meant for COMMAND, what OUTER says. */
#ifndef DLOCK_JOB_RELAY_H
#define DLOCK_JOB_RELAY_H

#include "job/job_parts.h"

/* As many as signals.c reads. */
#define RELAY_EARLY_MAX 16

/* Begins to listen, in RUNNER. */
void
relay_open(struct job *job);

/* Signals that came before COMMAND was there to get them as a member of the group, and perhaps some
 * that came just after: to be sent to it before command_go. All of them are blocked there until
 * then, so one that it has already does not count twice. Returns how many. */
int
relay_read_early(struct job *job, int early[RELAY_EARLY_MAX]);

#endif
