/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "run/urgency.h"

#include <sched.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Twenty would bring the spinning back in a weak form: who is waited for gets a hundredth of the
 * processor. */
#define NICE_GAIN 15

static int nice_before;
static bool raised;
static int policy_before = -1; /* -1: not in real time */

/* By system call: musl's function does not do it. */
static int
set_policy(int policy, int priority)
{
	const struct sched_param param = {.sched_priority = priority};
	return (int)syscall(SYS_sched_setscheduler, 0, policy, &param);
}

void
urgency_raise(void)
{
	nice_before = getpriority(PRIO_PROCESS, 0);
	raised = setpriority(PRIO_PROCESS, 0, nice_before - NICE_GAIN) == 0;
}

void
urgency_lower(void)
{
	if (raised)
		setpriority(PRIO_PROCESS, 0, nice_before);
	raised = false;
}

void
urgency_begin_burst(void)
{
	int policy = (int)syscall(SYS_sched_getscheduler, 0);
	if (policy != SCHED_OTHER && policy != SCHED_BATCH && policy != SCHED_IDLE)
		return; /* real time already, or not known */
	if (set_policy(SCHED_RR, sched_get_priority_min(SCHED_RR)) == 0)
		policy_before = policy;
}

void
urgency_end_burst(void)
{
	if (policy_before >= 0)
		set_policy(policy_before, 0);
	policy_before = -1;
}
