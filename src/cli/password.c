/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "cli/password.h"

#include <stdlib.h>
#include <string.h>

static const char own_variable[] = "DLOCK_PASSWORD";
static const char sentinel_variable[] = "DLOCK_SENTINEL_PASSWORD";
static const char *const variables[] = {own_variable, "REDISCLI_AUTH"};

static bool
has_url_password(const struct options *options)
{
	for (int i = 0; i < options->url_count; i++) {
		if (options_url((struct options *)options, i)->has_password)
			return true;
	}
	return false;
}

/* What the source says of itself: how many places, and the last of them. */
static int
count_places(const struct options *options, enum option_source source, enum password_from *from)
{
	int count = 0;
	if (has_url_password(options) && options_source(options, "server") == source) {
		*from = PASSWORD_IN_URL;
		count++;
	}
	if (options_source(options, "password-file") == source) {
		*from = PASSWORD_IN_FILE;
		count++;
	}
	if (options_source(options, "password-command") == source) {
		*from = PASSWORD_BY_COMMAND;
		count++;
	}
	return count;
}

/* *from: PASSWORD_NONE, or the one place that the source names. */
static bool
find_one(const struct options *options, enum option_source source, enum password_from *from,
    struct problem *problem)
{
	bool in_file = source == SOURCE_FILE;
	*from = PASSWORD_NONE;
	if (count_places(options, source, from) <= 1)
		return true;
	problem_set(problem,
	    "%.200s%smore than one password: of --password-file, --password-command and the "
	    "password in the server URL give one",
	    in_file ? options->config : "", in_file ? ": " : "");
	return false;
}

bool
password_check_line(const struct options *options, struct problem *problem)
{
	enum password_from unused;
	return find_one(options, SOURCE_LINE, &unused, problem);
}

/* An empty one is as good as unset. */
static bool
take_variable(struct options *options, struct problem *problem)
{
	for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
		const char *value = getenv(variables[i]);
		if (value == NULL || value[0] == '\0')
			continue;
		/* REDISCLI_AUTH is no password of PostgreSQL's. */
		if (options->url.scheme == URL_POSTGRES && variables[i] != own_variable)
			continue;
		if (strlen(value) > SECRET_MAX) {
			problem_set(problem, "%s in the environment: longer than %d bytes",
			    variables[i], SECRET_MAX);
			return false;
		}
		options->password_from = PASSWORD_IN_VARIABLE;
		options->password_variable = variables[i];
		break;
	}
	return true;
}

bool
password_choose(struct options *options, struct problem *problem)
{
	enum password_from *from = &options->password_from;
	if (!find_one(options, SOURCE_LINE, from, problem))
		return false;
	if (*from == PASSWORD_NONE && !find_one(options, SOURCE_ENVIRONMENT, from, problem))
		return false;
	if (*from == PASSWORD_NONE && !take_variable(options, problem))
		return false;
	return *from != PASSWORD_NONE || find_one(options, SOURCE_FILE, from, problem);
}

static void
wipe_variable(const char *name)
{
	char *value = getenv(name);
	if (value == NULL)
		return;
	explicit_bzero(value, strlen(value));
	unsetenv(name);
}

int
password_keep(struct password_place *place, struct options *options)
{
	int status = 0;
	for (int i = 0; i < options->url_count; i++) {
		struct url *url = options_url(options, i);
		struct kept_secret *kept = &place->kept[i];
		bool in_url = options->password_from == PASSWORD_IN_URL;
		place->sources[i] = NULL;
		if (in_url && url->has_password)
			status |= secret_keep(kept, url->password, NULL);
		else if (options->password_from == PASSWORD_IN_VARIABLE)
			status |= secret_keep(kept, getenv(options->password_variable),
			    options->password_variable);
		if (kept->text != NULL)
			place->sources[i] = &kept->source;
		explicit_bzero(url->password, sizeof url->password);
	}
	wipe_variable(own_variable);
	return status;
}

int
password_open(struct password_place *place, struct options *options, struct loop *loop,
    struct signals *signals)
{
	bool in_file = options->password_from == PASSWORD_IN_FILE;
	if (password_keep(place, options) != 0)
		return -1;
	if (!in_file && options->password_from != PASSWORD_BY_COMMAND)
		return 0;
	if (password_init(&place->asked, loop, signals, in_file ? options->password_file : NULL,
		in_file ? NULL : options->password_command) != 0)
		return -1;
	if (options->url_count == 1) {
		place->sources[0] = &place->asked.source;
		return 0;
	}
	secret_share_init(&place->share, &place->asked.source, options->url_count);
	for (int i = 0; i < options->url_count; i++)
		place->sources[i] = &place->share.fronts[i].source;
	return 0;
}

bool
password_check_sentinel(const struct options *options, struct problem *problem)
{
	const char *value = getenv(sentinel_variable);
	bool given =
	    options->url.has_sentinel_password || options->url.sentinel_password_file[0] != '\0';
	if (given || value == NULL || strlen(value) <= SECRET_MAX)
		return true;
	problem_set(problem, "%s in the environment: longer than %d bytes", sentinel_variable,
	    SECRET_MAX);
	return false;
}

int
password_open_sentinel(struct password_place *place, struct options *options, struct loop *loop,
    struct signals *signals, struct secret_source **source)
{
	struct url *url = &options->url;
	const char *value = getenv(sentinel_variable);
	int status = 0;
	*source = NULL;
	if (url->scheme == URL_SENTINEL && url->sentinel_password_file[0] != '\0') {
		*source = &place->asked.source;
		status =
		    password_init(&place->asked, loop, signals, url->sentinel_password_file, NULL);
	} else if (url->scheme == URL_SENTINEL && url->has_sentinel_password) {
		*source = &place->kept[0].source;
		status = secret_keep(&place->kept[0], url->sentinel_password, NULL);
	} else if (url->scheme == URL_SENTINEL && value != NULL && value[0] != '\0') {
		*source = &place->kept[0].source;
		status = secret_keep(&place->kept[0], value, sentinel_variable);
	}
	explicit_bzero(url->sentinel_password, sizeof url->sentinel_password);
	wipe_variable(sentinel_variable);
	return status;
}
