/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include <stdlib.h>
#include <string.h>

#include "cli/advice.h"
#include "cli/options_parts.h"

static bool
take_shell_command(struct options *options, char **rest, struct problem *problem)
{
	static char shell_default[] = "/bin/sh";
	static char dash_c[] = "-c";
	static char *command[4];
	if (rest[0] == NULL || rest[1] != NULL) {
		problem_set(problem,
		    "-c takes exactly one string: dlock NAME -c 'a | b' (quote it)");
		return false;
	}
	char *shell = getenv("SHELL");
	command[0] = shell != NULL && shell[0] != '\0' ? shell : shell_default;
	command[1] = dash_c;
	command[2] = rest[0];
	options->command = command;
	return true;
}

static bool
is_shell_option(const char *word)
{
	return strcmp(word, "-c") == 0 || strcmp(word, "--command") == 0;
}

/* Somebody who writes `dlock status` may mean --status; it is a NAME like any other. */
static void
explain_no_command(const char *name, struct problem *problem)
{
	static const enum option_action actions[] = {ACTION_HELD, ACTION_STATUS, ACTION_LIST,
	    ACTION_BREAK, ACTION_CHECK};
	if (name[0] != '\0' && name[strspn(name, "0123456789")] == '\0') {
		problem_set(problem,
		    "no COMMAND after NAME '%.80s' (a descriptor cannot be locked: the lock is on a "
		    "server)",
		    name);
		return;
	}
	problem_set(problem,
	    "no COMMAND after NAME '%.80s': dlock [OPTION]... NAME COMMAND [ARG]...", name);
	for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
		if (strcmp(name, actions_name(actions[i]) + 2) == 0)
			problem_set(problem, "no COMMAND after NAME '%s': did you mean %s?", name,
			    actions_form(actions[i]));
	}
}

bool
operands_take(struct options *options, char **rest, struct problem *problem)
{
	if (rest[0] == NULL) {
		problem_set(problem,
		    "no NAME and no COMMAND: dlock [OPTION]... NAME COMMAND [ARG]...");
		return false;
	}
	options->name = *rest++;
	if (rest[0] == NULL) {
		explain_no_command(options->name, problem);
		return false;
	}
	if (is_shell_option(rest[0]))
		return take_shell_command(options, rest + 1, problem);
	if (strcmp(rest[0], "--") == 0) {
		rest++;
		if (rest[0] == NULL) {
			problem_set(problem, "no COMMAND after NAME and --");
			return false;
		}
		if (is_shell_option(rest[0])) {
			problem_set(problem,
			    "'%s' after --: leave out the -- for a shell line, dlock NAME -c STRING "
			    "(a program called so: ./%s)",
			    rest[0], rest[0]);
			return false;
		}
	} else if (rest[0][0] == '-' && rest[0][1] != '\0') {
		advice_on_late_option(rest[0], true, problem);
		return false;
	}
	options->command = rest;
	return true;
}

/* Where no COMMAND may follow. */
static bool
check_no_late_option(char **rest, struct problem *problem)
{
	if (rest[0] == NULL || strcmp(rest[-1], "--") == 0)
		return true;
	for (char **word = rest + 1; *word != NULL; word++) {
		if ((*word)[0] == '-' && (*word)[1] != '\0') {
			advice_on_late_option(*word, false, problem);
			return false;
		}
	}
	return true;
}

bool
operands_take_names(struct options *options, char **rest, struct problem *problem)
{
	bool none = rest[0] == NULL, several = !none && rest[1] != NULL;
	options->names = rest;
	options->name = options->glob = rest[0];
	if (options->action != ACTION_HELD && !check_no_late_option(rest, problem))
		return false;
	switch (options->action) {
	case ACTION_HELD:
		problem_set(problem,
		    "--held takes one NAME at most, and no COMMAND: dlock --held [NAME]");
		return !several;
	case ACTION_LIST:
		problem_set(problem,
		    "--list takes one GLOB at most: quote it, dlock --list 'web-*'");
		return !several;
	case ACTION_STATUS:
		problem_set(problem, "--status needs a NAME: dlock --status NAME...");
		return !none;
	case ACTION_BREAK:
		problem_set(problem,
		    none ? "--break needs a NAME: dlock --break NAME"
			 : "--break takes one NAME, and no COMMAND: dlock --break NAME");
		return !none && !several;
	case ACTION_CHECK:
		problem_set(problem, "--check takes no NAME: dlock --check");
		return none;
	case ACTION_RUN:
		break;
	}
	return false;
}
