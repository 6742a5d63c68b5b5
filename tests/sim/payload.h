/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* COMMAND: works for a while, unless it is told to end, or killed. */
#ifndef DLOCK_TESTS_PAYLOAD_H
#define DLOCK_TESTS_PAYLOAD_H

#include <stdbool.h>

#include "task.h"

/* A child of that RUNNER, which waits to be let go. */
struct task *
payload_new(struct task *runner);

/* It is let go. */
void
payload_execute(struct task *command);

/* Is it known whether it was executed; was it? */
bool
payload_is_over(const struct task *command);
bool
payload_was_executed(const struct task *command);

void
payload_on_signal(struct task *command, int number);

/* It was stopped, or its machine slept, and that is over. */
void
payload_on_able(struct task *command);

#endif
