/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* "Did you mean": the name that is nearest to a mistyped word. Pure.
 *
 *   struct nearest nearest = {.word = "nonblok"};
 *   for (each name)
 *           nearest_offer(&nearest, name);
 *   if (nearest.name != NULL) ... did you mean nearest.name?
 */
#ifndef DLOCK_BASE_NEAREST_H
#define DLOCK_BASE_NEAREST_H

struct nearest {
	const char *word;
	const char *name; /* the best of those offered; NULL: none is near */
	int steps;        /* from the word to it */
};

/* Takes the name if it is near enough, and nearer than those before. Near enough: one letter in
 * three may be wrong, counted in the longer of the two. */
void
nearest_offer(struct nearest *nearest, const char *name);

/* How many letters must be put in, left out, replaced, or changed places with their neighbour, to
 * make one word of the other; case does not count. -1: one has more than 40 letters. */
int
nearest_steps(const char *one, const char *other);

#endif
