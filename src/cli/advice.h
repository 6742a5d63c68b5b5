/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What is said of an option that cannot be taken: flock's, a later version's, a mistyped one. Pure;
 * each sets a sentence. Nothing after an = is quoted, and of a word only what a name is made of:
 * the rest may be a password. */
#ifndef DLOCK_CLI_ADVICE_H
#define DLOCK_CLI_ADVICE_H

#include <stdbool.h>

#include "base/problem.h"

/* `word` is the argument in which getopt found something wrong; `letter` the letter of it, when it
 * is one of letters. */
void
advice_on_option(const char *word, char letter, struct problem *problem);

/* An option with its argument missing: `name` as "--wait". */
void
advice_on_missing_argument(const char *name, const char *argument, struct problem *problem);

/* The left side of a line of a config file that names no option; `shown` is false where the word
 * may be a secret. */
void
advice_on_setting(const char *word, bool shown, struct problem *problem);

/* Something that looks like an option after NAME, where COMMAND should stand, or another NAME. */
void
advice_on_late_option(const char *word, bool is_run, struct problem *problem);

#endif
