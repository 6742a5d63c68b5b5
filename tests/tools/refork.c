/* Copyright (c) 2026 the dlock authors */
/* SPDX-License-Identifier: MIT */

/*
 * refork FILE [SECONDS]: a process that is never the same one twice.
 *
 * It ignores TERM and forks without a pause; each parent leaves at once and each child calls
 * setsid(), so that no group, session or list of pids ever names the living one. FILE (8 bytes,
 * mapped) counts the generations; `refork -n FILE` prints that count. The first process waits for
 * SECONDS (20), as COMMAND; then the chain ends by itself too.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static time_t
now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return ts.tv_sec;
}

static atomic_long *
map_count(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	void *page;

	if (fd < 0 || ftruncate(fd, sizeof(atomic_long)) != 0)
		return NULL;
	page = mmap(NULL, sizeof(atomic_long), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return page == MAP_FAILED ? NULL : page;
}

int
main(int argc, char **argv)
{
	int print = argc > 2 && strcmp(argv[1], "-n") == 0;
	atomic_long *generations;
	time_t end;

	if (argc < 2) {
		fputs("usage: refork FILE [SECONDS] | refork -n FILE\n", stderr);
		return 64;
	}
	generations = map_count(argv[print ? 2 : 1]);
	if (generations == NULL) {
		perror("refork");
		return 71;
	}
	if (print) {
		printf("%ld\n", atomic_load(generations));
		return 0;
	}
	end = now() + (argc > 2 ? atol(argv[2]) : 20);
	signal(SIGTERM, SIG_IGN);
	if (fork() != 0) {
		while (now() < end) {
			waitpid(-1, NULL, WNOHANG);
			usleep(50000);
		}
		return 0;
	}
	while (now() < end) {
		pid_t pid;

		setsid();
		atomic_fetch_add(generations, 1);
		pid = fork();
		if (pid > 0)
			_exit(0);
		if (pid < 0)
			usleep(1000);
	}
	return 0;
}
