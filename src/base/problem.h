/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What went wrong, as a sentence made where the facts are and wrapped on the way up: "not a
 * duration: '5x' (a number with ms, s, m, h or d)". No trailing full stop, no newline. */
#ifndef DLOCK_BASE_PROBLEM_H
#define DLOCK_BASE_PROBLEM_H

#include <stdbool.h>

struct problem {
	char text[512];
	bool is_system;  /* this machine has run out of something; nobody else is to blame */
	bool is_setting; /* what the user has set is of no use, a password file for instance */
	bool is_denied;  /* the other side's certificate, or ours, was refused */
	bool is_passing; /* a server's refusal that is true for a while, as a rule: it loads its
			  * data, is a replica just now */
};

/* Sets the sentence; a longer one is cut. */
void
problem_set(struct problem *problem, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "WHAT: reason", or the reason alone where `what` is NULL, for an error that a system call gave.
 */
void
problem_set_errno(struct problem *problem, const char *what, int error);

#endif
