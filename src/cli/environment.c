/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include <stdlib.h>
#include <string.h>

#include "cli/options_parts.h"
#include "cli/setters.h"

static bool
parse_variable(struct options *options, size_t row, const char *name, struct problem *problem)
{
	const char *value = getenv(name);
	struct problem why;
	if (value == NULL || options_are_settled(options, row))
		return true;
	/* An empty prefix means something; elsewhere empty is as good as unset. */
	if (value[0] == '\0' && strcmp(name, "DLOCK_PREFIX") != 0)
		return true;
	if (!options_set(options, row, value, &why)) {
		problem_set(problem, "%s in the environment: %s", name, why.text);
		return false;
	}
	options->source[row] = SOURCE_ENVIRONMENT;
	return true;
}

/* Shared with other programs: their keys in its query are not ours to judge. */
static bool
parse_redis_url(struct options *options, size_t row, struct problem *problem)
{
	const char *value = getenv("REDIS_URL");
	struct problem why;
	if (value == NULL || value[0] == '\0' || options_are_settled(options, row))
		return true;
	if (!options_add_servers(options, value, URL_IGNORE_UNKNOWN_KEYS, &why)) {
		problem_set(problem, "REDIS_URL in the environment: %s", why.text);
		return false;
	}
	options->source[row] = SOURCE_ENVIRONMENT;
	return true;
}

bool
environment_parse(struct options *options, struct problem *problem)
{
	size_t count;
	const struct option_row *table = options_table(&count);
	for (size_t i = 0; i < count; i++) {
		if (options->action == ACTION_HELD && (table[i].traits & OPTION_NAMES_LOCK) == 0)
			continue;
		for (size_t k = 0; k < 2 && table[i].environment[k] != NULL; k++) {
			if (!parse_variable(options, i, table[i].environment[k], problem))
				return false;
		}
		if (table[i].letter == 'S' && !parse_redis_url(options, i, problem))
			return false;
	}
	return true;
}
