/* Copyright (c) 2026 the dlock authors */
/* SPDX-License-Identifier: MIT */

/*
 * clock_step: tells the process that the wall clock was set, when a test says so; the clock of a
 * machine that others use is not set for a test.
 *
 * Preloaded, a timerfd on CLOCK_REALTIME is the FIFO $CLOCK_STEP: a byte written to it makes it
 * readable, and reading it fails with ECANCELED, which is what the kernel does when the clock was
 * set (TFD_TIMER_CANCEL_ON_SET).
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static int fifo = -1;

int
timerfd_create(clockid_t id, int flags)
{
	const char *path = getenv("CLOCK_STEP");

	if (id != CLOCK_REALTIME || path == NULL)
		return (int)syscall(SYS_timerfd_create, id, flags);
	fifo = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	return fifo;
}

int
timerfd_settime(int fd, int flags, const struct itimerspec *when, struct itimerspec *before)
{
	if (fd >= 0 && fd == fifo && (flags & TFD_TIMER_CANCEL_ON_SET) != 0)
		return 0;
	return (int)syscall(SYS_timerfd_settime, fd, flags, when, before);
}

ssize_t
read(int fd, void *bytes, size_t size)
{
	ssize_t got = syscall(SYS_read, fd, bytes, size);

	if (fd < 0 || fd != fifo || got <= 0)
		return got;
	errno = ECANCELED;
	return -1;
}
