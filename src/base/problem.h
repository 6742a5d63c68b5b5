/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What went wrong, as a sentence made where the facts are and wrapped on the way up: "not a
 * duration: '5x' (a number with ms, s, m, h or d)". No trailing full stop, no newline. */
#ifndef DLOCK_BASE_PROBLEM_H
#define DLOCK_BASE_PROBLEM_H

struct problem {
	char text[512];
};

/* Sets the sentence; a longer one is cut. */
void
problem_set(struct problem *problem, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
