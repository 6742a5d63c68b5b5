/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* The options that say where the lock lives and how to get there. */
#include <string.h>

#include "base/keys.h"
#include "base/values.h"
#include "cli/options_parts.h"
#include "cli/setters.h"
#include "store/redis.h"

#define REPLICAS_MOST 1000

bool
set_server(struct options *options, const char *value, struct problem *problem)
{
	return options_add_servers(options, value, URL_REFUSE_UNKNOWN_KEYS, problem);
}

bool
set_quarantine(struct options *options, const char *value, struct problem *problem)
{
	options->has_quarantine = true;
	return value_parse_duration(value, &options->quarantine_ns, problem);
}

bool
set_prefix(struct options *options, const char *value, struct problem *problem)
{
	if (strlen(value) > PREFIX_MAX_BYTES) {
		problem_set(problem, "a prefix has at most %d bytes, not %zu", PREFIX_MAX_BYTES,
		    strlen(value));
		return false;
	}
	options->prefix = value; /* keys_make sees to braces */
	return true;
}

bool
set_password_file(struct options *options, const char *value, struct problem *problem)
{
	if (value[0] == '\0') {
		problem_set(problem, "no file named");
		return false;
	}
	/* It would be there for one login, and cost the lock at the next. */
	if (strncmp(value, "/dev/fd/", 8) == 0 || strncmp(value, "/proc/self/fd/", 14) == 0 ||
	    strcmp(value, "/dev/stdin") == 0) {
		problem_set(problem,
		    "'%.40s' cannot be read again at the next login: write --password-command "
		    "'...' instead of <(...)",
		    value);
		return false;
	}
	options->password_file = value;
	return true;
}

bool
set_password_command(struct options *options, const char *value, struct problem *problem)
{
	if (value[strspn(value, " \t\n")] == '\0') {
		problem_set(problem, "no command named");
		return false;
	}
	options->password_command = value;
	return true;
}

bool
set_wait_replicas(struct options *options, const char *value, struct problem *problem)
{
	struct problem unused;
	if (strcmp(value, "auto") == 0) {
		options->wait_replicas = WAIT_REPLICAS_AUTO;
		return true;
	}
	if (value_parse_count(value, 0, REPLICAS_MOST, &options->wait_replicas, &unused))
		return true;
	problem_set(problem, "not a number of replicas: '%.40s' (0 to %d, or auto)", value,
	    REPLICAS_MOST);
	return false;
}

bool
set_connect_timeout(struct options *options, const char *value, struct problem *problem)
{
	options->has_connect_timeout = true;
	return value_parse_timeout(value, &options->connect_timeout_ns, problem);
}

bool
set_config(struct options *options, const char *value, struct problem *problem)
{
	if (value[0] == '\0') {
		problem_set(problem, "no file named (for no config file at all: /dev/null)");
		return false;
	}
	options->config = value;
	return true;
}
