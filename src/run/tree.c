/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "run/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* More processes than this are signalled in part; the sweep gets them all. Untouched pages of the
 * table cost nothing. */
#define TABLE_SIZE 65536

struct process {
	pid_t pid;
	pid_t parent;
	unsigned long long started; /* clock ticks since boot: tells one user of a pid from the next */
	bool below;
};

static struct process table[TABLE_SIZE];

/* -- /proc ------------------------------------------------------------------------------------ */

static ssize_t
read_file(const char *path, char *out, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	ssize_t total = 0;
	for (;;) {
		ssize_t got = read(fd, out + total, size - 1 - (size_t)total);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		total += got;
	}
	close(fd);
	out[total] = '\0';
	return total;
}

/* Reads /proc/PID/stat. False: gone, or a zombie, which no signal reaches. */
static bool
read_process(pid_t pid, struct process *process)
{
	char path[40], text[1024], state;
	int parent;
	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	if (read_file(path, text, sizeof text) <= 0)
		return false;
	/* The name, in brackets, may hold anything: fields are counted from its end (proc(5)). */
	const char *rest = strrchr(text, ')');
	if (rest == NULL || sscanf(rest + 1, " %c %d", &state, &parent) != 2 || state == 'Z')
		return false;
	for (int field = 2; field < 22 && rest != NULL; field++)
		rest = strchr(rest + 1, ' ');
	if (rest == NULL)
		return false;
	*process = (struct process){
	    .pid = pid, .parent = (pid_t)parent, .started = strtoull(rest + 1, NULL, 10)};
	return true;
}

/* Calls visit for each process in /proc; without opendir(3), which allocates. */
static void
for_each_process(void (*visit)(void *context, pid_t pid), void *context)
{
	static char entries[32768] __attribute__((aligned(8)));
	int fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	for (;;) {
		ssize_t length = getdents64(fd, entries, sizeof entries);
		if (length <= 0)
			break;
		for (ssize_t at = 0; at < length;) {
			const struct dirent64 *entry = (const void *)(entries + at);
			if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
				visit(context, (pid_t)atoi(entry->d_name));
			at += entry->d_reclen;
		}
	}
	close(fd);
}

/* A /proc of another pid namespace (unshare -p without a new mount) shows other numbers: signals
 * sent by them would hit strangers. */
static bool
proc_is_ours(void)
{
	char link[32];
	ssize_t length = readlink("/proc/self", link, sizeof link - 1);
	if (length <= 0)
		return false;
	link[length] = '\0';
	return atoi(link) == (int)getpid();
}

/* -- children --------------------------------------------------------------------------------- */

struct child_list {
	pid_t *pids;
	int count;
	int size;
};

static void
add_child(struct child_list *list, pid_t pid)
{
	if (list->count < list->size)
		list->pids[list->count++] = pid;
}

static void
add_if_child(void *context, pid_t pid)
{
	char path[40], text[1024], state;
	int parent;
	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	if (read_file(path, text, sizeof text) <= 0)
		return;
	const char *rest = strrchr(text, ')');
	if (rest && sscanf(rest + 1, " %c %d", &state, &parent) == 2 && parent == (int)getpid())
		add_child(context, pid);
}

/* The children of this single-threaded process, zombies included. */
static int
list_children(pid_t *pids, int size)
{
	static char text[65536];
	struct child_list list = {.pids = pids, .size = size};
	if (read_file("/proc/thread-self/children", text, sizeof text) >= 0) {
		char *at = text;
		for (;;) {
			char *end;
			long pid = strtol(at, &end, 10);
			if (end == at)
				break;
			/* A number cut off by the end of the buffer is left for the next time. */
			if (*end != '\0')
				add_child(&list, (pid_t)pid);
			at = end;
		}
		return list.count;
	}
	/* A kernel without CONFIG_PROC_CHILDREN. */
	for_each_process(add_if_child, &list);
	return list.count;
}

