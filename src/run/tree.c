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
#include "run/urgency.h"

/* More processes than this are signalled in part; the sweep gets them all. Untouched pages of the
 * table cost nothing. */
#define TABLE_SIZE 65536

struct entry {
	struct process process;
	bool below;
};

static struct entry table[TABLE_SIZE];

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
is_bystander(const struct tree *tree, pid_t pid)
{
	for (int i = 0; i < tree->bystander_count; i++) {
		if (tree->bystanders[i] == pid)
			return true;
	}
	return tree->helper != NULL && *tree->helper == pid;
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
	urgency_pause();
	if (tree->bystander_count == 0 && (tree->helper == NULL || *tree->helper == 0)) {
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
	urgency_resume();
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

/* Kills what are this process's children now; fills in and counts them. */
static int
kill_children(struct tree *tree, pid_t *children, int size, bool *complete)
{
	/* A translation of numbers looks at entries of others. */
	if (proc_is_foreign())
		urgency_pause();
	tree->denied = 0;
	int count = list_own(tree, children, size, complete);
	for (int i = 0; i < count; i++) {
		if (!is_bystander(tree, children[i]) && kill(children[i], SIGKILL) != 0 &&
		    errno == EPERM)
			tree->denied++;
	}
	if (proc_is_foreign())
		urgency_resume();
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
		urgency_pause();
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
		urgency_resume();
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

/* 0, or -1 and errno. A process that has gone counts as reached. */
static int
signal_process(const struct process *process, int number)
{
	if (process->pid <= 0) /* not in our namespace: kill(2) would take it for a group */
		return 0;
	int fd = (int)syscall(SYS_pidfd_open, process->pid, 0);
	/* EINVAL has been seen for a process that was just ending. */
	if (fd < 0 && (errno == ESRCH || errno == EINVAL))
		return 0;
	if (!is_still(process)) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	int status;
	if (fd >= 0) {
		status = (int)syscall(SYS_pidfd_send_signal, fd, number, NULL, 0);
		int error = errno;
		close(fd);
		errno = error;
	} else {
		/* No pidfd (an old kernel, a seccomp filter, no descriptors left): the check of the
		 * start time just now has to do. */
		status = kill(process->pid, number);
	}
	return status != 0 && errno == EPERM ? -1 : 0;
}

int
tree_signal(struct tree *tree, pid_t root, int number)
{
	int count = 0, sent = 0;
	tree->denied = 0;
	urgency_pause();
	bool listed = tree->can_list && proc_for_each(add_to_table, &count) == 0;
	urgency_resume();
	if (!listed)
		return root == getpid() && tree->known > 0 && kill(tree->known, number) == 0 ? 1
											     : 0;
	urgency_pause();
	mark_below(tree, proc_listed(root), count);
	for (int i = 0; i < count; i++) {
		if (!table[i].below)
			continue;
		if (signal_process(&table[i].process, number) != 0) {
			tree->denied++;
			tree->example = table[i].process.pid;
			continue;
		}
		if (number != SIGKILL)
			signal_process(&table[i].process, SIGCONT);
		sent++;
	}
	urgency_resume();
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
