/* Copyright (c) 2026 the dlock authors */
/* SPDX-License-Identifier: MIT */

/*
 * measure FILE COMMAND [ARG...]: runs COMMAND and writes to FILE, when it has ended,
 *
 *     STATUS MILLISECONDS PEAK_KB
 *
 * STATUS as a shell shows it; the time it took; the largest resident size that it, or any of its
 * descendants whose end was waited for, ever had (VmHWM). FILE appears complete, by a rename.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long
now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_BOOTTIME, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

int
main(int argc, char **argv)
{
	char path[4096];
	struct rusage usage;
	int status;
	if (argc < 3) {
		fprintf(stderr, "usage: measure FILE COMMAND [ARG...]\n");
		return 64;
	}
	signal(SIGCHLD, SIG_DFL);
	long long start = now_ms();
	pid_t child = fork();
	if (child == 0) {
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	while (child < 0 || wait4(child, &status, 0, &usage) < 0) {
		if (child < 0 || errno != EINTR) {
			perror("measure");
			return 71;
		}
	}
	long long took = now_ms() - start;
	snprintf(path, sizeof path, "%s.new", argv[1]);
	FILE *out = fopen(path, "we");
	if (out == NULL)
		return 71;
	fprintf(out, "%d %lld %ld\n",
	    WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), took,
	    usage.ru_maxrss);
	if (fclose(out) != 0 || rename(path, argv[1]) != 0)
		return 71;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
