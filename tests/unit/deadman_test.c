/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* run/deadman: wherever RUNNER is stopped in the middle of it, one of the two timers ends that.
 * (Schedule 1484703 of the simulator: OUTER had been killed, and between the end of RUNNER's KILL
 * timer and its wake-up calls there was nothing.) */
#include "run/deadman.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

#define STEP_MS 10
#define STEPS 100

static int calls, stop_behind; /* which call of timer_settime; 0: none */

/* In place of the C library's: stopped right behind it, too. */
int
timer_settime(timer_t timer, int flags, const struct itimerspec *when, struct itimerspec *before)
{
	int (*real)(timer_t, int, const struct itimerspec *, struct itimerspec *);
	*(void **)&real = dlsym(RTLD_NEXT, "timer_settime");
	int result = real(timer, flags, when, before);
	if (++calls == stop_behind)
		raise(SIGSTOP);
	return result;
}

/* Held, and renewed a moment ago; then COMMAND is to die. */
static _Noreturn void
sweep(int kill_after_ms, int behind)
{
	struct deadman deadman;
	struct instant now = clock_now();
	if (deadman_open(&deadman) != 0)
		_exit(1);
	deadman_arm(&deadman, instant_plus(now, 3600 * NS_PER_S), NS_PER_S,
	    instant_plus(now, kill_after_ms * NS_PER_MS));
	calls = 0;
	stop_behind = behind;
	deadman_begin_sweep(&deadman);
	/* The timer that kills is off by now. */
	for (int i = 0; i < 2 * kill_after_ms / STEP_MS; i++)
		usleep(STEP_MS * 1000);
	_exit(0);
}

/* How the child ends, or -1: not in a second. */
static int
watch(pid_t child)
{
	int status;
	for (int i = 0; i < STEPS; i++) {
		if (waitpid(child, &status, WNOHANG) == child)
			return status;
		usleep(STEP_MS * 1000);
	}
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	return -1;
}

int
main(void)
{
	for (int behind = 0; behind <= 2; behind++) {
		tap_case("a sweep, stopped behind call %d: goes on by itself", behind);
		pid_t child = fork();
		if (child == 0)
			sweep(200, behind);
		CHECK_INT(watch(child), 0);
	}
	return tap_end();
}
