/*
 * Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT
 *
 * stamp FILE N [FIFO]: a COMMAND that tells when it began and when it ended, and does nothing else.
 * The first thing that it does is to read the clock, and so is the last before it leaves the
 * process; both go to the Nth pair (0 is the first) of 64-bit numbers in FILE, nanoseconds of
 * CLOCK_MONOTONIC, where `od -t d8` and handoff.c find them. FILE is long enough already. With FIFO
 * it ends when it has read a byte there, or when nobody is left who might write one.
 *
 * It is linked statically where that is possible, so that what is measured is the contender's way
 * to exec and not the dynamic linker's work for it. Exit status 1: no such FILE or FIFO, or nothing
 * came within fifteen minutes (then ALRM ends it).
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define LONGEST_S (15 * 60)

struct stamps {
	int64_t started_ns, ended_ns;
};

static int64_t
now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int
main(int argc, char **argv)
{
	int64_t started = now_ns();
	char byte;
	if (argc < 3)
		return 64;
	size_t place = (size_t)strtoul(argv[2], NULL, 10);
	size_t length = (place + 1) * sizeof(struct stamps);
	int fd = open(argv[1], O_RDWR | O_CLOEXEC);
	struct stamps *stamps =
	    fd < 0 ? MAP_FAILED : mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (stamps == MAP_FAILED)
		return 1;
	/* One word each, and the one who looks is another process: it shall see whole ones. */
	__atomic_store_n(&stamps[place].started_ns, started, __ATOMIC_RELEASE);
	if (argc > 3) {
		alarm(LONGEST_S);
		int fifo = open(argv[3], O_RDONLY | O_CLOEXEC);
		if (fifo < 0 || read(fifo, &byte, 1) < 0)
			return 1;
	}
	__atomic_store_n(&stamps[place].ended_ns, now_ns(), __ATOMIC_RELEASE);
	_exit(0);
}
