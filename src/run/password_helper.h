/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* The process that gets a password for dlock: it reads a file, which may be on a server that hangs
 * or be a pipe that nobody writes to, or runs a command and takes its first line.
 *
 * Whoever asked closes the read end of the pipe, by intent or by dying, when the answer is not
 * wanted any more: then the command and all that it started are ended, and the helper with them.
 * (While a file hangs it sees no pipe: then it is sent KILL, or dies with who asked.) The helper is
 * a subreaper, so nothing of that escapes to dlock, where it would be taken for a descendant of
 * COMMAND. It has no descriptor of dlock but the pipe and stderr. */
#ifndef DLOCK_RUN_PASSWORD_HELPER_H
#define DLOCK_RUN_PASSWORD_HELPER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/problem.h"
#include "base/secret.h"
#include "run/signals.h"

struct password_errand {
	const char *file;    /* one of them: a name, */
	const char *command; /* or a command for sh -c */
	const struct signals *signals;
	pid_t asker; /* whose helper this is */
	/* Is this a process below which COMMAND runs? Then the command for the password gets a
	 * session of its own, without the terminal, which is COMMAND's now; and what it leaves
	 * running when it ends is killed, because it would be taken for COMMAND's. */
	bool beside_command;
};

/* What goes through the pipe, whole. */
struct password_answer {
	struct problem problem; /* text "": none */
	char text[SECRET_MAX + 1];
};

/* In the helper, just forked. Writes a struct password_answer to `out`. */
_Noreturn void
password_helper_run(const struct password_errand *errand, int out);

/* Takes the first line, less its \n or \r\n, out of `length` bytes: the first SECRET_MAX + 2 of a
 * text or all of it, with room for one more. `text` becomes that line. False, and what is wrong
 * with it: "is empty". Pure. */
bool
password_take_line(char *text, size_t length, struct problem *problem);

#endif
