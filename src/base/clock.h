/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* One clock for every deadline: CLOCK_BOOTTIME, in nanoseconds, because it goes on while the
 * machine sleeps. A lease measured with CLOCK_MONOTONIC looks young after a suspend.
 *
 * Durations are plain int64_t nanoseconds with _ns in their names; instants are a type of their
 * own, so that the two cannot be mixed up. Nothing here blocks or allocates. */
#ifndef DLOCK_BASE_CLOCK_H
#define DLOCK_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define NS_PER_US INT64_C(1000)
#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S INT64_C(1000000000)

struct instant {
	int64_t ns; /* CLOCK_BOOTTIME since the machine's start */
};

/* Later than every instant that a deadline can have. */
#define INSTANT_NEVER ((struct instant){INT64_MAX})

/* The present. */
struct instant
clock_now(void);

/* `at` moved by `ns`, which may be negative; never stays never, and an overflow becomes it. */
struct instant
instant_plus(struct instant at, int64_t ns);

/* Nanoseconds from `from` to `to`; negative when `to` is earlier. */
int64_t
instant_between(struct instant from, struct instant to);

/* Is it `at` already? An instant that is never is never reached. */
bool
instant_reached(struct instant at, struct instant now);

/* The earlier of the two. */
struct instant
instant_earlier(struct instant one, struct instant other);

/* Milliseconds, rounded down. */
int64_t
ms_from_ns(int64_t ns);

#endif
