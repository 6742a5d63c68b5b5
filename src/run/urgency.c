/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "run/urgency.h"

#include <sched.h>
#include <stdbool.h>
#include <sys/resource.h>

static bool is_raised;

static int
make_real_time(pid_t pid)
{
	const struct sched_param lowest = {.sched_priority = sched_get_priority_min(SCHED_RR)};
	return sched_setscheduler(pid, SCHED_RR | SCHED_RESET_ON_FORK, &lowest);
}

void
urgency_raise(void)
{
	if (is_raised)
		return;
	is_raised = make_real_time(0) == 0;
	if (!is_raised)
		setpriority(PRIO_PROCESS, 0, -20);
}

void
urgency_lend(pid_t pid)
{
	if (is_raised)
		make_real_time(pid);
}
