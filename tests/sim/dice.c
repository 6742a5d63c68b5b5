/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "dice.h"

/* splitmix64 (Steele, Lea, Flood 2014). */
uint64_t
dice_roll(struct dice *dice)
{
	uint64_t mixed = dice->state += UINT64_C(0x9e3779b97f4a7c15);
	mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
	return mixed ^ (mixed >> 31);
}

struct dice
dice_of(uint64_t seed, uint64_t which)
{
	struct dice one = {seed};
	struct dice other = {dice_roll(&one) ^ (which * UINT64_C(0xd1342543de82ef95))};
	dice_roll(&other);
	return other;
}

int64_t
dice_below(struct dice *dice, int64_t below)
{
	uint64_t rolled = dice_roll(dice);
	return below > 0 ? (int64_t)(rolled % (uint64_t)below) : 0;
}

int64_t
dice_between(struct dice *dice, int64_t least, int64_t most)
{
	return least + dice_below(dice, most - least + 1);
}

int64_t
dice_spread(struct dice *dice, int64_t least, int64_t most)
{
	int doublings = 0;
	while (doublings < 62 && least << (doublings + 1) <= most)
		doublings++;
	int64_t from = least << dice_below(dice, doublings + 1);
	int64_t to = from <= most / 2 ? 2 * from : most;
	return dice_between(dice, from, to);
}

bool
dice_chance(struct dice *dice, int many)
{
	return dice_below(dice, 1000) < many;
}
