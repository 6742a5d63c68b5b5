/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "run/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compat/directory.h"

/* /proc/PID/status of a user of thousands of groups, each a number in it. */
#define STATUS_MAX 65536

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

/* Where in an NSpid line of /proc/PID/status (the numbers that a process has in each namespace,
 * from that of /proc inwards) our own namespace stands; 0: it is that of /proc, nothing is
 * translated. */
static int our_column;

/* The numbers in the NSpid line of process `listed`; how many there are. */
static int
read_namespaces(const char *listed, pid_t *pids, int size)
{
	static char text[STATUS_MAX];
	char path[40];
	int count = 0;
	snprintf(path, sizeof path, "/proc/%s/status", listed);
	if (read_file(path, text, sizeof text) <= 0)
		return 0;
	char *at = strstr(text, "\nNSpid:");
	if (at == NULL)
		return 0;
	for (at += strlen("\nNSpid:"); count < size && *at == '\t';)
		pids[count++] = (pid_t)strtol(at + 1, &at, 10);
	return count;
}

#define DEEPEST 33 /* pid namespaces are nested 32 deep at most (pid_namespaces(7)) */

static pid_t
translate(pid_t listed)
{
	char number[16];
	pid_t pids[DEEPEST];
	if (our_column == 0)
		return listed;
	snprintf(number, sizeof number, "%d", (int)listed);
	return read_namespaces(number, pids, DEEPEST) > our_column ? pids[our_column] : 0;
}

bool
proc_open(void)
{
	char link[32];
	pid_t pids[DEEPEST];
	ssize_t length = readlink("/proc/self", link, sizeof link - 1);
	if (length <= 0)
		return false;
	link[length] = '\0';
	our_column = 0;
	if (strtol(link, NULL, 10) == (long)getpid())
		return true;
	int count = read_namespaces("self", pids, DEEPEST);
	if (count < 2 || pids[count - 1] != getpid())
		return false;
	our_column = count - 1;
	return true;
}

bool
proc_is_foreign(void)
{
	return our_column != 0;
}

/* This process, as /proc lists it. */
static pid_t
own_number(void)
{
	char link[32];
	ssize_t length = readlink("/proc/self", link, sizeof link - 1);
	link[length > 0 ? length : 0] = '\0';
	return (pid_t)strtol(link, NULL, 10);
}

struct search {
	pid_t parent; /* as listed */
	pid_t wanted;
	pid_t found;
};

static void
check_number(void *context, pid_t listed)
{
	struct search *search = context;
	struct process process;
	if (search->found == 0 && proc_read(listed, &process) && process.parent == search->parent &&
	    process.pid == search->wanted)
		search->found = listed;
}

pid_t
proc_listed(pid_t pid)
{
	struct process self;
	if (our_column == 0)
		return pid;
	pid_t own = own_number();
	if (pid == getpid())
		return own;
	if (pid == getppid())
		return proc_read(own, &self) ? self.parent : 0;
	/* Only a child: a process of a sibling namespace may have the same number there. */
	struct search search = {.parent = own, .wanted = pid};
	proc_for_each(check_number, &search);
	return search.found;
}

bool
proc_read(pid_t listed, struct process *process)
{
	char path[40], text[1024];
	snprintf(path, sizeof path, "/proc/%d/stat", (int)listed);
	if (read_file(path, text, sizeof text) <= 0)
		return false;
	/* The name, in brackets, may hold anything: fields are counted from its end. */
	char *field[23] = {NULL};
	char *at = strrchr(text, ')');
	for (int i = 3; i <= 22 && at != NULL; i++) {
		at = strchr(at + 1, ' ');
		field[i] = at == NULL ? NULL : at + 1;
	}
	if (field[22] == NULL)
		return false;
	*process = (struct process){
	    .pid = translate(listed),
	    .listed = listed,
	    .parent = (pid_t)strtol(field[4], NULL, 10),
	    .stopped = *field[3] == 'T',
	    .zombie = *field[3] == 'Z' || *field[3] == 'X',
	    .started = strtoull(field[22], NULL, 10),
	};
	return true;
}

int
proc_for_each(void (*visit)(void *context, pid_t listed), void *context)
{
	return compat_each_number("/proc", visit, context);
}

struct child_list {
	pid_t parent; /* as /proc lists this process */
	pid_t *pids;
	int count;
	int size;
};

static void
add_child(struct child_list *list, pid_t pid)
{
	if (pid != 0 && list->count < list->size)
		list->pids[list->count++] = pid;
}

static void
add_if_child(void *context, pid_t listed)
{
	struct process process;
	if (proc_read(listed, &process) && process.parent == ((struct child_list *)context)->parent)
		add_child(context, process.pid);
}

int
proc_list_children(pid_t *pids, int size) // NOLINT(readability-non-const-parameter): by list
{
	static char text[65536];
	struct child_list list = {.pids = pids, .size = size};
	if (read_file("/proc/thread-self/children", text, sizeof text) < 0) {
		/* A kernel without CONFIG_PROC_CHILDREN. */
		list.parent = proc_listed(getpid());
		return proc_for_each(add_if_child, &list) == 0 ? list.count : -1;
	}
	char *at = text;
	for (;;) {
		char *end;
		long listed = strtol(at, &end, 10);
		if (end == at)
			break;
		/* A number cut off by the end of the buffer is left for the next time. */
		if (*end != '\0')
			add_child(&list, translate((pid_t)listed));
		at = end;
	}
	return list.count;
}

bool
proc_has_pending(pid_t pid, int number)
{
	static char text[STATUS_MAX];
	char path[40];
	snprintf(path, sizeof path, "/proc/%d/status", (int)proc_listed(pid));
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
