/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What --help and --version print, on stdout. */
#ifndef DLOCK_CLI_HELP_H
#define DLOCK_CLI_HELP_H

/* Each returns 0, or -1 when stdout did not take it all. */
int
help_print(void);
int
help_print_version(void);

#endif
