/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Processes below dlock: finding them, signalling them, and killing them until none is left.
 *
 * A process group is not the tree: one setsid(2) leaves it. dlock's two processes are subreapers
 * (PR_SET_CHILD_SUBREAPER), so an orphan below them becomes their child, and "kill my children,
 * reap them, until there are none" reaches everything, wins against forks, never signals a pid
 * that was given to somebody else (an unreaped child keeps its pid), and proves death.
 *
 * Nothing here allocates. */
#ifndef DLOCK_RUN_TREE_H
#define DLOCK_RUN_TREE_H

#include <stdbool.h>
#include <sys/types.h>

/* Children that the process had before it became dlock (`exporter & exec dlock ...`) are never
 * touched, up to this many. What they leave as orphans from then on is adopted by OUTER and cannot
 * be told from COMMAND's when RUNNER has been killed: then it is killed with those. */
#define TREE_MAX_BYSTANDERS 1024

#define TREE_MAX_HELPERS 20

struct tree {
	int bystander_count;
	bool can_list; /* /proc shows this process, with the pids of its own namespace */
	pid_t known;   /* a child that is there for certain: all there is to act on without /proc */
	/* Children of dlock's own, not to be counted or killed; each may be NULL, or 0. */
	const pid_t *helpers[TREE_MAX_HELPERS];
	int denied;    /* processes that a signal could not be sent to (EPERM), in the last pass */
	pid_t example; /* one that is left after tree_sweep */
	/* Told of every child that is reaped, its status as in waitid's siginfo. It may call back
	 * into this module, but not tree_sweep from within tree_sweep. */
	void (*reaped)(void *context, pid_t pid, int code, int status);
	void *context;
	pid_t bystanders[TREE_MAX_BYSTANDERS]; /* last: hardly ever touched */
};

/* At the very start: records the children that are there already. */
void
tree_init(struct tree *tree);

/* Makes the orphans of this process's descendants its children. 0, or -1 and errno. */
int
tree_become_subreaper(void);

/* Sends the signal, and CONT after it unless it is KILL, to every descendant of `root` but to
 * `root` itself: once, best effort. Who is stopped would otherwise sleep through its grace. A pid
 * is checked by pidfd and start time, so that no stranger is hit. Returns how many were sent it. */
int
tree_signal(struct tree *tree, pid_t root, int number);

/* Sends a signal that came from elsewhere, or 0 to see who may be signalled, on to every descendant
 * of `root`, once, best effort, and no CONT after it. group_has_it: only to those in another group
 * than this process. Returns how many were sent it. */
int
tree_pass_on(struct tree *tree, pid_t root, int number, bool group_has_it);

/* KILL to every descendant, at once but best effort: the children first, which are most of a storm,
 * then the rest, because a sweep alone takes a turn of the scheduler for each level of the tree. */
void
tree_kill(struct tree *tree);

/* Kills and reaps this process's children, as long as that makes progress. Returns how many are
 * left that have not died yet: to be called again in a moment, until 0. */
int
tree_sweep(struct tree *tree);

/* Reaps children that have ended, without killing. */
void
tree_reap(struct tree *tree);

/* Has this process no children (but bystanders)? *example becomes one of them; *count how many. */
bool
tree_is_empty(struct tree *tree, pid_t *example, int *count);

#endif
