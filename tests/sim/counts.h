/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* How often what was reached, over all schedules and all processes of the simulator: one that never
 * gets anywhere proves nothing. */
#ifndef DLOCK_TESTS_COUNTS_H
#define DLOCK_TESTS_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "faults.h"

#define MOST_WORKERS 64

/* What the checker has looked at. */
enum counted {
	COUNTED_SCHEDULES,
	COUNTED_EVENTS,
	COUNTED_COMMANDS,
	COUNTED_EXCUSED,
	COUNTED_FENCE_PAIRS,
	COUNTED_HAND_OFFS,
	COUNTED_RESTS,
	COUNTED_KINDS,
};

/* Before the workers are forked; then each says which it is. */
void
counts_share(void);
void
counts_be_worker(int number);

void
counts_add(enum counted what, uint64_t many);
void
counts_add_fault(enum fault_kind kind);
void
counts_add_state(int state);
void
counts_add_outcome(int outcome);

/* In a worker, at its end: what the model has counted. */
void
counts_add_replies(void);

/* What it works at. */
void
counts_note_seed(uint64_t seed);
uint64_t
counts_seed_of(int worker);

uint64_t
counts_get(enum counted what);

/* Prints all. False, and says so: something is below the floor, so many of each kind of fault, and
 * one of all else. */
bool
counts_print(uint64_t floor);

#endif
