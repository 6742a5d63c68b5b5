/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* The clock that goes on while the machine sleeps. Linux calls it CLOCK_BOOTTIME; on macOS
 * CLOCK_MONOTONIC itself goes on during sleep; elsewhere the monotonic clock is the best there is,
 * and a suspended machine is noticed late. */
#ifndef DLOCK_BASE_COMPAT_BOOTTIME_H
#define DLOCK_BASE_COMPAT_BOOTTIME_H

#include <time.h>

#ifdef CLOCK_BOOTTIME
#define COMPAT_CLOCK_BOOTTIME CLOCK_BOOTTIME
#else
#define COMPAT_CLOCK_BOOTTIME CLOCK_MONOTONIC
#endif

#endif
