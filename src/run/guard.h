/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* OUTER, the front: the pid that people see, stop, suspend and kill. It passes signals on to
 * RUNNER, stops and ends as COMMAND does, and is the dead-man guard: when the lease is over and
 * RUNNER has not acted, or when RUNNER has died, it kills the whole tree itself. It allocates
 * nothing and asks nobody: the deadline is in the page it shares with RUNNER. */
#ifndef DLOCK_RUN_GUARD_H
#define DLOCK_RUN_GUARD_H

#include <sys/types.h>

#include "base/loop.h"
#include "run/channel.h"
#include "run/report.h"
#include "run/signals.h"
#include "run/terminal.h"
#include "run/tree.h"

struct guard_settings {
	const char *name; /* of the lock, for messages */
	bool has_lock;    /* this run has one of its own that can be lost */
	pid_t runner;
	struct loop *loop; /* guard_prepare opens it */
	struct channel *channel;
	const struct signals *signals;
	struct report *report;
	struct tree *tree; /* with the bystanders in it */
	const struct terminal *terminal;
};

/* Before the fork, when failing is still harmless. 0, or -1 and errno. */
int
guard_prepare(const struct guard_settings *settings);

/* Runs in OUTER from the fork to its end: exits, or dies of COMMAND's signal. */
_Noreturn void
guard_run(const struct guard_settings *settings);

#endif
