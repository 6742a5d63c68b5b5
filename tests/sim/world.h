/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* The world of one schedule: true time, what happens when, and memory that lasts as long.
 *
 * There is one world a process of the simulator, one schedule after the other; the wrapped system
 * calls (kernel.h) have no other way to find it. Nothing happens but events, in the order of their
 * times, and of two at one time in the order in which they were arranged: the same seed gives the
 * same schedule, to the last byte. */
#ifndef DLOCK_TESTS_WORLD_H
#define DLOCK_TESTS_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dice.h"

#define NEVER INT64_MAX

/* Where the world begins: clocks start well above 0. */
#define WORLD_BEGIN INT64_C(1000000000000)

struct world {
	int64_t now; /* true nanoseconds */
	uint64_t seed;
	uint64_t events; /* so far, in this schedule */
	bool has_failed;
	char violation[512]; /* what was broken, when it has failed */
};

extern struct world world;

typedef void
event_action(void *subject, uint64_t argument);

/* Begins a new schedule. */
void
world_begin(uint64_t seed);

/* Arranges that action(subject, argument) is called at `at`, or now if that has passed. */
void
world_at(int64_t at, event_action *action, void *subject, uint64_t argument);

/* Lets the next event happen. False: there is none, or it would be after `until` (then the time is
 * `until`). */
bool
world_step(int64_t until);

/* Memory until the next world_begin, cleared. */
void *
world_allocate(size_t size);

/* A promise is broken: the schedule has failed, and ends. The first one counts. */
void
world_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
