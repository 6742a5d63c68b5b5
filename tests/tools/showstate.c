/*
 * Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT
 *
 * showstate FILE: writes to FILE, one line each, everything that a process inherits and that must
 * be the same with and without dlock: working directory, umask, root, signal mask, dispositions,
 * limits, priority and scheduler, capabilities, cgroup, process group, session, the terminal's
 * foreground group, dumpable and parent-death settings, and the open descriptors with what they
 * are, their flags and offset. FILE is opened last, by a descriptor that is not listed. (What it
 * leaves out: pids, and the environment, for which there is env(1).)
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
	int resource;
	const char *name;
} limits[] = {
    {RLIMIT_AS, "as"},
    {RLIMIT_CORE, "core"},
    {RLIMIT_CPU, "cpu"},
    {RLIMIT_DATA, "data"},
    {RLIMIT_FSIZE, "fsize"},
    {RLIMIT_LOCKS, "locks"},
    {RLIMIT_MEMLOCK, "memlock"},
    {RLIMIT_MSGQUEUE, "msgqueue"},
    {RLIMIT_NICE, "nice"},
    {RLIMIT_NOFILE, "nofile"},
    {RLIMIT_NPROC, "nproc"},
    {RLIMIT_RTPRIO, "rtprio"},
    {RLIMIT_RTTIME, "rttime"},
    {RLIMIT_SIGPENDING, "sigpending"},
    {RLIMIT_STACK, "stack"},
};

static void
show_limits(FILE *out)
{
	for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
		struct rlimit limit;

		if (getrlimit((__rlimit_resource_t)limits[i].resource, &limit) == 0)
			fprintf(out, "limit %s %llu %llu\n", limits[i].name,
			    (unsigned long long)limit.rlim_cur, (unsigned long long)limit.rlim_max);
	}
}

/* The kernel's own words for mask and dispositions: libc hides signals 32 and 33. */
static void
show_signals(FILE *out)
{
	FILE *status = fopen("/proc/self/status", "re");
	char line[256];

	if (status == NULL) {
		fprintf(out, "signals unknown: %s\n", strerror(errno));
		return;
	}
	while (fgets(line, sizeof line, status) != NULL)
		if (strncmp(line, "Sig", 3) == 0 && strncmp(line, "SigQ", 4) != 0)
			fputs(line, out);
	fclose(status);
}

/* Its first line. */
static void
show_file(FILE *out, const char *what, const char *path)
{
	FILE *file = fopen(path, "re");
	char line[512];

	if (file != NULL && fgets(line, sizeof line, file) != NULL)
		fprintf(out, "%s %s", what, line);
	if (file != NULL)
		fclose(file);
}

/* Processors, and memory that may not be paged. */
static void
show_status(FILE *out)
{
	FILE *status = fopen("/proc/self/status", "re");
	char line[256];

	while (status != NULL && fgets(line, sizeof line, status) != NULL)
		if (strncmp(line, "VmLck", 5) == 0 || strncmp(line, "Cpus_allowed:", 13) == 0 ||
		    strncmp(line, "Cap", 3) == 0 || strncmp(line, "Seccomp", 7) == 0)
			fputs(line, out);
	if (status != NULL)
		fclose(status);
}

static void
show_terminal(FILE *out)
{
	int tty = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (tty < 0) {
		fprintf(out, "terminal none\n");
		return;
	}
	fprintf(out, "terminal foreground %d\n", (int)tcgetpgrp(tty));
	close(tty);
}

static void
show_descriptor(FILE *out, int directory, int fd)
{
	char name[16];
	char target[PATH_MAX];
	ssize_t len;
	struct stat st;

	snprintf(name, sizeof name, "%d", fd);
	len = readlinkat(directory, name, target, sizeof target - 1);
	if (len < 0)
		return;
	target[len] = '\0';
	fprintf(out, "descriptor %d %s flags=%o close-on-exec=%d", fd, target, fcntl(fd, F_GETFL),
	    fcntl(fd, F_GETFD));
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		fprintf(out, " offset=%lld", (long long)lseek(fd, 0, SEEK_CUR));
	fputc('\n', out);
}

static int
compare(const void *left, const void *right)
{
	return *(const int *)left - *(const int *)right;
}

static void
show_descriptors(FILE *out)
{
	DIR *directory = opendir("/proc/self/fd");
	struct dirent *entry;
	int fds[4096];
	size_t count = 0;

	if (directory == NULL) {
		fprintf(out, "descriptors unknown: %s\n", strerror(errno));
		return;
	}
	while ((entry = readdir(directory)) != NULL && count < sizeof fds / sizeof fds[0])
		if (entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(directory))
			fds[count++] = atoi(entry->d_name);
	qsort(fds, count, sizeof fds[0], compare);
	for (size_t i = 0; i < count; i++)
		show_descriptor(out, dirfd(directory), fds[i]);
	closedir(directory);
}

int
main(int argc, char **argv)
{
	char cwd[PATH_MAX];
	char *text = NULL;
	size_t len = 0;
	FILE *out;
	int death_signal = 0;
	mode_t mask;
	int fd;

	if (argc != 2) {
		fprintf(stderr, "usage: showstate FILE\n");
		return 64;
	}
	out = open_memstream(&text, &len); /* no descriptor */
	if (out == NULL) {
		perror("showstate");
		return 71;
	}
	mask = umask(0);
	umask(mask);
	prctl(PR_GET_PDEATHSIG, &death_signal);
	fprintf(out, "directory %s\n", getcwd(cwd, sizeof cwd) == NULL ? strerror(errno) : cwd);
	fprintf(out, "umask %03o\n", (unsigned int)mask);
	fprintf(out, "group %d\nsession %d\n", (int)getpgrp(), (int)getsid(0));
	fprintf(out, "nice %d\n", getpriority(PRIO_PROCESS, 0));
	fprintf(out, "dumpable %d\n", prctl(PR_GET_DUMPABLE));
	fprintf(out, "scheduler %d timer-slack %d personality %#x\n", sched_getscheduler(0),
	    prctl(PR_GET_TIMERSLACK), (unsigned int)personality(0xffffffff));
	show_file(out, "oom_score_adj", "/proc/self/oom_score_adj");
	show_file(out, "cgroup", "/proc/self/cgroup");
	show_status(out);
	fprintf(out, "no_new_privs %d\n", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
	fprintf(out, "parent-death-signal %d\n", death_signal);
	show_signals(out);
	show_limits(out);
	show_terminal(out);
	show_descriptors(out);
	if (fclose(out) != 0) {
		perror("showstate");
		return 71;
	}
	fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, text, len) != (ssize_t)len || close(fd) != 0) {
		perror(argv[1]);
		return 71;
	}
	free(text);
	return 0;
}
