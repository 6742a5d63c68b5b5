/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* The config file on its way into the options: which one, what may be read, and what a line of it
 * sets. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/advice.h"
#include "cli/config.h"
#include "cli/options_parts.h"

#define FILE_MAX_BYTES 65536
#define DEFAULT_FILE DLOCK_SYSCONFDIR "/dlock.conf"

/* Options point into it. */
struct kept_text {
	struct kept_text *next;
	char text[];
};

struct reading {
	struct options *options;
	int line_of[OPTIONS_MAX]; /* that named the row, 0: none yet */
	bool sets[OPTIONS_MAX];   /* and gave it a value: "no" does not */
};

static char *
keep(struct options *options, const char *text)
{
	size_t size = strlen(text) + 1;
	struct kept_text *kept = malloc(sizeof *kept + size);
	if (kept == NULL)
		return NULL;
	memcpy(kept->text, text, size);
	kept->next = options->kept;
	options->kept = kept;
	return kept->text;
}

/* A word that looks like a name may be shown; another may be a password, of a file that was taken
 * for a config file. */
static bool
looks_like_a_name(const struct config_setting *setting)
{
	const char *word = setting->option;
	return setting->value != NULL && strlen(word) <= 40 &&
	    word[strspn(word, "abcdefghijklmnopqrstuvwxyz-_")] == '\0';
}

/* yes, no, or nothing but the option. */
static bool
parse_switch(const char *value, bool *on, struct problem *problem)
{
	*on = value == NULL || strcmp(value, "yes") == 0;
	if (*on || strcmp(value, "no") == 0)
		return true;
	problem_set(problem, "neither 'yes' nor 'no'");
	return false;
}

/* Twice in one file is a slip: which of the two was meant? */
static bool
check_once(const struct reading *reading, size_t row, struct problem *problem)
{
	size_t count;
	const struct option_row *table = options_table(&count);
	unsigned long same = table[row].traits & OPTION_GROUPS;
	if (reading->line_of[row] != 0) {
		problem_set(problem, "line %d has set it already%s", reading->line_of[row],
		    table[row].letter == 'S'
			? ": several servers stand in one line, with blanks between"
			: "");
		return false;
	}
	for (size_t i = 0; i < count; i++) {
		if (reading->sets[i] && (table[i].traits & same) != 0) {
			problem_set(problem, "%s in line %d sets the same", table[i].names[0],
			    reading->line_of[i]);
			return false;
		}
	}
	return true;
}

/* A value that counts for nothing is looked at all the same. */
static bool
apply(struct options *options, size_t row, const char *value, struct problem *problem)
{
	size_t count;
	const struct option_row *table = options_table(&count);
	if (options_are_settled(options, row)) {
		static struct options unused;
		options_set_defaults(&unused);
		bool good = options_set(&unused, row, value, problem);
		options_set_defaults(&unused);
		return good;
	}
	char *kept = value ? keep(options, value) : NULL;
	if (value != NULL && kept == NULL) {
		problem_set_errno(problem, NULL, ENOMEM);
		return false;
	}
	bool good = options_set(options, row, kept, problem);
	if (table[row].letter == 'S')
		options_scrub(kept); /* taken apart, it is kept elsewhere */
	if (!good)
		return false;
	options->source[row] = SOURCE_FILE;
	return true;
}

static bool
set_row(struct reading *reading, size_t row, const struct config_setting *setting,
    struct problem *problem)
{
	size_t count;
	const struct option_row *table = options_table(&count);
	const char *value = setting->value;
	if ((table[row].traits & OPTION_FOR_NOW) != 0) {
		problem_set(problem, "it belongs on the command line, not in a config file");
		return false;
	}
	if (table[row].argument == NULL) {
		if (!parse_switch(value, &reading->sets[row], problem))
			return false;
		value = NULL;
	} else if (value == NULL) {
		problem_set(problem, "it needs a value: %s = %s", setting->option,
		    table[row].argument);
		return false;
	} else {
		reading->sets[row] = true;
	}
	reading->line_of[row] = setting->line;
	return !reading->sets[row] || apply(reading->options, row, value, problem);
}

static bool
take_setting(void *context, const struct config_setting *setting, struct problem *problem)
{
	struct reading *reading = context;
	struct problem why;
	size_t count;
	int row = options_find(setting->option, strlen(setting->option));
	if (reading->options->action == ACTION_HELD &&
	    (row < 0 || (options_table(&count)[row].traits & OPTION_NAMES_LOCK) == 0))
		return true;
	if (row < 0) {
		advice_on_setting(setting->option, looks_like_a_name(setting), problem);
		return false;
	}
	if (check_once(reading, (size_t)row, &why) && set_row(reading, (size_t)row, setting, &why))
		return true;
	problem_set(problem, "%s: %s", setting->option, why.text);
	return false;
}

/* Opened so that nothing blocks: a FIFO waits for a writer. Bytes read, or -1; *missing: there is
 * no such file. */
static ssize_t
read_file(const char *path, char *text, size_t size, bool *missing, struct problem *problem)
{
	struct stat status;
	size_t length = 0;
	ssize_t count = -1;
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	*missing = fd < 0 && (errno == ENOENT || errno == ENOTDIR);
	if (fd < 0 || fstat(fd, &status) != 0) {
		problem_set_errno(problem, NULL, errno);
		goto out;
	}
	/* /dev/null is how one asks for no file at all. */
	if (!S_ISREG(status.st_mode) && !S_ISCHR(status.st_mode)) {
		problem_set(problem, "%s, not a file",
		    S_ISDIR(status.st_mode)        ? "a directory"
			: S_ISFIFO(status.st_mode) ? "a pipe"
						   : "a device");
		goto out;
	}
	while (length < size && (count = read(fd, text + length, size - length)) > 0)
		length += (size_t)count;
	if (count < 0)
		problem_set_errno(problem, NULL, errno);
	else if (length == size) {
		problem_set(problem, "more than %d bytes: not a config file", FILE_MAX_BYTES);
		count = -1;
	}
out:
	if (fd >= 0)
		close(fd);
	return count < 0 ? -1 : (ssize_t)length;
}

bool
config_file_parse(struct options *options, struct problem *problem)
{
	static char text[FILE_MAX_BYTES + 1];
	struct reading reading = {.options = options};
	struct problem why;
	bool missing;
	int line;
	const char *path = options->config ? options->config : DEFAULT_FILE;
	ssize_t length = read_file(path, text, sizeof text, &missing, &why);
	if (length < 0) {
		/* Nobody has to have one. */
		if (missing && options->config == NULL)
			return true;
		bool by_variable = options_source(options, "config") == SOURCE_ENVIRONMENT;
		problem_set(problem, "cannot read the config file '%.200s'%s: %s", path,
		    by_variable ? " (DLOCK_CONFIG)" : "", why.text);
		problem->is_system = why.is_system;
		return false;
	}
	options->config = length > 0 ? path : NULL; /* an empty one changes nothing */
	bool good = config_parse(text, (size_t)length, take_setting, &reading, &line, &why);
	explicit_bzero(text, (size_t)length);
	if (good)
		return true;
	problem_set(problem, "%.200s:%d: %s", path, line, why.text);
	problem->is_system = why.is_system;
	return false;
}
