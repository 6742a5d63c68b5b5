/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "cli/options.h"

#include <getopt.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options_parts.h"
#include "cli/password.h"
#include "exits.h"
#include "store/redis.h"

void
options_set_defaults(struct options *options)
{
	/* Neither the other servers' URLs nor the places of one that has several: url_parse writes
	 * those before anybody reads them. */
	memset(options, 0, offsetof(struct options, url.places));
	options->wait_ns = WAIT_FOR_EVER;
	options->conflict_status = EXIT_CONFLICT;
	options->mode = MODE_EXCLUSIVE;
	options->max_waiters = -1;
	options->ttl_ns = 30 * NS_PER_S;
	options->first_signal = SIGTERM;
	options->on_lost = ON_LOST_KILL;
	options->prefix = "lock:";
	options->fence_mode = FENCE_CLOCK;
	options->label = "";
}

/* Was there anything to be overwritten? */
static bool
scrub(char *text)
{
	size_t length;
	char *password = url_find_password(text, &length);
	bool found = password != NULL;
	if (found)
		memset(password, '*', length);
	url_scrub_postgres(text);
	password = url_find_sentinel_password(text, &length);
	if (password != NULL)
		memset(password, '*', length);
	return found || password != NULL;
}

void
options_scrub(char *text)
{
	if (text != NULL)
		scrub(text);
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

int
options_find(const char *name, size_t length)
{
	size_t count;
	const struct option_row *table = options_table(&count);
	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < OPTION_NAMES && table[i].names[k] != NULL; k++) {
			if (strlen(table[i].names[k]) == length &&
			    strncmp(table[i].names[k], name, length) == 0)
				return (int)i;
		}
	}
	return -1;
}

bool
options_set(struct options *options, size_t row, const char *value, struct problem *problem)
{
	static struct options unused;
	size_t count;
	const struct option_row *table = options_table(&count);
	char *copy;
	if (table[row].set(options, value, problem))
		return true;
	if (table[row].letter == 'S')
		return false; /* url_parse quotes nothing */
	/* Other sentences quote values, and a URL may have been given to --wait. */
	copy = value ? strdup(value) : NULL;
	if (copy != NULL && scrub(copy)) {
		options_set_defaults(&unused);
		if (table[row].set(&unused, copy, problem))
			problem_set(problem, "a bad value"); /* it was the password */
	}
	free(copy);
	return false;
}

const char *
options_print(char *out, size_t size, const struct option_row *row)
{
	if (row->names[0] != NULL)
		snprintf(out, size, "--%s", row->names[0]);
	else
		snprintf(out, size, "-%c", row->letter);
	return out;
}

enum option_source
options_source(const struct options *options, const char *name)
{
	int row = options_find(name, strlen(name));
	return row < 0 ? SOURCE_DEFAULT : options->source[row];
}

enum option_source
options_blamed(const struct options *options, const char *one, const char *other)
{
	enum option_source first = options_source(options, one);
	enum option_source second = options_source(options, other);
	return first > second ? first : second;
}

bool
options_blame(const struct options *options, enum option_source blamed, struct problem *problem)
{
	struct problem bare = *problem;
	if (blamed == SOURCE_FILE && options->config != NULL)
		problem_set(problem, "%.200s: %s", options->config, bare.text);
	problem->is_system = bare.is_system;
	return blamed == SOURCE_FILE || blamed == SOURCE_ENVIRONMENT;
}

/* What follows from others where it was not given. */
static void
settle_the_rest(struct options *options)
{
	enum option_source by_option = options_source(options, "connect-timeout");
	enum option_source by_url = options_source(options, "server");
	if (options->max_waiters == 0)
		options->wait_ns = 0;
	if (!options->has_grace)
		options->grace_ns = lease_default_grace(options->ttl_ns);
	/* In the URL it is as strong as the URL; of two that are equal the option wins. */
	int64_t in_url_ns = 0;
	for (int i = 0; i < options->url_count; i++) {
		if (options_url(options, i)->connect_timeout_ns > in_url_ns)
			in_url_ns = options_url(options, i)->connect_timeout_ns;
	}
	if (in_url_ns > 0 && by_url > by_option)
		options->connect_timeout_ns = in_url_ns;
	else if (!options->has_connect_timeout)
		options->connect_timeout_ns = lease_default_connect_limit(options->ttl_ns);
}

/* How many replicas are alive only sentinels say. */
static bool
settle_replicas(struct options *options, enum option_source *blamed, struct problem *problem)
{
	bool given = options_source(options, "wait-replicas") != SOURCE_DEFAULT;
	bool has_sentinels = options->url.scheme == URL_SENTINEL;
	if (!given)
		options->wait_replicas = has_sentinels ? WAIT_REPLICAS_AUTO : 0;
	if (has_sentinels || options->wait_replicas != WAIT_REPLICAS_AUTO)
		return true;
	/* In a config file for the servers that have sentinels. */
	if (options_source(options, "wait-replicas") < options_source(options, "server")) {
		options->wait_replicas = 0;
		return true;
	}
	*blamed = options_source(options, "wait-replicas");
	problem_set(problem,
	    "--wait-replicas auto is for redis+sentinel://, where somebody knows how many there are: give a number");
	return false;
}

/* --held [NAME]: of all settings it needs those that make a key of NAME, and looks at no others. */
static enum options_result
parse_held(struct options *options, struct problem *problem)
{
	if (options->name != NULL &&
	    (!environment_parse(options, problem) || !config_file_parse(options, problem)))
		return OPTIONS_CONFIG_ERROR;
	return OPTIONS_HELD;
}

static enum options_result
result_of(enum option_action action)
{
	switch (action) {
	case ACTION_RUN:
		return OPTIONS_RUN;
	case ACTION_HELD:
		return OPTIONS_HELD;
	case ACTION_STATUS:
		return OPTIONS_STATUS;
	case ACTION_LIST:
		return OPTIONS_LIST;
	case ACTION_BREAK:
		return OPTIONS_BREAK;
	case ACTION_CHECK:
		return OPTIONS_CHECK;
	}
	return OPTIONS_USAGE_ERROR;
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
	bool is_run = options->action == ACTION_RUN;
	char **rest = argv + optind;
	if (!actions_check_line(options, problem) ||
	    !(is_run ? operands_take : operands_take_names)(options, rest, problem))
		return OPTIONS_USAGE_ERROR;
	if (options->action == ACTION_HELD)
		return parse_held(options, problem);
	if (!password_check_line(options, problem))
		return OPTIONS_USAGE_ERROR;
	if (!environment_parse(options, problem) || !config_file_parse(options, problem) ||
	    !password_choose(options, problem) || !password_check_sentinel(options, problem))
		return OPTIONS_CONFIG_ERROR;
	if (!options->has_server) {
		problem_set(problem,
		    "no server named: give -S redis://localhost:6379, or set DLOCK_SERVER or REDIS_URL, "
		    "or write server = URL into the config file");
		return OPTIONS_CONFIG_ERROR;
	}
	settle_the_rest(options);
	/* Of TLS libpq is told in its own words. */
	bool is_postgres = options->url.scheme == URL_POSTGRES;
	enum option_source blamed = SOURCE_DEFAULT;
	if (!options_settle_servers(options, &blamed, problem) ||
	    (!is_postgres && !tls_settle(options, &blamed, problem)) ||
	    !settle_replicas(options, &blamed, problem))
		return options_blame(options, blamed, problem) ? OPTIONS_CONFIG_ERROR
							       : OPTIONS_USAGE_ERROR;
	return result_of(options->action);
}
