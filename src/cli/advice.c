/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "cli/advice.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "cli/options_parts.h"

#define NAME_BYTES                                                                                 \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"                                     \
	"0123456789-_"
#define SHOWN_MAX 40

/* Not options before NAME, and never will be. */
static const struct {
	char letter;
	const char *name;
	const char *advice;
} foreign[] = {
    {'u', "unlock",
	"-u is flock's: nobody has to unlock, dlock gives the lock back when COMMAND ends (and "
	"the server is named by -S)"},
    {'F', "no-fork", "-F is flock's: dlock must stay beside COMMAND to renew the lock"},
    {'c', "command", "-c comes after NAME: dlock [OPTION]... NAME -c STRING"},
};

#define AT_SERVER "the server, its port and the user are those of -S redis://user@host:6379"
#define AT_PASSWORD "the password is that of --password-file, --password-command or DLOCK_PASSWORD"

/* redis-cli(1)'s way to name a server. */
static const struct {
	char letter;
	const char *name;
	const char *advice;
} of_redis_cli[] = {
    {'p', "port", AT_SERVER},
    {0, "host", AT_SERVER},
    {0, "user", AT_SERVER},
    {'a', "pass", AT_PASSWORD},
    {0, "askpass", AT_PASSWORD},
};

/* Does `word` begin with just this name? */
static bool
is_name(const char *word, size_t length, const char *name)
{
	return length == strlen(name) && strncmp(word, name, length) == 0;
}

static bool
advise_on_foreign(const char *word, size_t length, char letter, struct problem *problem)
{
	for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
		if (letter ? letter == foreign[i].letter : is_name(word, length, foreign[i].name)) {
			problem_set(problem, "%s", foreign[i].advice);
			return true;
		}
	}
	return false;
}

static bool
advise_on_redis_cli(const char *word, size_t length, char letter, struct problem *problem)
{
	for (size_t i = 0; i < sizeof of_redis_cli / sizeof *of_redis_cli; i++) {
		const char *name = of_redis_cli[i].name;
		if (letter ? letter != of_redis_cli[i].letter : !is_name(word, length, name))
			continue;
		if (letter)
			problem_set(problem, "unknown option '-%c': %s", letter,
			    of_redis_cli[i].advice);
		else
			problem_set(problem, "unknown option '--%s': %s", name,
			    of_redis_cli[i].advice);
		return true;
	}
	return false;
}

/* The rows whose long names begin so, the names written to `list`; *row is the last of them. */
static int
find_abbreviated(const char *word, size_t length, const char *dashes, char *list, size_t size,
    size_t *row)
{
	size_t count, used = 0;
	const struct option_row *table = options_table(&count);
	int found = 0;
	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < OPTION_NAMES && table[i].names[k] != NULL; k++) {
			if (strncmp(table[i].names[k], word, length) != 0)
				continue;
			if (used < size)
				used += (size_t)snprintf(list + used, size - used, "%s%s%s",
				    used ? ", " : "", dashes, table[i].names[k]);
			*row = i;
			found++;
			break;
		}
	}
	return found;
}

static const char *
find_nearest(const char *word, size_t length, unsigned long without)
{
	char copy[SHOWN_MAX + 1];
	size_t count;
	const struct option_row *table = options_table(&count);
	struct nearest nearest = {.word = copy};
	if (length > SHOWN_MAX)
		return NULL;
	memcpy(copy, word, length);
	copy[length] = '\0';
	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < OPTION_NAMES && table[i].names[k] != NULL; k++) {
			if ((table[i].traits & without) == 0)
				nearest_offer(&nearest, table[i].names[k]);
		}
	}
	return nearest.name;
}

