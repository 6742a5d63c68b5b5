/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Being early in line for the processor. OUTER and RUNNER sleep nearly always, but when they wake
 * it is for a deadline: in a fork storm of a thousand runnable processes, or on an overloaded host,
 * an ordinary process has its turn late, and the lease does not wait. All of it is asked for, and
 * silently not had where it is not permitted (an ordinary user).
 *
 * Real time is for bursts of kill(2) alone: whoever is killed becomes runnable, and a thousand
 * victims would starve their killer between two of them. Never for a loop that might spin, nor for
 * reaping or looking at /proc/PID: there the kernel itself may spin until a reader of the same
 * entry, whom a real-time process keeps from the processor, has let it go (0.95 s were seen; see
 * proc_flush_pid and shrink_dcache_parent in Linux). */
#ifndef DLOCK_RUN_URGENCY_H
#define DLOCK_RUN_URGENCY_H

/* A better nice value, from now on. COMMAND must have been forked already, or it would inherit
 * it. */
void
urgency_raise(void);

/* In a child that is about to be somebody else's program: the nice value as it was before. */
void
urgency_lower(void);

/* Real time, and back to what it was. */
void
urgency_begin_burst(void);
void
urgency_end_burst(void);

#endif
