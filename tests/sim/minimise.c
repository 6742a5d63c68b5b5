/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "minimise.h"

/* Fails it still, without that? If not, it is put back. */
static bool
is_needless(struct scenario *scenario, bool *is_there)
{
	if (!*is_there)
		return false;
	*is_there = false;
	if (!scenario_run(scenario))
		return true;
	*is_there = true;
	return false;
}

int
minimise(struct scenario *scenario)
{
	int runs = 0;
	bool smaller = true;
	while (smaller) {
		smaller = false;
		for (int i = 0; i < scenario->fault_count; i++, runs++)
			smaller |= is_needless(scenario, &scenario->faults[i].is_there);
		for (int i = 0; i < scenario->dlock_count; i++, runs++)
			smaller |= is_needless(scenario, &scenario->dlocks[i].is_there);
	}
	return runs;
}
