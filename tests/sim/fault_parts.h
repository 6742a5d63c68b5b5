/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Inside faults. */
#ifndef DLOCK_TESTS_FAULT_PARTS_H
#define DLOCK_TESTS_FAULT_PARTS_H

#include "faults.h"

/* The fault begins, or is over, if it is one of these. True: it has had an effect at once; others
 * have theirs when something else happens (faults_felt). */
bool
fault_befall_process(const struct fault *fault, bool begins);
bool
fault_befall_machine(const struct fault *fault, bool begins);

#endif
