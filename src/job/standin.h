/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* A run without a lock of its own: a stand-in takes the lock's place, so that COMMAND is
 * supervised, bounded and reported as under any other. */
#ifndef DLOCK_JOB_STANDIN_H
#define DLOCK_JOB_STANDIN_H

#include "job/job_parts.h"

/* In the one process, with no request of the lock's under way: puts store/none and the longest
 * lease in its place, for COVER_NONE or COVER_ANCESTOR. Afterwards job->lock is HELD, and
 * job->settings are others. 0, or -1 and errno. */
int
standin_begin(struct job *job, enum cover cover);

#endif
