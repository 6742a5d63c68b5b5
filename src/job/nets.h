/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* The nets under a run that RUNNER may fail: the deadline that OUTER watches, and the two timers
 * that RUNNER aims at itself (run/deadman.h). */
#ifndef DLOCK_JOB_NETS_H
#define DLOCK_JOB_NETS_H

#include "job/job_parts.h"

/* After each confirmation of the lease: moves every deadline. */
void
nets_spread(struct job *job);

/* Something of RUNNER's own has become due, or due earlier: --max-hold, the end of a grace. Moves
 * the wake-up calls. */
void
nets_call(struct job *job);

/* Nothing is left to be killed: takes them down, but for a wake-up call. */
void
nets_take_down(struct job *job);

/* Does the clock kill COMMAND when the lease is over? Not with --on-lost signal. */
bool
nets_kill_by_the_clock(const struct job *job);

#endif
