/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "base/step.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

/* Never to fire by itself: the year 2200 or so. */
#define FAR_AHEAD_S 7258118400

static void
arm(int fd)
{
	const struct itimerspec when = {.it_value = {.tv_sec = (time_t)FAR_AHEAD_S}};
	timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &when, NULL);
}

static void
on_readable(void *context, short revents)
{
	struct step *step = context;
	uint64_t expirations;
	(void)revents;
	if (read(step->watch.fd, &expirations, sizeof expirations) < 0 && errno == ECANCELED)
		step->stepped(step->context, clock_now());
	arm(step->watch.fd);
}

void
step_watch(struct step *step, struct loop *loop, void (*stepped)(void *context, struct instant now),
    void *context)
{
	int fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	if (fd < 0)
		return;
	*step = (struct step){
	    .watch = {.fd = fd, .events = POLLIN, .ready = on_readable, .context = step},
	    .stepped = stepped,
	    .context = context,
	};
	arm(fd);
	loop_watch(loop, &step->watch);
}
