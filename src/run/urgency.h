/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Being first in line for the processor. OUTER and RUNNER sleep nearly always, but when they wake it
 * is for a deadline: in a fork storm of a thousand runnable processes, or on an overloaded host, an
 * ordinary process has its turn seconds late, and the lease does not wait. */
#ifndef DLOCK_RUN_URGENCY_H
#define DLOCK_RUN_URGENCY_H

#include <sys/types.h>

/* Asks for real-time scheduling, else for the best nice value; where neither is permitted (an
 * ordinary user), nothing changes. Processes forked from here on do not inherit it. */
void
urgency_raise(void);

/* After urgency_raise: the same for a process that has been sent KILL. Dying takes the processor
 * too, and on a loaded machine a thousand dying processes would wait for it behind all others. */
void
urgency_lend(pid_t pid);

#endif
