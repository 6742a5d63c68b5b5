/* Copyright (c) 2026 the dlock authors */
/* SPDX-License-Identifier: MIT */

/*
 * witness: proves how long a process lived.
 *
 * Preloaded into any program, it appends a line "BOOTTIME REALTIME" (both in nanoseconds) every
 * 5 ms to the file $WITNESS_DIR/PID, from a thread inside that very process, hence also inside a
 * shell that merely waits. The last line of the file is the last instant at which the process was
 * surely alive. Processes that are forked without an exec start a file of their own.
 *
 * The thread takes no signal and keeps its descriptor out of the program's way.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define STEP_NS 5000000L

static void *
witness_main(void *arg)
{
	const char *dir = arg;
	char path[4096];
	char line[64];
	struct timespec boot, real;
	int fd, high;

	snprintf(path, sizeof path, "%s/%ld", dir, (long)getpid());
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0)
		return NULL;
	/* A shell script may want descriptors 3 to 9 for itself. */
	high = fcntl(fd, F_DUPFD_CLOEXEC, 200);
	if (high >= 0) {
		close(fd);
		fd = high;
	}
	for (;;) {
		struct timespec step = {0, STEP_NS};
		int len;

		clock_gettime(CLOCK_BOOTTIME, &boot);
		clock_gettime(CLOCK_REALTIME, &real);
		len = snprintf(line, sizeof line, "%lld%09ld %lld%09ld\n", (long long)boot.tv_sec,
		    boot.tv_nsec, (long long)real.tv_sec, real.tv_nsec);
		if (write(fd, line, (size_t)len) != len)
			return NULL;
		nanosleep(&step, NULL);
	}
}

static void
witness_start(void)
{
	char *dir = getenv("WITNESS_DIR");
	sigset_t all, before;
	pthread_t thread;

	if (dir == NULL)
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	if (pthread_create(&thread, NULL, witness_main, dir) == 0)
		pthread_detach(thread);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

__attribute__((constructor)) static void
witness_load(void)
{
	pthread_atfork(NULL, NULL, witness_start);
	witness_start();
}
