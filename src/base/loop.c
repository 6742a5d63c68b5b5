/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "base/loop.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/compat/boottime.h"

/* Before another try, when the kernel had no memory for poll. */
#define MEMORY_PAUSE_NS (10 * NS_PER_MS)

int
loop_open(struct loop *loop)
{
	*loop = (struct loop){.timer_fd = -1};
	loop->timer_armed_for = INSTANT_NEVER; /* in the braces gcc 10 warns of it */
	loop->timer_fd = timerfd_create(COMPAT_CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	return loop->timer_fd < 0 ? -1 : 0;
}

void
loop_close(struct loop *loop)
{
	if (loop->timer_fd >= 0)
		close(loop->timer_fd);
	loop->timer_fd = -1;
}

void
loop_watch(struct loop *loop, struct watch *watch)
{
	if (watch->linked)
		return;
	watch->polled = false;
	watch->next = loop->watches;
	watch->linked = true;
	loop->watches = watch;
}

void
loop_unwatch(struct loop *loop, struct watch *watch)
{
	for (struct watch **at = &loop->watches; *at != NULL; at = &(*at)->next) {
		if (*at == watch) {
			*at = watch->next;
			break;
		}
	}
	watch->linked = false;
}

void
loop_set_timer(struct loop *loop, struct timer *timer, struct instant at)
{
	timer->at = at;
	if (timer->linked)
		return;
	timer->next = loop->timers;
	timer->linked = true;
	loop->timers = timer;
}

void
loop_stop_timer(struct loop *loop, struct timer *timer)
{
	for (struct timer **at = &loop->timers; *at != NULL; at = &(*at)->next) {
		if (*at == timer) {
			*at = timer->next;
			break;
		}
	}
	timer->linked = false;
}

static void
arm(struct loop *loop)
{
	struct instant earliest = INSTANT_NEVER;
	for (struct timer *timer = loop->timers; timer != NULL; timer = timer->next)
		earliest = instant_earlier(earliest, timer->at);
	if (earliest.ns == loop->timer_armed_for.ns)
		return;
	struct itimerspec when = {0};
	if (earliest.ns != INT64_MAX) {
		/* All zero would disarm. */
		int64_t ns = earliest.ns > 0 ? earliest.ns : 1;
		when.it_value.tv_sec = (time_t)(ns / NS_PER_S);
		when.it_value.tv_nsec = (long)(ns % NS_PER_S);
	}
	timerfd_settime(loop->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
	loop->timer_armed_for = earliest;
}

static void
run_timers(struct loop *loop, struct instant now)
{
	/* From the start again after each one: a callback may have changed the list. */
	struct timer *timer = loop->timers;
	loop->turn++;
	while (timer != NULL) {
		if (instant_reached(timer->at, now) && timer->turn != loop->turn) {
			loop_stop_timer(loop, timer);
			timer->turn = loop->turn;
			timer->due(timer->context, now);
			timer = loop->timers;
		} else {
			timer = timer->next;
		}
	}
}

static bool
is_watched(const struct loop *loop, const struct watch *watch)
{
	for (const struct watch *at = loop->watches; at != NULL; at = at->next) {
		if (at == watch)
			return true;
	}
	return false;
}

/* A kernel that has no memory for a moment is no reason to end: a lock is held, or asked for. */
static bool
is_passing(int error)
{
	const struct timespec pause = {.tv_nsec = MEMORY_PAUSE_NS};
	if (error == EINTR)
		return true;
	if (error != ENOMEM && error != EAGAIN)
		return false;
	nanosleep(&pause, NULL);
	return true;
}

int
loop_run_once(struct loop *loop)
{
	struct pollfd fds[LOOP_MAX_WATCHES + 1];
	struct watch *watches[LOOP_MAX_WATCHES + 1];
	nfds_t count = 0;

	arm(loop);
	fds[count++] = (struct pollfd){.fd = loop->timer_fd, .events = POLLIN};
	for (struct watch *watch = loop->watches; watch != NULL; watch = watch->next) {
		if (count > LOOP_MAX_WATCHES) {
			errno = EMFILE;
			return -1;
		}
		watches[count] = watch;
		watch->polled = true;
		fds[count++] = (struct pollfd){.fd = watch->fd, .events = watch->events};
	}
	int ready = poll(fds, count, -1);
	if (ready < 0 && !is_passing(errno)) {
		/* Somebody has lowered our limit of open files below what is polled. */
		if (errno == EINVAL)
			errno = EMFILE;
		return -1;
	}

	struct instant now = clock_now();
	if (fds[0].revents != 0 && ready > 0) {
		uint64_t expirations;
		if (read(loop->timer_fd, &expirations, sizeof expirations) > 0)
			loop->timer_armed_for = INSTANT_NEVER;
	}
	if (loop->first != NULL)
		loop->first(loop->first_context, now);
	run_timers(loop, now);
	for (nfds_t i = 1; ready > 0 && i < count; i++) {
		/* A callback may have removed the watch, or given it a new descriptor, even one
		 * with the same number: that was not polled. */
		if (fds[i].revents != 0 && is_watched(loop, watches[i]) && watches[i]->polled)
			watches[i]->ready(watches[i]->context, fds[i].revents);
	}
	return 0;
}