/* Those of dlock's own making, as far as can be known. */
static int
list_own(const struct tree *tree, pid_t *pids, int size)
{
	if (tree->can_list)
		return list_children(pids, size);
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
	return false;
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
	tree->can_list = proc_is_ours();
	if (has_children() && tree->can_list)
		tree->bystander_count = list_children(tree->bystanders, TREE_MAX_BYSTANDERS);
}

void
tree_init_new(struct tree *tree)
{
	bool can_list = tree->can_list;
	memset(tree, 0, sizeof *tree);
	tree->can_list = can_list;
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
	if (tree->bystander_count == 0) {
		while (reap(tree, P_ALL, 0))
			;
		return;
	}
	int count = list_children(children, TABLE_SIZE);
	for (int i = 0; i < count; i++) {
		if (!is_bystander(tree, children[i]))
			reap(tree, P_PID, children[i]);
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
	int found = list_own(tree, children, TABLE_SIZE);
	for (int i = 0; i < found; i++) {
		if (is_bystander(tree, children[i]))
			continue;
		*example = children[i];
		++*count;
	}
	return *count == 0 && tree->can_list;
}

int
tree_sweep(struct tree *tree)
{
	static pid_t children[TABLE_SIZE];
	for (;;) {
		int left = 0;
		bool progress = false;
		if (!has_children())
			return 0;
		tree->denied = 0;
		int count = list_own(tree, children, TABLE_SIZE);
		for (int i = 0; i < count; i++) {
			if (is_bystander(tree, children[i]))
				continue;
			if (kill(children[i], SIGKILL) != 0 && errno == EPERM)
				tree->denied++;
		}
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
		if (!tree->can_list && has_children())
			left = 1;
		/* Who has just died may have left children of its own: they are ours now. */
		if (!progress)
			return left;
	}
}

/* -- the whole tree --------------------------------------------------------------------------- */

static void
add_to_table(void *context, pid_t pid)
{
	int *count = context;
	if (*count < TABLE_SIZE && read_process(pid, &table[*count]))
		++*count;
}

/* /proc lists processes in the order of their numbers. */
static struct process *
find_in_table(pid_t pid, int count)
{
	int low = 0, high = count;
	while (low < high) {
		int middle = low + (high - low) / 2;
		if (table[middle].pid < pid)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && table[low].pid == pid ? &table[low] : NULL;
}

/* Marks the descendants of `root`. Parents mostly have the lower number, so few passes do. */
static void
mark_below(pid_t root, int count)
{
	bool changed = true;
	while (changed) {
		changed = false;
		for (int i = 0; i < count; i++) {
			if (table[i].below || table[i].pid == root)
				continue;
			const struct process *parent = find_in_table(table[i].parent, count);
			table[i].below = table[i].parent == root || (parent && parent->below);
			changed = changed || table[i].below;
		}
	}
}

static bool
is_still(const struct process *process)
{
	struct process now;
	return read_process(process->pid, &now) && now.started == process->started;
}

/* 0, or -1 and errno. A process that has gone counts as reached. */
static int
signal_process(const struct process *process, int number)
{
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
	if (!tree->can_list)
		return tree->known > 0 && kill(tree->known, number) == 0 ? 1 : 0;
	for_each_process(add_to_table, &count);
	mark_below(root, count);
	for (int i = 0; i < count; i++) {
		if (!table[i].below)
			continue;
		if (signal_process(&table[i], number) != 0) {
			tree->denied++;
			tree->example = table[i].pid;
			continue;
		}
		if (number != SIGKILL)
			signal_process(&table[i], SIGCONT);
		sent++;
	}
	return sent;
}

bool
tree_has_pending(pid_t pid, int number)
{
	char path[40], text[4096];
	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	if (read_file(path, text, sizeof text) <= 0)
		return false;
	static const char *const fields[] = {"\nSigPnd:", "\nShdPnd:"};
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		const char *at = strstr(text, fields[i]);
		if (at != NULL &&
		    (strtoull(at + strlen(fields[i]), NULL, 16) >> (number - 1) & 1) != 0)
			return true;
	}
	return false;
}
