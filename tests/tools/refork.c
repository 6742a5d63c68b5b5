/* Copyright (c) 2026 the dlock authors */
/* SPDX-License-Identifier: MIT */

/*
 * refork FILE [SECONDS]: a process that is never the same one twice.
 *
 * It forks, the parent leaves at once, the child calls setsid() and forks again: no group, session
 * or list of pids names the living one for long. It does so once a millisecond until the first TERM
 * (which does not end it), then without a pause: who wants to kill it meets it at its fastest, and
 * the pids of the machine, 32,768 often, are not used up before. FILE (mapped)
 * counts the generations and keeps the REALTIME, in milliseconds, at which the last one was born:
 * `refork -n FILE` prints both. The first process waits for SECONDS (20), as COMMAND; then the
 * chain ends by itself too.
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

struct page {
	atomic_long generations;
	atomic_llong last_ms;
	atomic_int wild;
};

static struct page *page;

static time_t
now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return ts.tv_sec;
}

static long long
real_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

static struct page *
map_page(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	void *memory;

	if (fd < 0 || ftruncate(fd, sizeof(struct page)) != 0)
		return NULL;
	memory = mmap(NULL, sizeof(struct page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return memory == MAP_FAILED ? NULL : memory;
}

static void
go_wild(int number)
{
	(void)number;
	atomic_store(&page->wild, 1);
}

int
main(int argc, char **argv)
{
	int print = argc > 2 && strcmp(argv[1], "-n") == 0;
	time_t end;

	if (argc < 2) {
		fputs("usage: refork FILE [SECONDS] | refork -n FILE\n", stderr);
		return 64;
	}
	page = map_page(argv[print ? 2 : 1]);
	if (page == NULL) {
		perror("refork");
		return 71;
	}
	if (print) {
		printf("%ld %lld\n", atomic_load(&page->generations), atomic_load(&page->last_ms));
		return 0;
	}
	end = now() + (argc > 2 ? atol(argv[2]) : 20);
	signal(SIGTERM, go_wild);
	if (fork() != 0) {
		while (now() < end) {
			waitpid(-1, NULL, WNOHANG);
			usleep(1000);
		}
		return 0;
	}
	while (now() < end) {
		pid_t pid;

		if (!atomic_load(&page->wild))
			usleep(1000);
		setsid();
		atomic_fetch_add(&page->generations, 1);
		atomic_store(&page->last_ms, real_ms());
		pid = fork();
		if (pid > 0)
			_exit(0);
		if (pid < 0)
			usleep(1000);
	}
	return 0;
}
