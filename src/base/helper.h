/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* A helper: a process that does what may hang in dlock's place, looks up a name or asks for a
 * password, and that can be abandoned. It writes its answer into a pipe that its parent reads.
 *
 * Children are reaped elsewhere too (run/tree.h), so a number is never taken for a helper's without
 * asking the kernel whether it is still a child. */
#ifndef DLOCK_BASE_HELPER_H
#define DLOCK_BASE_HELPER_H

#include <stdbool.h>
#include <sys/types.h>

/* Forks one. Its pid, and in *end what the parent reads from without waiting; in the helper 0, and
 * in *end what it writes to; or -1 and errno. Each end is closed by whoever has it; no exec hands
 * it on. Only from a process with one thread. */
pid_t
helper_fork(int *end);

/* In the helper: when its parent dies it gets KILL, and has ended already where that came before.
 * For one that has nothing to clean up. */
void
helper_die_with(pid_t parent);

/* Sends it a signal, if it is still to be waited for. */
void
helper_signal(pid_t helper, int number);

/* Reaps it if it has ended, without waiting. True: it has gone, reaped here or elsewhere. */
bool
helper_reap(pid_t helper);

#endif
