/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What a schedule consists of, made from its seed: servers, dlocks, faults. Each can be left out.
 */
#ifndef DLOCK_TESTS_SCENARIO_H
#define DLOCK_TESTS_SCENARIO_H

#include "dlock.h"
#include "faults.h"

#define MOST_FAULTS 12

struct scenario {
	uint64_t seed;
	int nodes;
	int64_t ttl_ns; /* the longest */
	int dlock_count, fault_count;
	struct dlock_plan dlocks[MOST_DLOCKS];
	struct fault faults[MOST_FAULTS];
};

void
scenario_make(struct scenario *scenario, uint64_t seed);

/* Lets it happen: true if all that must hold did. Else world.violation says what did not. */
bool
scenario_run(const struct scenario *scenario);

/* --quarantine of the one that runs, ns. */
int64_t
scenario_quarantine(void);

void
scenario_print(const struct scenario *scenario);

#endif
