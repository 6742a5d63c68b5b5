/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "cli/options.h"

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exits.h"

/* Values of getopt_long for long options: above every letter. */
#define LONG_BASE 256
#define MAX_LONG 64
#define MAX_LETTERS 128

static void
set_defaults(struct options *options)
{
	*options = (struct options){
	    .wait_ns = WAIT_FOR_EVER,
	    .conflict_status = EXIT_CONFLICT,
	    .ttl_ns = 30 * NS_PER_S,
	    .first_signal = SIGTERM,
	    .on_lost = ON_LOST_KILL,
	    .prefix = "lock:",
	    .fence_mode = FENCE_CLOCK,
	    .label = "",
	};
}

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
		for (size_t k = 0; k < 4 && table[i].names[k] != NULL; k++)
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

/* "-w" or "--wait", as the user wrote it or nearly so. */
static void
print_option(char *out, size_t size, const struct option_row *row)
{
	if (row->names[0] != NULL)
		snprintf(out, size, "--%s", row->names[0]);
	else
		snprintf(out, size, "-%c", row->letter);
}

static void
explain_unknown(const char *word, struct problem *problem)
{
	char letter = word[1] != '-' && optopt != 0 ? (char)optopt : 0;
	if (letter == 'u' || strcmp(word, "--unlock") == 0)
		problem_set(problem, "-u is flock's: dlock gives the lock back when COMMAND ends");
	else if (letter == 'F' || strcmp(word, "--no-fork") == 0)
		problem_set(problem,
		    "-F is flock's: dlock stays, because somebody must renew the lock");
	else if (letter == 'c' || strcmp(word, "--command") == 0)
		problem_set(problem, "-c comes after NAME: dlock [OPTION]... NAME -c STRING");
	else if (letter != 0)
		problem_set(problem, "unknown option '-%c' (dlock --help lists them)", letter);
	else
		problem_set(problem, "unknown or ambiguous option '%.*s' (dlock --help lists them)",
		    (int)strcspn(word, "="), word); /* what follows may be a secret */
}

static bool
parse_command_line(struct options *options, int argc, char **argv, struct problem *problem)
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
			explain_unknown(argv[at], problem);
			return false;
		}
		int row = find_row(value == ':' ? optopt : value);
		if (row < 0)
			return false;
		print_option(name, sizeof name, &table[row]);
		if (value == ':') {
			problem_set(problem, "%s needs an argument: %s", name, table[row].argument);
			return false;
		}
		struct problem why;
		bool good = table[row].set(options, optarg, &why);
		if (table[row].letter == 'S') {
			/* ps shows arguments to everybody. */
			size_t length;
			char *password = url_find_password(optarg, &length);
			if (password != NULL)
				memset(password, '*', length);
		}
		if (!good) {
			problem_set(problem, "%s: %s", name, why.text);
			return false;
		}
		options->given |= UINT64_C(1) << row;
	}
}

static bool
parse_environment(struct options *options, struct problem *problem)
{
	size_t count;
	const struct option_row *table = options_table(&count);
	struct problem why;
	for (size_t i = 0; i < count; i++) {
		const char *name = table[i].environment[0];
		const char *value = name ? getenv(name) : NULL;
		if (value == NULL || (options->given >> i & 1) != 0)
			continue;
		/* An empty prefix means something; elsewhere empty is as good as unset. */
		if (value[0] == '\0' && strcmp(name, "DLOCK_PREFIX") != 0)
			continue;
		if (!table[i].set(options, value, &why)) {
			problem_set(problem, "%s in the environment: %s", name, why.text);
			return false;
		}
	}
	const char *redis_url = getenv("REDIS_URL");
	if (!options->has_server && redis_url != NULL && redis_url[0] != '\0') {
		/* Shared with other programs: their keys in its query are not ours to judge. */
		options->has_server = true;
		if (!url_parse(&options->url, redis_url, URL_IGNORE_UNKNOWN_KEYS, &why)) {
			problem_set(problem, "REDIS_URL in the environment: %s", why.text);
			return false;
		}
	}
	return true;
}

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

/* NAME COMMAND [ARG]..., NAME -- COMMAND..., NAME -c STRING. */
static bool
take_operands(struct options *options, char **rest, struct problem *problem)
{
	if (rest[0] == NULL) {
		problem_set(problem,
		    "no NAME and no COMMAND: dlock [OPTION]... NAME COMMAND [ARG]...");
		return false;
	}
	options->name = *rest++;
	if (rest[0] == NULL) {
		bool number = options->name[strspn(options->name, "0123456789")] == '\0';
		problem_set(problem,
		    number && options->name[0] != '\0'
			? "no COMMAND after NAME '%s' (a descriptor cannot be locked: the lock is "
			  "on a server)"
			: "no COMMAND after NAME '%s': dlock [OPTION]... NAME COMMAND [ARG]...",
		    options->name);
		return false;
	}
	if (strcmp(rest[0], "-c") == 0 || strcmp(rest[0], "--command") == 0)
		return take_shell_command(options, rest + 1, problem);
	if (strcmp(rest[0], "--") == 0)
		rest++;
	if (rest[0] == NULL) {
		problem_set(problem, "no COMMAND after NAME '%s' and --", options->name);
		return false;
	}
	options->command = rest;
	return true;
}

enum options_result
options_parse(struct options *options, int argc, char **argv, struct problem *problem)
{
	set_defaults(options);
	if (!parse_command_line(options, argc, argv, problem))
		return OPTIONS_USAGE_ERROR;
	if (options->wants_help)
		return OPTIONS_HELP;
	if (options->wants_version)
		return OPTIONS_VERSION;
	if (!take_operands(options, argv + optind, problem))
		return OPTIONS_USAGE_ERROR;
	if (!parse_environment(options, problem))
		return OPTIONS_CONFIG_ERROR;
	if (!options->has_server) {
		problem_set(problem,
		    "no server named: give -S redis://host, or set DLOCK_SERVER or REDIS_URL");
		return OPTIONS_CONFIG_ERROR;
	}
	if (!options->has_grace)
		options->grace_ns = lease_default_grace(options->ttl_ns);
	if (!options->has_connect_timeout && options->url.connect_timeout_ns > 0)
		options->connect_timeout_ns = options->url.connect_timeout_ns;
	else if (!options->has_connect_timeout)
		options->connect_timeout_ns = lease_default_connect_limit(options->ttl_ns);
	return OPTIONS_RUN;
}
