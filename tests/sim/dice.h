/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Chance that can be thrown again: what a schedule does follows from its seed alone. Each part of a
 * schedule has dice of its own, so that leaving one part out (minimise.h) does not change the
 * others. */
#ifndef DLOCK_TESTS_DICE_H
#define DLOCK_TESTS_DICE_H

#include <stdbool.h>
#include <stdint.h>

struct dice {
	uint64_t state;
};

/* Those of part `which` of a seed. */
struct dice
dice_of(uint64_t seed, uint64_t which);

uint64_t
dice_roll(struct dice *dice);

/* Uniform in [0, below); 0 if below is not positive. */
int64_t
dice_below(struct dice *dice, int64_t below);

/* Uniform in [least, most]. */
int64_t
dice_between(struct dice *dice, int64_t least, int64_t most);

/* As dice_between, but each order of magnitude is as likely as another. */
int64_t
dice_spread(struct dice *dice, int64_t least, int64_t most);

/* True in `many` of 1,000. */
bool
dice_chance(struct dice *dice, int many);

#endif
