/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What comes to its end does so in time, and says what has happened. */
#ifndef DLOCK_TESTS_END_CHECK_H
#define DLOCK_TESTS_END_CHECK_H

#include "task.h"

struct dlock;

/* `-w` and `--max-hold` are over in time, and TERM ends a waiter, as far as dlock is able to see to
 * it. After each event. */
void
end_check_look(struct dlock *dlock);

/* OUTER, or the one process that there was, has ended: its status. */
void
end_check_status(const struct task *outer);

#endif
