/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* System calls about time. */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/timerfd.h>

#include "base/clock.h"
#include "descriptors.h"
#include "stand_ins.h"
#include "sure_check.h"
#include "world.h"

#define CLOCK_READ_NS 100

static struct timespec
to_timespec(int64_t ns)
{
	return (struct timespec){.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};
}

static int64_t
from_timespec(const struct timespec *time)
{
	return (int64_t)time->tv_sec * NS_PER_S + time->tv_nsec;
}

int
__wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	(void)clock;
	task_step();
	/* Work takes time; or who is early by a rounding would look again and again. */
	if (current != NULL)
		world.now += CLOCK_READ_NS;
	*now = to_timespec(current == NULL ? world.now : host_boottime(current->host, world.now));
	return 0;
}

int
__wrap_timerfd_create(int clock, int flags)
{
	(void)flags;
	int fd = descriptor_open(DESCRIPTOR_TIMER);
	if (fd >= 0)
		descriptor_get(fd)->is_wall_clock = clock == CLOCK_REALTIME;
	return fd;
}

int
__wrap_timerfd_settime(int fd, int flags, const struct itimerspec *when, struct itimerspec *before)
{
	struct descriptor *descriptor = descriptor_get(fd);
	(void)flags;
	(void)before;
	if (descriptor == NULL) {
		errno = EBADF;
		return -1;
	}
	int64_t at = from_timespec(&when->it_value);
	descriptor->has_stepped = false;
	descriptor->at = at == 0 || descriptor->is_wall_clock ? NEVER : at;
	return 0;
}

int
__wrap_timer_create(clockid_t clock, struct sigevent *event, timer_t *timer)
{
	(void)clock;
	for (intptr_t i = 0; i < TASK_TIMERS; i++) {
		if (current->timers[i].number != 0)
			continue;
		current->timers[i] =
		    (struct kernel_timer){.number = event->sigev_signo, .at = NEVER};
		*timer = (timer_t)i;
		return 0;
	}
	errno = EAGAIN;
	return -1;
}

int
__wrap_timer_settime(timer_t timer, int flags, const struct itimerspec *when,
    struct itimerspec *before)
{
	int64_t at = from_timespec(&when->it_value);
	(void)flags;
	(void)before;
	task_step();
	/* Its signal may be unread still: the next expiry does what a signal does at once (CONT),
	 * as in Linux, where only the interval waits for the reader. */
	current->timers[(intptr_t)timer].is_pending = false;
	if (current->timers[(intptr_t)timer].number == SIGKILL)
		sure_check_timer(current, at == 0 ? NEVER : at);
	task_set_timer(current, (int)(intptr_t)timer, at == 0 ? NEVER : at,
	    from_timespec(&when->it_interval));
	return 0;
}

int
__wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
	(void)left;
	return __wrap_poll(NULL, 0, (int)(from_timespec(time) / NS_PER_MS) + 1);
}
