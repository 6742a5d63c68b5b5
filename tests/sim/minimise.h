/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* A failing schedule made small: servers, dlocks and faults are left out, one after the other, as
 * long as it still fails. */
#ifndef DLOCK_TESTS_MINIMISE_H
#define DLOCK_TESTS_MINIMISE_H

#include "scenario.h"

/* Returns how many runs that took. */
int
minimise(struct scenario *scenario);

#endif
