/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* The text of a config file, taken apart line by line. Pure: it knows no option and opens nothing.
 *
 *   # a comment
 *   option = value              blanks around the value do not count, those within it do
 *   option = "value"            every byte between the quotes counts; \" is a quote, \\ a backslash
 *   option                      a switch that is on
 *
 * A comment may also follow a value, after a blank. An unquoted value that has a # elsewhere is
 * refused: half of a password, or a comment taken for a value, would be worse. Lines may end with
 * CR LF, the last one with nothing at all, and a UTF-8 byte order mark in front is skipped. Other
 * control characters than the tab, NUL above all, are refused: such a file is something else. */
#ifndef DLOCK_CLI_CONFIG_H
#define DLOCK_CLI_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/problem.h"

/* The longest line, without its end. */
#define CONFIG_LINE_MAX 4096

/* What one line says. The strings last until the taker returns. */
struct config_setting {
	int line;           /* from 1 */
	const char *option; /* never empty */
	const char *value;  /* NULL: nothing but the option */
};

/* Takes a setting; false and a sentence ends the reading. */
typedef bool
config_taker(void *context, const struct config_setting *setting, struct problem *problem);

/* Gives `take` every setting in `length` bytes of `text`, in their order. False when a line is
 * none, or was not taken: *line is its number, and the sentence does not name it. No value is
 * quoted in the sentences made here, it may be a password. */
bool
config_parse(const char *text, size_t length, config_taker *take, void *context, int *line,
    struct problem *problem);

#endif
