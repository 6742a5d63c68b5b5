/* Copyright (c) 2026 the dlock authors */
/* SPDX-License-Identifier: MIT */

/*
 * forkstorm N FILE [SECONDS]: about N processes that never stay the same.
 *
 * Every member lives for a second or so, forks its successor and leaves; one in eight calls
 * setsid() first. All ignore TERM, but the first process takes it as a sign and makes them four
 * times faster. Whoever lists the processes and kills what was listed always misses the children
 * born in between. FILE holds a shared count of the births, as text, rewritten by the first
 * process; the storm ends by itself after SECONDS (20), so that a failed test leaves nothing
 * behind.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct page {
	atomic_long births;
	atomic_int wild;
} * page;
static time_t end;

static time_t
now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return ts.tv_sec;
}

static void
rest(long ms)
{
	struct timespec ts = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&ts, NULL);
}

/* A member's life: each turn of the loop is a new process, the parent leaves. */
static void
live(void)
{
	while (now() < end) {
		long number = atomic_fetch_add(&page->births, 1);

		if (number % 8 == 0)
			setsid();
		rest((500 + (number * 7919) % 1000) / (atomic_load(&page->wild) ? 4 : 1));
		switch (fork()) {
		case -1:
			rest(5);
			break;
		case 0:
			break;
		default:
			_exit(0);
		}
	}
	_exit(0);
}

static void
go_wild(int number)
{
	(void)number;
	atomic_store(&page->wild, 1);
}

static void
write_births(const char *path)
{
	FILE *file = fopen(path, "w");

	if (file == NULL)
		return;
	fprintf(file, "%ld\n", atomic_load(&page->births));
	fclose(file);
}

int
main(int argc, char **argv)
{
	long count, i;

	if (argc < 3) {
		fputs("usage: forkstorm N FILE [SECONDS]\n", stderr);
		return 64;
	}
	count = atol(argv[1]);
	end = now() + (argc > 3 ? atol(argv[3]) : 20);
	signal(SIGTERM, go_wild);
	page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return 71;
	for (i = 0; i < count; i++) {
		switch (fork()) {
		case -1:
			rest(5);
			break;
		case 0:
			signal(SIGTERM, SIG_IGN);
			live();
		}
	}
	while (now() < end) {
		write_births(argv[2]);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		rest(20);
	}
	return 0;
}
