/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Signals and messages that reach RUNNER: CHLD, what is meant for COMMAND, what OUTER says. */
#ifndef DLOCK_JOB_RELAY_H
#define DLOCK_JOB_RELAY_H

#include "job/job_parts.h"

#define RELAY_EARLY_MAX 8

/* Begins to listen, in RUNNER. */
void
relay_open(struct job *job);

/* Signals that came before COMMAND was there to get them as a member of the group: to be sent to it
 * once it is. Call right before it is forked. Returns how many. */
int
relay_read_early(struct job *job, int early[RELAY_EARLY_MAX]);

#endif
