/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* A machine that dlocks run on, and its clocks. CLOCK_BOOTTIME runs a little too fast or too slow,
 * and has its own beginning; it goes on while the machine sleeps. The wall clock may be set. */
#ifndef DLOCK_TESTS_HOST_H
#define DLOCK_TESTS_HOST_H

#include <stdbool.h>
#include <stdint.h>

#define MOST_HOSTS 8

struct host {
	int index;
	int64_t boot_offset; /* of CLOCK_BOOTTIME */
	int64_t rate_ppm;    /* how much faster than the true time it runs */
	bool is_suspended;
	uint64_t connections; /* so far */
	int64_t suspended_at;
};

/* What its CLOCK_BOOTTIME shows at a true time, nanoseconds. */
int64_t
host_boottime(const struct host *host, int64_t at);

/* The true time at which it shows that for the first time. */
int64_t
host_time_of(const struct host *host, int64_t boottime);

#endif
