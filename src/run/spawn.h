/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Starting COMMAND: finding it before the lock is taken, and running it with everything as dlock
 * got it. */
#ifndef DLOCK_RUN_SPAWN_H
#define DLOCK_RUN_SPAWN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/problem.h"
#include "run/signals.h"

struct spawn_plan {
	char *const *argv; /* COMMAND and its arguments */
	char **envp;       /* from spawn_environment */
	const struct signals *signals;
	char path[4096]; /* of the file to execute, from spawn_look_up */
};

/* Finds the file that `name` stands for, as execvp(3) does. 0, or 126 or 127 and the reason: a typo
 * must not disturb those who wait for the lock. */
int
spawn_look_up(const char *name, char *path, size_t size, struct problem *problem);

struct spawn_variable {
	const char *name;
	const char *value; /* NULL: not to be there */
};

/* The environment for COMMAND: `environment` less DLOCK_PASSWORD and
 * DLOCK_SENTINEL_PASSWORD, plus the variables given, which
 * replace older ones. It borrows the strings of `environment`. NULL: no memory. Never freed: the
 * process ends with COMMAND. */
char **
spawn_environment(char *const *environment, const struct spawn_variable *variables, size_t count);

/* Forks COMMAND, which waits, with all that dlock reads blocked, until a byte is written to
 * *gate_fd (EOF ends it). *failure_fd becomes the end of a pipe that closes when it has been
 * executed, or carries why not; to be read by spawn_read_failure when it is readable. Both are the
 * caller's to close. Only from a process with one thread. The pid, or -1 and errno. */
pid_t
spawn_start(struct spawn_plan *plan, int *failure_fd, int *gate_fd);

/* 1: it was executed; 0: nothing known yet; -1: it was not: *status is 126 or 127, `problem` says
 * why. */
int
spawn_read_failure(int failure_fd, const struct spawn_plan *plan, int *status,
    struct problem *problem);

#endif
