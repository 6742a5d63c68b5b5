/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "lines.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

#define WORDS 24
#define KEPT 256

/* What a file said lives as long as dlock: here LeakSanitizer sees that it is not lost. */
static struct kept_text *volatile kept[KEPT];
static size_t kept_count;

void
lines_clear_environment(void)
{
	static const char *const names[] = {"DLOCK_TTL", "DLOCK_SERVER", "DLOCK_PREFIX",
	    "DLOCK_LABEL", "REDIS_URL", "SHELL", "POSIXLY_CORRECT"};
	for (size_t i = 0; i < COUNT_OF(names); i++)
		unsetenv(names[i]);
	setenv("DLOCK_CONFIG", "/dev/null", 1); /* this machine may have a file */
}

enum options_result
lines_parse(const char *line, struct options *options, struct problem *problem, char ***argv)
{
	static bool first = true;
	static char words[WORDS][512];
	static char *pointers[WORDS + 1];
	int argc = 0;
	pointers[argc++] = strcpy(words[0], "dlock");
	while (*line != '\0' && argc < WORDS) {
		size_t length = strcspn(line, " ");
		snprintf(words[argc], sizeof words[argc], "%.*s", (int)length, line);
		if (strcmp(words[argc], "''") == 0)
			words[argc][0] = '\0';
		for (char *at = words[argc]; *at != '\0'; at++) {
			if (*at == '_')
				*at = ' ';
		}
		pointers[argc] = words[argc];
		argc++;
		line += length + (line[length] == ' ');
	}
	pointers[argc] = NULL;
	/* The first time it is as in dlock: the order of getopt is chosen at its first call. */
	if (!first) {
		optind = 0; /* begins anew (glibc), with the order that options_parse wants */
		(void)getopt(1, pointers, "+");
	}
	first = false;
	problem->text[0] = '\0';
	if (argv != NULL)
		*argv = pointers;
	enum options_result result = options_parse(options, argc, pointers, problem);
	if (options->kept != NULL && kept_count < KEPT)
		kept[kept_count++] = options->kept;
	return result;
}
