/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Reading /proc (proc(5)). Nothing here allocates: OUTER uses it too. */
#ifndef DLOCK_RUN_PROC_H
#define DLOCK_RUN_PROC_H

#include <stdbool.h>
#include <sys/types.h>

struct process {
	pid_t pid;    /* as this process sees it; 0: not in its namespace */
	pid_t listed; /* as /proc names it */
	pid_t parent; /* likewise */
	bool stopped;
	bool zombie;                /* no signal reaches it any more */
	unsigned long long started; /* clock ticks since boot: one user of a pid from the next */
};

/* Can /proc be used? It may be that of another pid namespace (unshare -p without a new mount): then
 * its numbers are translated, because signals sent by them would hit strangers. False: there is
 * none, or it does not show this process. To be called first. */
bool
proc_open(void);

/* Are numbers translated? Then each one costs a look at /proc/PID. */
bool
proc_is_foreign(void);

/* Reads what /proc says under the number `listed`. False: there is no such process. */
bool
proc_read(pid_t listed, struct process *process);

/* The number under which /proc lists this process, its parent, or a child; 0: none. */
pid_t
proc_listed(pid_t pid);

/* Calls visit for each process, in the order of their numbers in /proc. 0, or -1: it cannot. */
int
proc_for_each(void (*visit)(void *context, pid_t listed), void *context);

/* The children of this process, which has one thread, zombies included; at most `size` of them.
 * Returns how many; -1: /proc cannot be read now (no descriptors, no memory). */
int
proc_list_children(pid_t *pids, int size);

/* Is a signal pending for the process? False also when it cannot be told. */
bool
proc_has_pending(pid_t pid, int number);

#endif
