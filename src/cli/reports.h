/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* --status, --list, --break and --check, from the options to view.h. */
#ifndef DLOCK_CLI_REPORTS_H
#define DLOCK_CLI_REPORTS_H

#include "base/loop.h"
#include "cli/options.h"
#include "run/signals.h"

/* What is asked for: one of these. Opens the loop, and takes the password out of the options.
 * dlock's exit status, after saying why where it is none of the report's own. */
int
reports_run(struct options *options, enum options_result what, struct loop *loop,
    struct signals *signals);

#endif
