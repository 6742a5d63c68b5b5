/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Being first in line for the processor. OUTER and RUNNER sleep nearly always, but when they wake
 * it is for a deadline: in a fork storm of a thousand runnable processes, or on an overloaded
 * host, an ordinary process has its turn seconds late, and the lease does not wait. Real-time
 * scheduling is asked for, and silently not had where it is not permitted (an ordinary user).
 *
 * It pauses for reaping and for looking at /proc/PID: there the kernel may spin until a reader of
 * the same entry, whom a real-time process keeps from the processor, has let it go. (0.95 s were
 * seen, which is what sched_rt_runtime_us allows; see proc_flush_pid and shrink_dcache_parent in
 * Linux.) */
#ifndef DLOCK_RUN_URGENCY_H
#define DLOCK_RUN_URGENCY_H

/* From now on. COMMAND must have been forked already, or it would inherit it. */
void
urgency_raise(void);

/* Ordinary scheduling, with a better nice value, until resumed. Pairs may be nested. */
void
urgency_pause(void);
void
urgency_resume(void);

#endif
