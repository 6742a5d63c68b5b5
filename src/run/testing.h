/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Switches that turn a safety net off, or widen a window, in a build for tests only (DLOCK_TESTING;
 * the product has none of this):
 * DLOCK_TEST_HOOKS=no-guard,no-kill,unkillable,slow-prctl=MS,slow-report=MS,fork,naive-quorum. A
 * test of a net must fail without it. */
#ifndef DLOCK_RUN_TESTING_H
#define DLOCK_RUN_TESTING_H

#include <stdbool.h>

#ifdef DLOCK_TESTING
/* Is the hook given? */
bool
testing_hook(const char *name);
/* The number after NAME=, 0 if the hook is not given. */
int
testing_number(const char *name);
#else
#define testing_hook(name) false
#define testing_number(name) 0
#endif

#endif
