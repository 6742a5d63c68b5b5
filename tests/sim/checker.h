/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What must hold, looked at from outside: by true time, by what the servers have, by who is alive.
 * It believes nothing that dlock itself thinks. See docs/verification.md.
 *
 * A holder is excused, and may have another beside it, when a server has lost what it had confirmed
 * to that holder, until the lease is over that was confirmed by then; its fence is not. */
#ifndef DLOCK_TESTS_CHECKER_H
#define DLOCK_TESTS_CHECKER_H

#include "node.h"
#include "task.h"

struct dlock;

/* How a server is about to forget. */
enum forgetting {
	FORGETS_AT_ONCE,  /* and goes on: nobody can know */
	FORGETS_BY_CRASH, /* a quorum has it wait (--quarantine) */
	FORGETS_THE_TIME, /* its clock is set back: only fences that are lost, too, suffer */
};

void
checker_begin(void);

void
checker_command_begins(struct task *command);
void
checker_command_ends(struct task *command);

/* The server has executed something, for that dlock or for somebody else (NULL). */
void
checker_node_has_worked(struct node *node, const struct dlock *dlock);

/* Before it does. */
void
checker_node_forgets(struct node *node, enum forgetting how);

/* After each event. */
void
checker_look(void);

/* Everything is over, or should be: at the end of a schedule. */
void
checker_end(void);

#endif
