/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "cli/help.h"

#include <stdio.h>
#include <string.h>

#include "base/compat/platform.h"
#include "cli/options.h"

#define TEXT_COLUMN 30
#define WIDTH 80

/* The words of `text` in the column of what options do, behind what is there up to `used`. */
static void
print_text(const char *text, int used)
{
	bool fits = used <= TEXT_COLUMN - 2;
	int column = TEXT_COLUMN - 1;
	printf(fits ? "%*s" : "\n%*s", fits ? column - used : column, "");
	while (*text != '\0') {
		int length = (int)strcspn(text, " ");
		if (column + 1 + length > WIDTH)
			column = printf("\n%*s", TEXT_COLUMN - 1, "") - 1;
		column += printf(" %.*s", length, text);
		text += length;
		text += strspn(text, " ");
	}
	putchar('\n');
}

static void
print_row(const struct option_row *row)
{
	char left[64], text[400];
	int used = snprintf(left, sizeof left, row->letter ? "  -%c" : "    ", row->letter);
	for (int i = 0; i < OPTION_NAMES && row->names[i] != NULL; i++)
		used += snprintf(left + used, sizeof left - (size_t)used, "%s--%s",
		    i > 0 || row->letter ? ", " : "  ", row->names[i]);
	if (row->argument != NULL)
		snprintf(left + used, sizeof left - (size_t)used, " %s", row->argument);
	snprintf(text, sizeof text, row->environment[0] ? "%s [%s]" : "%s", row->help,
	    row->environment[0]);
	print_text(text, printf("%s", left));
}

int
help_print(void)
{
	size_t count;
	const struct option_row *table = options_table(&count);
	fputs("Usage: dlock [OPTION]... NAME COMMAND [ARG]...\n"
	      "       dlock [OPTION]... NAME -c STRING\n"
	      "       dlock [OPTION]... --held [NAME]\n"
	      "       dlock [OPTION]... --status NAME... | --list [GLOB] | --break NAME\n"
	      "       dlock [OPTION]... --check\n"
	      "Run COMMAND while holding the lock NAME, which every machine that uses the same\n"
	      "Redis can see. COMMAND is dead before anybody else can get the lock.\n\n",
	    stdout);
	for (size_t i = 0; i < count; i++)
		print_row(&table[i]);
	print_text("after NAME: run STRING with $SHELL, else /bin/sh",
	    printf("  -c, --command STRING"));
	fputs("\nDUR: a number with ms, s (default), m, h or d: 250ms, 1.5, 10m.\n"
	      "COMMAND's environment has DLOCK_NAME, DLOCK_KEY, DLOCK_TOKEN, DLOCK_FENCE and,\n"
	      "with --slots, DLOCK_SLOT.\n"
	      "Exit status: COMMAND's; 75 not had in time; 79 lost while COMMAND ran; 69 server\n"
	      "unreachable or refusing; 77 access denied; 124 --max-hold ran out; 64 usage;\n"
	      "78 configuration; 71 system; 126, 127 no COMMAND. --status: 0 each NAME is held,\n"
	      "1 one is free; --break: 0 broken, 1 it was free; --check: 0 fit, 69 unfit.\n"
	      "The server is -S, else DLOCK_SERVER, else REDIS_URL, else the config file's.\n"
	      "See dlock(1).\n",
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
