/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Reading /proc (proc(5)). Nothing here allocates: OUTER uses it too. */
#ifndef DLOCK_RUN_PROC_H
#define DLOCK_RUN_PROC_H

#include <stdbool.h>
#include <sys/types.h>

struct process {
	pid_t pid;
	pid_t parent;
	bool zombie;                /* no signal reaches it any more */
	unsigned long long started; /* clock ticks since boot: one user of a pid from the next */
};

/* Does /proc show this process, by the number that it has itself? One of another pid namespace
 * (unshare -p without a new mount) shows other numbers: signals sent by them would hit strangers.
 */
bool
proc_is_ours(void);

/* Reads /proc/PID/stat. False: there is no such process. */
bool
proc_read(pid_t pid, struct process *process);

/* Calls visit for each process, in the order of their numbers. */
void
proc_for_each(void (*visit)(void *context, pid_t pid), void *context);

/* The children of this process, which has one thread, zombies included; at most `size` of them.
 * Returns how many. */
int
proc_list_children(pid_t *pids, int size);

/* Is a signal pending for the process? False also when it cannot be told. */
bool
proc_has_pending(pid_t pid, int number);

#endif
