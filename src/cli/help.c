/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "cli/help.h"

#include <stdio.h>

#include "base/compat/platform.h"
#include "cli/options.h"

static void
print_row(const struct option_row *row)
{
	char left[64];
	int used = snprintf(left, sizeof left, row->letter ? "-%c" : "  ", row->letter);
	for (int i = 0; i < OPTION_NAMES && row->names[i] != NULL; i++)
		used += snprintf(left + used, sizeof left - (size_t)used, "%s--%s",
		    i > 0 || row->letter ? ", " : "  ", row->names[i]);
	if (row->argument != NULL)
		snprintf(left + used, sizeof left - (size_t)used, " %s", row->argument);
	printf("  %-31s %s", left, row->help);
	if (row->environment[0] != NULL)
		printf(" [%s]", row->environment[0]);
	putchar('\n');
}

int
help_print(void)
{
	size_t count;
	const struct option_row *table = options_table(&count);
	fputs("Usage: dlock [OPTION]... NAME COMMAND [ARG]...\n"
	      "       dlock [OPTION]... NAME -c STRING\n"
	      "       dlock [OPTION]... --held [NAME]\n"
	      "Run COMMAND while holding the lock NAME, which every machine that uses the same "
	      "Redis can\n"
	      "see. COMMAND is dead before anybody else can get the lock.\n\n",
	    stdout);
	for (size_t i = 0; i < count; i++)
		print_row(&table[i]);
	printf("  %-31s %s\n", "-c, --command STRING",
	    "after NAME: run STRING with $SHELL -c, else /bin/sh -c");
	fputs(
	    "\nDUR: a number with ms, s (default), m, h or d: 250ms, 1.5, 10m.\n"
	    "COMMAND finds DLOCK_NAME, DLOCK_KEY, DLOCK_TOKEN and DLOCK_FENCE in its environment.\n"
	    "Exit status: COMMAND's; 75 not had in time; 79 lost while COMMAND ran; 69 server "
	    "unreachable\n"
	    "or refusing; 77 access denied; 124 --max-hold ran out; 64 usage; 78 configuration; "
	    "71 system;\n"
	    "126, 127 no COMMAND.\n"
	    "The server is -S, else DLOCK_SERVER, else REDIS_URL, else the config file's. See dlock(1).\n",
	    stdout);
	return fflush(stdout) == 0 && !ferror(stdout) ? 0 : -1;
}

int
help_print_version(void)
{
	printf("dlock %s\n"
	       "platform: %s\n"
	       "configuration: %s/dlock.conf, if there\n",
	    DLOCK_VERSION, COMPAT_PLATFORM, DLOCK_SYSCONFDIR);
	return fflush(stdout) == 0 ? 0 : -1;
}
