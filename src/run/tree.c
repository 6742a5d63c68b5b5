/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "run/tree.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/proc.h"
#include "run/testing.h"
#include "run/urgency.h"

/* More processes than this are signalled in part; the sweep gets them all. Untouched pages of the
 * table cost nothing. */
#define TABLE_SIZE 65536

/* Processes that are held by a descriptor at a time: some are needed for reading. */
#define HELD_MAX 400

struct entry {
	struct process process;
	bool below;
	int fd; /* a pidfd, -1: none */
};

static struct entry table[TABLE_SIZE];
static int held_count;

/* -- children --------------------------------------------------------------------------------- */

/* Those of dlock's own making, as far as can be known. *complete: there are no others. Where waitid
 * says that there are children, an empty list is not believed. */
static int
list_own(const struct tree *tree, pid_t *pids, int size, bool *complete)
{
	int count = tree->can_list ? proc_list_children(pids, size) : -1;
	*complete = count > 0;
	if (count > 0)
		return count;
	pids[0] = tree->known;
	return tree->known > 0 ? 1 : 0;
}

static bool
is_helper(const struct tree *tree, pid_t pid)
{
	for (int i = 0; i < TREE_MAX_HELPERS; i++) {
		if (tree->helpers[i] != NULL && *tree->helpers[i] == pid)
			return true;
	}
	return false;
}

static bool
has_helpers(const struct tree *tree)
{
	for (int i = 0; i < TREE_MAX_HELPERS; i++) {
		if (tree->helpers[i] != NULL && *tree->helpers[i] != 0)
			return true;
	}
	return false;
}

static bool
is_bystander(const struct tree *tree, pid_t pid)
{
	for (int i = 0; i < tree->bystander_count; i++) {
		if (tree->bystanders[i] == pid)
			return true;
	}
	return is_helper(tree, pid);
}

static bool
has_children(void)
{
	siginfo_t info;
	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
}

void
tree_init(struct tree *tree)
{
	memset(tree, 0, sizeof *tree);
	tree->can_list = proc_open();
	if (has_children() && tree->can_list) {
		int count = proc_list_children(tree->bystanders, TREE_MAX_BYSTANDERS);
		tree->bystander_count = count > 0 ? count : 0;
	}
}

int
tree_become_subreaper(void)
{
	return prctl(PR_SET_CHILD_SUBREAPER, 1);
}

static bool
reap(struct tree *tree, idtype_t which, pid_t pid)
{
	siginfo_t info = {0};
	if (waitid(which, (id_t)pid, &info, WEXITED | WNOHANG) != 0 || info.si_pid == 0)
		return false;
	if (info.si_pid == tree->known)
		tree->known = 0;
	if (tree->reaped != NULL)
		tree->reaped(tree->context, info.si_pid, info.si_code, info.si_status);
	return true;
}

void
tree_reap(struct tree *tree)
{
	static pid_t children[TABLE_SIZE];
	if (tree->bystander_count == 0 && !has_helpers(tree)) {
		while (reap(tree, P_ALL, 0))
			;
	} else if (has_children()) {
		bool complete;
		int count = list_own(tree, children, TABLE_SIZE, &complete);
		for (int i = 0; i < count; i++) {
			if (!is_bystander(tree, children[i]))
				reap(tree, P_PID, children[i]);
		}
	}
}

bool
tree_is_empty(struct tree *tree, pid_t *example, int *count)
{
	static pid_t children[TABLE_SIZE];
	*count = 0;
	*example = 0;
	if (!has_children())
		return true;
	bool complete;
	int found = list_own(tree, children, TABLE_SIZE, &complete);
	for (int i = 0; i < found; i++) {
		if (is_bystander(tree, children[i]))
			continue;
		*example = children[i];
		++*count;
	}
	return *count == 0 && complete;
}

/* KILL, but for a test of what does not die. */
static int
kill_one(pid_t pid)
{
	return testing_hook("unkillable") ? 0 : kill(pid, SIGKILL);
}

/* Kills what are this process's children now; fills in and counts them. */
static int
kill_children(struct tree *tree, pid_t *children, int size, bool *complete)
{
	tree->denied = 0;
	int count = list_own(tree, children, size, complete);
	urgency_begin_burst();
	for (int i = 0; i < count; i++) {
		if (!is_bystander(tree, children[i]) && kill_one(children[i]) != 0 &&
		    errno == EPERM)
			tree->denied++;
	}
	urgency_end_burst();
	return count;
}

int
tree_sweep(struct tree *tree)
{
	static pid_t children[TABLE_SIZE];
	for (;;) {
		int left = 0;
		bool progress = false, complete;
		if (!has_children())
			return 0;
		int count = kill_children(tree, children, TABLE_SIZE, &complete);
		for (int i = 0; i < count; i++) {
			if (is_bystander(tree, children[i]))
				continue;
			if (reap(tree, P_PID, children[i])) {
				progress = true;
			} else {
				left++;
				tree->example = children[i];
			}
		}
		if (left == 0 && !complete && has_children())
			left = 1;
		/* Who has just died may have left children of its own: they are ours now. */
		if (!progress)
			return left;
	}
}

/* -- the whole tree --------------------------------------------------------------------------- */

