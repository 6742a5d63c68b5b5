/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* COMMAND under its lock: where the lock half (lock, store, net) and the process half (run) of the
 * house meet, and nowhere else.
 *
 *   one process       acquires (waiter.h); a signal ends it, a conflict or a failure too
 *   then two          OUTER becomes the guard (run/guard.h), RUNNER the keeper (keeper.h)
 */
#ifndef DLOCK_JOB_JOB_H
#define DLOCK_JOB_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"
#include "lock/lock.h"
#include "run/report.h"
#include "run/signals.h"
#include "run/tree.h"

enum on_lost {
	ON_LOST_KILL,
	ON_LOST_SIGNAL,
};

/* What becomes of processes that outlive COMMAND's normal exit. */
enum descendants {
	DESCENDANTS_LEAVE,
	DESCENDANTS_WAIT,
	DESCENDANTS_KILL,
};

/* When no server answers at first contact. */
enum if_unreachable {
	IF_UNREACHABLE_FAIL,
	IF_UNREACHABLE_SKIP,
	IF_UNREACHABLE_RUN,
};

/* Everything is borrowed. */
struct job_settings {
	const char *name;
	const char *key;
	const char *token;
	struct lock_settings lock;
	struct store *store;
	uint64_t seed;
	char *const *argv; /* COMMAND */
	int first_signal;
	enum on_lost on_lost;
	int64_t max_hold_ns; /* 0: no limit */
	enum descendants descendants;
	int64_t at_least_ns;
	enum if_unreachable if_unreachable;
	int conflict_status;
	bool reentrant; /* run under the lock of a dlock above */
	struct report *report;
	struct signals *signals;
	struct tree *tree;
	struct loop *loop;
};

/* Returns dlock's exit status when COMMAND did not run; else this process ends in here. */
int
job_run(const struct job_settings *settings);

#endif
