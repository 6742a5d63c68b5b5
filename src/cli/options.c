/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "cli/options.h"

#include <getopt.h>
#include <signal.h>
#include <string.h>

#include "cli/options_parts.h"
#include "exits.h"

void
options_set_defaults(struct options *options)
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

bool
options_are_settled(const struct options *options, size_t row)
{
	size_t count;
	const struct option_row *table = options_table(&count);
	unsigned long same = table[row].traits & OPTION_GROUPS;
	for (size_t i = 0; i < count; i++) {
		if (options->source[i] != SOURCE_DEFAULT &&
		    (i == row || (table[i].traits & same) != 0))
			return true;
	}
	return false;
}

enum option_source
options_source(const struct options *options, const char *name)
{
	size_t count;
	const struct option_row *table = options_table(&count);
	for (size_t i = 0; i < count; i++) {
		if (table[i].names[0] != NULL && strcmp(table[i].names[0], name) == 0)
			return options->source[i];
	}
	return SOURCE_DEFAULT;
}

/* What follows from others where it was not given. */
static void
settle_the_rest(struct options *options)
{
	enum option_source by_option = options_source(options, "connect-timeout");
	enum option_source by_url = options_source(options, "server");
	if (!options->has_grace)
		options->grace_ns = lease_default_grace(options->ttl_ns);
	/* In the URL it is as strong as the URL; of two that are equal the option wins. */
	if (options->url.connect_timeout_ns > 0 && by_url > by_option)
		options->connect_timeout_ns = options->url.connect_timeout_ns;
	else if (!options->has_connect_timeout)
		options->connect_timeout_ns = lease_default_connect_limit(options->ttl_ns);
}

enum options_result
options_parse(struct options *options, int argc, char **argv, struct problem *problem)
{
	options_set_defaults(options);
	if (!command_line_parse(options, argc, argv, problem))
		return OPTIONS_USAGE_ERROR;
	if (options->wants_help)
		return OPTIONS_HELP;
	if (options->wants_version)
		return OPTIONS_VERSION;
	if (!operands_take(options, argv + optind, problem))
		return OPTIONS_USAGE_ERROR;
	if (!environment_parse(options, problem) || !config_file_parse(options, problem))
		return OPTIONS_CONFIG_ERROR;
	if (!options->has_server) {
		problem_set(problem,
		    "no server named: give -S redis://host, or set DLOCK_SERVER or REDIS_URL");
		return OPTIONS_CONFIG_ERROR;
	}
	settle_the_rest(options);
	return OPTIONS_RUN;
}