static void
add_to_table(void *context, pid_t listed)
{
	int *count = context;
	if (*count == TABLE_SIZE)
		return;
	struct entry *entry = &table[*count];
	entry->below = false;
	if (proc_read(listed, &entry->process) && !entry->process.zombie)
		++*count;
}

/* /proc lists processes in the order of their numbers. */
static struct entry *
find_in_table(pid_t listed, int count)
{
	int low = 0, high = count;
	while (low < high) {
		int middle = low + (high - low) / 2;
		if (table[middle].process.listed < listed)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && table[low].process.listed == listed ? &table[low] : NULL;
}

/* Marks the descendants of `root`, but no bystanders and what is below them. Parents mostly have
 * the lower number, so few passes do. */
static void
mark_below(const struct tree *tree, pid_t root, int count)
{
	bool changed = true;
	while (changed) {
		changed = false;
		for (int i = 0; i < count; i++) {
			if (table[i].below || table[i].process.listed == root ||
			    is_bystander(tree, table[i].process.pid))
				continue;
			const struct entry *parent = find_in_table(table[i].process.parent, count);
			table[i].below =
			    table[i].process.parent == root || (parent && parent->below);
			changed = changed || table[i].below;
		}
	}
}

static bool
is_still(const struct process *process)
{
	struct process now;
	return proc_read(process->listed, &now) && now.started == process->started;
}

/* Takes hold of a process, so that a signal sent later reaches it or nobody. False: it has gone. */
static bool
take_hold(struct entry *entry)
{
	const struct process *process = &entry->process;
	entry->fd = -1;
	if (process->pid <= 0) /* not in our namespace: kill(2) would take it for a group */
		return false;
	if (held_count < HELD_MAX)
		entry->fd = (int)syscall(SYS_pidfd_open, process->pid, 0);
	/* EINVAL has been seen for a process that was just ending. Otherwise (an old kernel, a
	 * seccomp filter, no descriptors left) the check of the start time has to do: numbers are
	 * given out in a circle, and it is used in a moment. */
	if (entry->fd < 0 && held_count < HELD_MAX && (errno == ESRCH || errno == EINVAL))
		return false;
	if (!is_still(process)) {
		if (entry->fd >= 0)
			close(entry->fd);
		return false;
	}
	held_count += entry->fd >= 0;
	return true;
}

/* 0, or -1: not permitted. */
static int
send_to(const struct entry *entry, int number)
{
	if (number == SIGKILL && testing_hook("unkillable"))
		return 0;
	int status = entry->fd >= 0
	    ? (int)syscall(SYS_pidfd_send_signal, entry->fd, number, NULL, 0)
	    : kill(entry->process.pid, number);
	return status != 0 && errno == EPERM ? -1 : 0;
}

/* To all that are marked, in one burst. Returns how many were sent it. */
static int
send_to_marked(struct tree *tree, int count, int number)
{
	int sent = 0;
	urgency_begin_burst();
	for (int i = 0; i < count; i++) {
		if (!table[i].below)
			continue;
		if (send_to(&table[i], number) == 0) {
			sent++;
			continue;
		}
		tree->denied++;
		tree->example = table[i].process.pid;
	}
	urgency_end_burst();
	return sent;
}

/* Marks the descendants of `root` in a new table and takes hold of them. Nobody is woken before all
 * are held: whoever runs takes the processor from us. How long the table is, -1: /proc is not to be
 * had. */
static int
hold_below(struct tree *tree, pid_t root)
{
	int count = 0;
	if (!tree->can_list || proc_for_each(add_to_table, &count) != 0)
		return -1;
	mark_below(tree, proc_listed(root), count);
	held_count = 0;
	for (int i = 0; i < count; i++)
		table[i].below = table[i].below && take_hold(&table[i]);
	tree->denied = 0;
	return count;
}

static void
let_go(struct entry *entry)
{
	if (entry->below && entry->fd >= 0)
		close(entry->fd);
	entry->below = false;
}

static void
let_go_of_all(int count)
{
	for (int i = 0; i < count; i++)
		let_go(&table[i]);
}

/* Without /proc there is only who is known to be there. */
static int
signal_known(const struct tree *tree, pid_t root, int number)
{
	return root == getpid() && tree->known > 0 && kill(tree->known, number) == 0 ? 1 : 0;
}

int
tree_signal(struct tree *tree, pid_t root, int number)
{
	int count = hold_below(tree, root);
	if (count < 0)
		return signal_known(tree, root, number);
	int sent = send_to_marked(tree, count, number);
	int denied = tree->denied; /* counted once */
	if (number != SIGKILL)
		send_to_marked(tree, count, SIGCONT);
	tree->denied = denied;
	let_go_of_all(count);
	return sent;
}

int
tree_pass_on(struct tree *tree, pid_t root, int number, bool group_has_it)
{
	int count = hold_below(tree, root);
	if (count < 0)
		return group_has_it ? 0 : signal_known(tree, root, number);
	for (int i = 0; i < count && group_has_it; i++) {
		if (table[i].below && getpgid(table[i].process.pid) == getpgrp())
			let_go(&table[i]);
	}
	int sent = send_to_marked(tree, count, number);
	let_go_of_all(count);
	return sent;
}

void
tree_kill(struct tree *tree)
{
	static pid_t children[TABLE_SIZE];
	bool complete;
	kill_children(tree, children, TABLE_SIZE, &complete);
	tree_signal(tree, getpid(), SIGKILL);
}
