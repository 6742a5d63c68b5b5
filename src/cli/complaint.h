/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What is said, and the exit status for it, when a run or a report cannot even begin. */
#ifndef DLOCK_CLI_COMPLAINT_H
#define DLOCK_CLI_COMPLAINT_H

#include "base/problem.h"
#include "cli/options.h"

/* "cannot WHAT: reason", of errno: 71. */
int
complaint_of_system(const char *what);

/* A setting that is of no use: 78 where it comes from environment or file, else 64; 71 where this
 * machine has run out of something. */
int
complaint_of_setting(const struct problem *problem, bool is_configured);

/* Two of them that do not go together, by main name; one alone stands there twice. */
int
complaint_of_options(const struct options *options, const struct problem *problem, const char *one,
    const char *other);

/* A NAME that makes no key. The prefix is to blame only where NAME would do without it. */
int
complaint_of_key(const struct options *options, const char *name, const struct problem *problem);

#endif
