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

/* Do the servers, or a majority, keep the lock for it longer than `at`, true time? */
bool
checker_keeps(const struct dlock *dlock, int64_t at);

/* Is it the token, or that with the marker of --break, which is kept for its holder? */
bool
checker_is_of(const char *name, size_t length, const char *token);

/* Nobody may be blamed for what it does now. */
bool
checker_is_excused(const struct dlock *dlock);

/* Has any server forgotten something, or the time? */
bool
checker_has_forgotten(void);

/* After each event. */
void
checker_look(void);

/* Everything is over, or should be: at the end of a schedule. */
void
checker_end(void);

#endif
