/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Being first in line for the processor, for the length of a sweep: a fork storm of a thousand
 * runnable processes gives an ordinary killer a thousandth of it, and the lease does not wait. */
#ifndef DLOCK_RUN_URGENCY_H
#define DLOCK_RUN_URGENCY_H

#include <sys/types.h>

/* Asks for real-time scheduling, else for the best nice value; where neither is permitted (an
 * ordinary user), nothing changes. For a process that only has to kill and to end. */
void
urgency_raise(void);

/* After urgency_raise: the same for a process that has been sent KILL. Dying takes the processor
 * too, and on a loaded machine a thousand dying processes would wait for it behind all others. */
void
urgency_lend(pid_t pid);

#endif
