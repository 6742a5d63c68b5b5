/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "host.h"

#include "world.h"

int64_t
host_boottime(const struct host *host, int64_t at)
{
	int64_t passed = at - WORLD_BEGIN;
	return host->boot_offset + passed + passed / 1000000 * host->rate_ppm +
	    passed % 1000000 * host->rate_ppm / 1000000;
}

int64_t
host_time_of(const struct host *host, int64_t boottime)
{
	int64_t passed = boottime - host->boot_offset;
	if (boottime == INT64_MAX)
		return NEVER;
	int64_t at = WORLD_BEGIN + passed -
	    (int64_t)((double)passed * (double)host->rate_ppm / (1e6 + (double)host->rate_ppm));
	/* Rounding, either way. */
	while (host_boottime(host, at) > boottime)
		at--;
	while (host_boottime(host, at) < boottime)
		at++;
	return at;
}
