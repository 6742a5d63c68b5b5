/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Those who wait: a free lock is taken within a bound. */
#ifndef DLOCK_TESTS_LINE_CHECK_H
#define DLOCK_TESTS_LINE_CHECK_H

#include "dlock.h"
#include "node.h"

void
line_check_begin(void);

/* The server has executed something: who stands in line there, and since when? */
void
line_check_node(struct node *node);

/* The server has just given it the lock, as it asked for it. */
void
line_check_order(struct node *node, const struct dlock *newcomer);

void
line_check_ended(const struct dlock *dlock);
void
line_check_taken(const struct dlock *dlock);

#endif
