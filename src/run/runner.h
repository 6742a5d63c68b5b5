/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Runs COMMAND under the lock: where the lock half and the process half of the house meet.
 *
 *   one process       acquires; a signal ends it, a conflict or a failure too
 *   then two          OUTER becomes the guard (guard.h); RUNNER keeps the lock and parents COMMAND
 *
 * RUNNER, on any wake-up, in this order: reads the clock; past kill_at it kills, before any I/O;
 * past term_at it signals; only then it looks at sockets. */
#ifndef DLOCK_RUN_RUNNER_H
#define DLOCK_RUN_RUNNER_H

#include <stdint.h>

#include "base/loop.h"
#include "lock/lock.h"
#include "run/signals.h"
#include "run/tree.h"

enum on_lost {
	ON_LOST_KILL,
	ON_LOST_SIGNAL,
};

/* Everything is borrowed. */
struct run_settings {
	const char *name;
	const char *key;
	const char *token;
	struct lock_settings lock;
	struct store *store;
	uint64_t seed;
	char *const *argv; /* COMMAND */
	int first_signal;
	enum on_lost on_lost;
	int64_t at_least_ns;
	int conflict_status;
	struct signals *signals;
	struct tree *tree;
	struct loop *loop;
};

/* Returns dlock's exit status when COMMAND did not run; else this process ends in here. */
int
runner_run(const struct run_settings *settings);

#endif