/* `word` is behind its dashes. */
static void
advise_on_long(const char *word, struct problem *problem)
{
	char list[256];
	size_t row = 0, count;
	const struct option_row *table = options_table(&count);
	size_t length = strspn(word, NAME_BYTES);
	int shown = (int)(length < SHOWN_MAX ? length : SHOWN_MAX);
	bool whole = word[length] == '\0' || word[length] == '=';

	int found =
	    whole && length > 0 ? find_abbreviated(word, length, "--", list, sizeof list, &row) : 0;
	int exact = options_find(word, length);
	if (exact >= 0) {
		row = (size_t)exact;
		found = 1;
	}
	if (found == 1 && word[length] == '=' && table[row].argument == NULL) {
		problem_set(problem, "--%s takes no value: leave out the = and what follows it",
		    table[row].names[0]);
		return;
	}
	if (found > 1) {
		problem_set(problem, "ambiguous option '--%.*s': one of %s?", shown, word, list);
		return;
	}
	const char *near = whole ? find_nearest(word, length, 0) : NULL;
	if (near != NULL)
		problem_set(problem, "unknown option '--%.*s': did you mean --%s?", shown, word,
		    near);
	else
		problem_set(problem, "unknown option '--%.*s' (dlock --help lists them)", shown,
		    word);
}

void
advice_on_option(const char *word, char letter, struct problem *problem)
{
	if (letter == 0)
		word += 2;
	size_t length = strspn(word, NAME_BYTES);
	if (advise_on_foreign(word, length, letter, problem) ||
	    advise_on_redis_cli(word, length, letter, problem))
		return;
	if (letter == 0)
		advise_on_long(word, problem);
	else
		problem_set(problem, "unknown option '-%c' (dlock --help lists them)", letter);
}

void
advice_on_missing_argument(const char *name, const char *argument, struct problem *problem)
{
	bool is_duration = strcmp(argument, "DUR") == 0;
	problem_set(problem, "%s needs an argument: %s%s", name, argument,
	    is_duration ? ", such as 30s" : "");
}

/* How it is written in a file, when the word is how it is written on the command line. */
static const char *
find_long_name(const char *word)
{
	size_t count;
	const struct option_row *table = options_table(&count);
	const char *bare = word + strspn(word, "-");
	int row = bare > word ? options_find(bare, strlen(bare)) : -1;
	for (size_t i = 0; i < count && row < 0; i++) {
		if (bare[0] != '\0' && bare[1] == '\0' && table[i].letter == bare[0])
			row = (int)i;
	}
	return row < 0 ? NULL : table[row].names[0];
}

void
advice_on_setting(const char *word, bool shown, struct problem *problem)
{
	size_t length = strlen(word);
	const char *name = find_long_name(word);
	if (name != NULL) {
		problem_set(problem, "an option stands here by its long name, without dashes: %s",
		    name);
		return;
	}
	if (strcmp(word, "command") == 0) {
		problem_set(problem, "command: it belongs on the command line, after NAME");
		return;
	}
	const char *near = find_nearest(word, length, OPTION_FOR_NOW);
	char list[256];
	size_t row;
	if (find_abbreviated(word, length, "", list, sizeof list, &row) > 0)
		near = list;
	if (near != NULL && shown)
		problem_set(problem, "unknown option '%s': did you mean %s?", word, near);
	else if (near != NULL)
		problem_set(problem, "unknown option: did you mean %s?", near);
	else if (shown)
		problem_set(problem, "unknown option '%s' (dlock --help lists them)", word);
	else
		problem_set(problem, "a line is: option = value, the option by its long name");
}

void
advice_on_late_option(const char *word, bool is_run, struct problem *problem)
{
	int length = (int)strspn(word, NAME_BYTES);
	int shown = length < SHOWN_MAX ? length : SHOWN_MAX;
	if (!is_run)
		problem_set(problem,
		    "'%.*s' after NAME: options go before it (after -- a NAME may begin with -)",
		    shown, word);
	else if (strncmp(word, "-c", 2) == 0 || strncmp(word, "--command", 9) == 0)
		problem_set(problem,
		    "-c takes its string as an argument of its own: dlock NAME -c STRING");
	else
		problem_set(problem,
		    "'%.*s' after NAME: options go before NAME (a COMMAND that begins with - goes "
		    "after --)",
		    shown, word);
}
