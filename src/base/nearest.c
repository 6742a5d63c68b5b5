/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "base/nearest.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define WORD_MAX 40

static char
lower(char letter)
{
	return letter >= 'A' && letter <= 'Z' ? (char)(letter - 'A' + 'a') : letter;
}

static int
least(int a, int b)
{
	return a < b ? a : b;
}

/* Row i, column k of the table is the distance of the first i letters of one word from the first k
 * of the other; three rows of it are enough (Damerau 1964, optimal string alignment). */
int
nearest_steps(const char *one, const char *other)
{
	int rows[3][WORD_MAX + 1];
	size_t one_length = strlen(one), other_length = strlen(other);
	if (one_length > WORD_MAX || other_length > WORD_MAX)
		return -1;
	for (size_t k = 0; k <= other_length; k++)
		rows[0][k] = (int)k;
	for (size_t i = 1; i <= one_length; i++) {
		int *row = rows[i % 3];
		const int *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];
		row[0] = (int)i;
		for (size_t k = 1; k <= other_length; k++) {
			char here = lower(one[i - 1]), there = lower(other[k - 1]);
			row[k] =
			    least(above[k - 1] + (here != there), 1 + least(above[k], row[k - 1]));
			bool swapped = i > 1 && k > 1 && here == lower(other[k - 2]) &&
			    there == lower(one[i - 2]);
			if (swapped)
				row[k] = least(row[k], two_above[k - 2] + 1);
		}
	}
	return rows[one_length % 3][other_length];
}

void
nearest_offer(struct nearest *nearest, const char *name)
{
	size_t word_length = strlen(nearest->word), name_length = strlen(name);
	size_t longer = word_length > name_length ? word_length : name_length;
	int steps = nearest_steps(nearest->word, name);
	if (steps < 0 || steps > (int)(longer / 3))
		return;
	if (nearest->name == NULL || steps < nearest->steps) {
		nearest->name = name;
		nearest->steps = steps;
	}
}
