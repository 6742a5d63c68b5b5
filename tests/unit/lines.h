/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Command lines for the tests of cli/options. */
#ifndef DLOCK_TESTS_LINES_H
#define DLOCK_TESTS_LINES_H

#include "cli/options.h"

/* No variable that dlock looks at is set, and there is no config file. */
void
lines_clear_environment(void);

/* Has dlock's options parsed anew: `line` is cut at its blanks; in an argument _ is a blank, and ''
 * is an empty one. `argv`, NULL-terminated, is valid until the next call. */
enum options_result
lines_parse(const char *line, struct options *options, struct problem *problem, char ***argv);

#endif
