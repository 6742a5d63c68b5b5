/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "run/urgency.h"

#include <sched.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* More of it would bring the spinning back in a weak form: who is waited for gets a tenth of the
 * processor. */
#define NICE_GAIN 10

static bool is_real_time;
static int policy_at_start;
static int pauses;

/* By system call: musl's function does not do it. */
static int
set_policy(int policy, const struct sched_param *param)
{
	return (int)syscall(SYS_sched_setscheduler, 0, policy, param);
}

static int
make_real_time(void)
{
	const struct sched_param lowest = {.sched_priority = sched_get_priority_min(SCHED_RR)};
	return set_policy(SCHED_RR | SCHED_RESET_ON_FORK, &lowest);
}

void
urgency_raise(void)
{
	policy_at_start = (int)syscall(SYS_sched_getscheduler, 0);
	setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) - NICE_GAIN);
	is_real_time = policy_at_start == SCHED_OTHER && make_real_time() == 0;
}

void
urgency_pause(void)
{
	const struct sched_param none = {0};
	if (is_real_time && pauses++ == 0)
		set_policy(policy_at_start, &none);
}

void
urgency_resume(void)
{
	if (is_real_time && --pauses == 0)
		make_real_time();
}
