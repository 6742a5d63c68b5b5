/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* The controlling terminal as it was before COMMAND, and again after it. A program that puts the
 * terminal into a mode of its own, or that takes the foreground (a shell does both), gives them
 * back when it ends; not so when it is killed. A shell mends that after a job that died of a
 * signal, but not after one that exited, as dlock does with its 79: so dlock mends it.
 *
 * A terminal that belongs to somebody else by now is left alone. Needs TTOU blocked or ignored. */
#ifndef DLOCK_RUN_TERMINAL_H
#define DLOCK_RUN_TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>
#include <termios.h>

struct terminal {
	pid_t group; /* ours, if it was in the foreground; 0: it was not, or there is no terminal */
	bool has_modes;
	struct termios modes;
};

/* Before the fork into two. */
void
terminal_note(struct terminal *terminal);

/* After the end of COMMAND's tree: gives our group the foreground if the group that has it is dead,
 * and, where COMMAND was killed but dlock exits, restores the modes. */
void
terminal_mend(const struct terminal *terminal, bool killed);

#endif
