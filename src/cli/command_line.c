/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include <getopt.h>

#include "cli/advice.h"
#include "cli/options_parts.h"

/* Values of getopt_long for long options: above every letter. */
#define LONG_BASE 256
/* A table of OPTIONS_MAX rows, and what getopt_long wants beside them. */
#define MAX_LONG (OPTIONS_MAX * OPTION_NAMES + 1)
#define MAX_LETTERS (2 * OPTIONS_MAX + 3)

/* The table as getopt_long wants it. */
static void
make_getopt_tables(char *letters, struct option *longs)
{
	size_t count, used = 0;
	const struct option_row *table = options_table(&count);
	*letters++ = '+'; /* options stop at NAME */
	*letters++ = ':'; /* a missing argument is told apart */
	for (size_t i = 0; i < count; i++) {
		if (table[i].letter != 0) {
			*letters++ = table[i].letter;
			if (table[i].argument != NULL)
				*letters++ = ':';
		}
		for (size_t k = 0; k < OPTION_NAMES && table[i].names[k] != NULL; k++)
			longs[used++] = (struct option){table[i].names[k],
			    table[i].argument ? required_argument : no_argument, NULL,
			    LONG_BASE + (int)i};
	}
	*letters = '\0';
	longs[used] = (struct option){0};
}

static int
find_row(int value)
{
	size_t count;
	const struct option_row *table = options_table(&count);
	if (value >= LONG_BASE)
		return value - LONG_BASE;
	for (size_t i = 0; i < count; i++) {
		if (table[i].letter == value)
			return (int)i;
	}
	return -1;
}

bool
command_line_parse(struct options *options, int argc, char **argv, struct problem *problem)
{
	char letters[MAX_LETTERS], name[64];
	struct option longs[MAX_LONG];
	size_t count;
	const struct option_row *table = options_table(&count);
	int value;

	make_getopt_tables(letters, longs);
	opterr = 0;
	for (;;) {
		int at = optind;
		value = getopt_long(argc, argv, letters, longs, NULL);
		if (value < 0)
			return true;
		if (value == '?') {
			/* getopt does not say which of the two it was. */
			bool is_long = argv[at][1] == '-';
			advice_on_option(argv[at], is_long ? 0 : (char)optopt, problem);
			options_scrub(argv[at]);
			return false;
		}
		int row = find_row(value == ':' ? optopt : value);
		if (row < 0)
			return false;
		options_print(name, sizeof name, &table[row]);
		if (value == ':') {
			advice_on_missing_argument(name, table[row].argument, problem);
			return false;
		}
		struct problem why;
		bool good = options_set(options, (size_t)row, optarg, &why);
		options_scrub(optarg);
		if (!good) {
			problem_set(problem, "%s: %s", name, why.text);
			return false;
		}
		options->source[row] = SOURCE_LINE;
		options->by_letter[row] = value < LONG_BASE;
	}
}
