/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* One poll(2) loop: descriptors, timers on CLOCK_BOOTTIME, and one hook that runs first.
 *
 * Timers are absolute and wake the machine's sleepers at once when it resumes: the loop sleeps on
 * a timerfd, because poll's own time-out does not count a suspend (2 minutes of sleep would push
 * every deadline back by 2 minutes). Watches and timers belong to their owners and are linked in,
 * nothing is allocated. Callbacks may add, change and remove any of them. */
#ifndef DLOCK_BASE_LOOP_H
#define DLOCK_BASE_LOOP_H

#include <stdbool.h>

#include "base/clock.h"

/* Signals, channel, exec pipe, password, questions, steps of the clock, and of each server a
 * connection or a name look-up: of what is not a server's less than half of LOOP_OTHERS is in use.
 */
#define LOOP_OTHERS 16
#define LOOP_SERVERS 32
#define LOOP_MAX_WATCHES (LOOP_SERVERS + LOOP_OTHERS)

struct watch {
	int fd;
	short events; /* POLLIN, POLLOUT; 0: only errors */
	void (*ready)(void *context, short revents);
	void *context;
	struct watch *next; /* the loop's */
	bool linked;        /* the loop's */
	bool polled;        /* the loop's: what poll said is about this descriptor */
};

struct timer {
	struct instant at;
	void (*due)(void *context, struct instant now);
	void *context;
	struct timer *next; /* the loop's */
	bool linked;        /* the loop's */
	unsigned int turn;  /* the loop's: the last in which it was due */
};

struct loop {
	/* Runs on every wake-up before any timer or descriptor: where a deadline is enforced
	 * before any I/O. May be NULL. */
	void (*first)(void *context, struct instant now);
	void *first_context;
	int timer_fd;
	unsigned int turn;
	struct instant timer_armed_for;
	struct watch *watches;
	struct timer *timers;
};

/* 0, or -1 and errno: no descriptor for the timer. */
int
loop_open(struct loop *loop);

/* Closes the loop's descriptor; watched ones are their owners'. */
void
loop_close(struct loop *loop);

/* Begins to watch; events may be changed in place later. Watching twice is the same as once. */
void
loop_watch(struct loop *loop, struct watch *watch);
void
loop_unwatch(struct loop *loop, struct watch *watch);

/* Sets the timer to fire once at `at`, replacing what it was set to. */
void
loop_set_timer(struct loop *loop, struct timer *timer, struct instant at);
void
loop_stop_timer(struct loop *loop, struct timer *timer);

/* Sleeps until something is due and handles it, once: first hook, timers, descriptors. A timer that
 * its own callback sets to a time that is over keeps no other, and no descriptor, from its turn. 0,
 * or -1 and errno when poll itself fails, and not for want of memory. */
int
loop_run_once(struct loop *loop);

#endif
