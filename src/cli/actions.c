/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What dlock is asked to do, and which options of a command line go with that. Elsewhere a setting
 * is for those to whom it means something: a file with slots = 3 is no hindrance to --status. */
#include <stdio.h>
#include <string.h>

#include "cli/options_parts.h"

const char *
actions_name(enum option_action action)
{
	switch (action) {
	case ACTION_RUN:
		break;
	case ACTION_HELD:
		return "--held";
	case ACTION_STATUS:
		return "--status";
	case ACTION_LIST:
		return "--list";
	case ACTION_BREAK:
		return "--break";
	case ACTION_CHECK:
		return "--check";
	}
	return NULL;
}

const char *
actions_form(enum option_action action)
{
	switch (action) {
	case ACTION_RUN:
		break;
	case ACTION_HELD:
		return "dlock --held [NAME]";
	case ACTION_STATUS:
		return "dlock --status NAME...";
	case ACTION_LIST:
		return "dlock --list [GLOB]";
	case ACTION_BREAK:
		return "dlock --break NAME";
	case ACTION_CHECK:
		return "dlock --check";
	}
	return "dlock NAME COMMAND";
}

static bool
is_report(enum option_action action)
{
	return action == ACTION_STATUS || action == ACTION_LIST || action == ACTION_BREAK ||
	    action == ACTION_CHECK;
}

static bool
is_given(const struct options *options, const char *name)
{
	return options_source(options, name) == SOURCE_LINE;
}

/* A run's option beside a report; not what asks for the report itself. */
static bool
check_report(const struct options *options, struct problem *problem)
{
	char name[64];
	size_t count;
	const struct option_row *table = options_table(&count);
	const char *action = actions_name(options->action);
	const char *more = options->action == ACTION_BREAK ? ", --force, --token"
	    : options->action == ACTION_CHECK              ? ", -t, -k, --quarantine"
							   : "";
	unsigned long fitting =
	    OPTION_OF_REPORTS | (options->action == ACTION_CHECK ? OPTION_OF_CHECK : 0);
	for (size_t i = 0; i < count; i++) {
		if (options->source[i] != SOURCE_LINE || (table[i].traits & fitting) != 0)
			continue;
		if (options->by_letter[i])
			snprintf(name, sizeof name, "-%c", table[i].letter);
		else
			options_print(name, sizeof name, &table[i]);
		if (strcmp(name, action) == 0)
			continue;
		problem_set(problem,
		    "%s does not go with %s: that takes the options of the server, --prefix, "
		    "--config, --json%s, -q and -v",
		    name, action, more);
		return false;
	}
	return true;
}

bool
actions_check_line(const struct options *options, struct problem *problem)
{
	enum option_action action = options->action;
	if (is_report(action) && !check_report(options, problem))
		return false;
	if (options->json && !is_report(action)) {
		problem_set(problem,
		    "--json goes with --status, --list, --break and --check: dlock --status --json NAME");
		return false;
	}
	if (options->force && action != ACTION_BREAK) {
		problem_set(problem, "--force goes with --break: dlock --break --force NAME");
		return false;
	}
	if (options->token != NULL && action != ACTION_BREAK) {
		problem_set(problem, "--token goes with --break: dlock --break --token T NAME");
		return false;
	}
	/* The last of two would count, as of -s -x; but here both may be meant. */
	if (is_given(options, "shared") && is_given(options, "slots")) {
		problem_set(problem,
		    "-s and --slots exclude each other: --slots N alone lets N in at once");
		return false;
	}
	return true;
}
