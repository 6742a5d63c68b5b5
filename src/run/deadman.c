/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "run/deadman.h"

#include <signal.h>
#include <string.h>

#include "base/compat/boottime.h"

#define SWEEP_WAKE_NS (20 * NS_PER_MS)

static int
create(timer_t *timer, int number)
{
	struct sigevent event;
	memset(&event, 0, sizeof event);
	event.sigev_notify = SIGEV_SIGNAL;
	event.sigev_signo = number;
	return timer_create(COMPAT_CLOCK_BOOTTIME, &event, timer);
}

static struct timespec
to_timespec(int64_t ns)
{
	return (
	    struct timespec){.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};
}

/* An instant that is never disarms. */
static void
set(timer_t timer, struct instant at, int64_t every_ns)
{
	struct itimerspec when = {0};
	if (at.ns != INT64_MAX) {
		when.it_value = to_timespec(at.ns);
		when.it_interval = to_timespec(every_ns);
	}
	timer_settime(timer, TIMER_ABSTIME, &when, NULL);
}

int
deadman_open(struct deadman *deadman)
{
	deadman->armed = false;
	if (create(&deadman->wake, SIGCONT) != 0)
		return -1;
	return create(&deadman->kill, SIGKILL);
}

void
deadman_arm(struct deadman *deadman, struct instant wake_at, int64_t wake_every_ns,
    struct instant kill_at)
{
	set(deadman->kill, kill_at, 0);
	set(deadman->wake, wake_at, wake_every_ns);
	deadman->armed = true;
}

void
deadman_call(struct deadman *deadman, struct instant wake_at, int64_t wake_every_ns)
{
	set(deadman->wake, wake_at, wake_every_ns);
}

void
deadman_begin_sweep(struct deadman *deadman)
{
	if (!deadman->armed)
		return;
	/* In this order: who is stopped in between has one of the two. */
	set(deadman->wake, instant_plus(clock_now(), SWEEP_WAKE_NS), SWEEP_WAKE_NS);
	set(deadman->kill, INSTANT_NEVER, 0);
}
