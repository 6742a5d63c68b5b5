/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* dlock --held [NAME]: asks the RUNNER above whether its lock is still held. */
#ifndef DLOCK_JOB_ASKING_H
#define DLOCK_JOB_ASKING_H

#include "run/held.h"
#include "run/inquiry.h"

/* Asks about the lock with that key, or with NULL about that of the innermost dlock above; `name`
 * is what the user called it. Says why when it is not held. Returns dlock's exit status: 0
 * confirmed just now, 79 lost or not confirmed, 64 not below a dlock that holds it. After
 * proc_open. */
int
asking_run(const char *name, const char *key);

/* The words of it: what came of a question about that lock, which the user calls `name`, and the
 * status that goes with it. */
int
asking_explain(const char *name, const struct held_entry *entry, enum inquiry_result result,
    const struct inquiry_answer *answer);

#endif
