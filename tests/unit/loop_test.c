/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* base/loop: nothing that is watched waits for anything else. */
#include "base/loop.h"

#include <poll.h>
#include <unistd.h>

#include "tap.h"

static struct loop loop;
static struct timer again, once;
static struct watch watches[LOOP_MAX_WATCHES];
static int pipe_ends[LOOP_MAX_WATCHES][2];
static int ready_count, again_count, once_count;

static void
on_ready(void *context, short revents)
{
	struct watch *watch = context;
	(void)revents;
	loop_unwatch(&loop, watch);
	ready_count++;
}

/* Sets itself to a time that is over, as one that has miscounted does; a limit, should that never
 * end. */
static void
on_again(void *context, struct instant now)
{
	(void)context;
	if (++again_count < 1000)
		loop_set_timer(&loop, &again, now);
}

static void
on_once(void *context, struct instant now)
{
	(void)context;
	(void)now;
	once_count++;
}

static void
watch_pipes(int count)
{
	for (int i = 0; i < count; i++) {
		CHECK_INT(pipe(pipe_ends[i]), 0);
		CHECK_INT(write(pipe_ends[i][1], "x", 1), 1);
		watches[i] = (struct watch){.fd = pipe_ends[i][0],
		    .events = POLLIN,
		    .ready = on_ready,
		    .context = &watches[i]};
		loop_watch(&loop, &watches[i]);
	}
}

static void
close_pipes(int count)
{
	for (int i = 0; i < count; i++) {
		loop_unwatch(&loop, &watches[i]);
		close(pipe_ends[i][0]);
		close(pipe_ends[i][1]);
	}
}

int
main(void)
{
	CHECK_INT(loop_open(&loop), 0);

	tap_case("as many descriptors as there may be are watched at a time");
	watch_pipes(LOOP_MAX_WATCHES);
	CHECK_INT(loop_run_once(&loop), 0);
	CHECK_INT(ready_count, LOOP_MAX_WATCHES);
	close_pipes(LOOP_MAX_WATCHES);

	tap_case("a timer that is due again and again keeps nobody from his turn");
	ready_count = 0;
	watch_pipes(1);
	again = (struct timer){.due = on_again};
	once = (struct timer){.due = on_once};
	loop_set_timer(&loop, &once, clock_now());
	loop_set_timer(&loop, &again, clock_now());
	CHECK_INT(loop_run_once(&loop), 0);
	CHECK_INT(again_count, 1);
	CHECK_INT(once_count, 1);
	CHECK_INT(loop_run_once(&loop), 0);
	CHECK_INT(again_count, 2);
	CHECK_INT(ready_count, 1);
	loop_stop_timer(&loop, &again);
	close_pipes(1);
	loop_close(&loop);
	return tap_end();
}
