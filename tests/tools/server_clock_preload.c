/* Copyright (c) 2026 the dlock authors */
/* SPDX-License-Identifier: MIT */

/*
 * server_clock: a wall clock that is set, or stands still, for one process: a Redis.
 *
 * Preloaded, CLOCK_REALTIME is what the file $SERVER_CLOCK says, read at each look at the clock:
 * `shift MS` (may be negative), `freeze`, `at US` (that very microsecond, until the file says
 * another), anything else the true time. CLOCK_MONOTONIC, by which a server waits, goes on as ever.
 * (libfaketime breaks redis-server.)
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long long
true_ns(void)
{
	struct timespec now;

	syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static long long
shown_ns(void)
{
	static long long frozen_at;
	static int fd = -1;
	const char *path = getenv("SERVER_CLOCK");
	char text[64] = "";
	long long shift_ms = 0, at_us = 0, shown;

	if (fd < 0 && path != NULL)
		fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && pread(fd, text, sizeof text - 1, 0) < 0)
		text[0] = '\0';
	if (sscanf(text, "at %lld", &at_us) == 1)
		return at_us * 1000LL;
	if (strncmp(text, "freeze", 6) == 0) {
		if (frozen_at == 0)
			frozen_at = true_ns();
		return frozen_at;
	}
	frozen_at = 0;
	shown = true_ns();
	if (sscanf(text, "shift %lld", &shift_ms) == 1)
		shown += shift_ms * 1000000LL;
	return shown;
}

int
clock_gettime(clockid_t id, struct timespec *now)
{
	long long ns;

	if (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE)
		return (int)syscall(SYS_clock_gettime, id, now);
	ns = shown_ns();
	now->tv_sec = ns / 1000000000LL;
	now->tv_nsec = ns % 1000000000LL;
	return 0;
}

int
gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	long long ns = shown_ns();

	(void)zone;
	now->tv_sec = ns / 1000000000LL;
	now->tv_usec = ns % 1000000000LL / 1000;
	return 0;
}

time_t
time(time_t *now)
{
	time_t seconds = shown_ns() / 1000000000LL;

	if (now != NULL)
		*now = seconds;
	return seconds;
}
