/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* cli/password: which of several passwords is the one, and what becomes of the others. */
#include "cli/password.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tap.h"

#define WORDS 16

static struct options options;
static struct problem problem;
static char config[64];

/* The arguments before "job true", cut at blanks. */
static enum options_result
parse(const char *line)
{
	static char words[WORDS][128];
	static char *argv[WORDS + 3];
	static char job[] = "job", command[] = "true";
	int argc = 0;
	strcpy(words[argc], "dlock");
	argv[argc] = words[argc];
	for (argc = 1; *line != '\0' && argc < WORDS; argc++) {
		size_t length = strcspn(line, " ");
		snprintf(words[argc], sizeof words[argc], "%.*s", (int)length, line);
		if (strcmp(words[argc], "''") == 0)
			words[argc][0] = '\0';
		argv[argc] = words[argc];
		line += length + (line[length] == ' ');
	}
	argv[argc++] = job;
	argv[argc++] = command;
	argv[argc] = NULL;
	optind = 0; /* begins anew (glibc), with the order that options_parse wants */
	(void)getopt(1, argv, "+");
	problem.text[0] = '\0';
	/* Not freed, because a run is one process; remembered here, so that it is no leak. */
	static struct {
		const struct kept_text *kept;
	} texts[64];
	static size_t count;
	enum options_result result = options_parse(&options, argc, argv, &problem);
	if (CHECK(count < COUNT_OF(texts)))
		texts[count++].kept = options.kept;
	return result;
}

static void
set_scene(const char *server, const char *own, const char *cli, const char *file)
{
	static const char *const names[] = {"DLOCK_SERVER", "DLOCK_PASSWORD", "REDISCLI_AUTH"};
	const char *values[] = {server, own, cli};
	unsetenv("REDIS_URL");
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		if (values[i] != NULL)
			setenv(names[i], values[i], 1);
		else
			unsetenv(names[i]);
	}
	FILE *out = fopen(config, "w");
	CHECK(out != NULL && fputs(file ? file : "", out) >= 0 && fclose(out) == 0);
	setenv("DLOCK_CONFIG", config, 1);
}

static void
test_order(void)
{
	static const struct {
		const char *line, *server, *own, *cli, *file;
		enum password_from from;
		const char *what;
	} rows[] = {
	    {"", "redis://h", NULL, NULL, NULL, PASSWORD_NONE, NULL},
	    {"", "redis://h", "own", NULL, NULL, PASSWORD_IN_VARIABLE, "DLOCK_PASSWORD"},
	    {"", "redis://h", NULL, "cli", NULL, PASSWORD_IN_VARIABLE, "REDISCLI_AUTH"},
	    {"", "redis://h", "own", "cli", NULL, PASSWORD_IN_VARIABLE, "DLOCK_PASSWORD"},
	    {"", "redis://h", "", "cli", NULL, PASSWORD_IN_VARIABLE, "REDISCLI_AUTH"},
	    {"", "redis://h", "", "", NULL, PASSWORD_NONE, NULL},
	    {"", "redis://:hush@h", "own", "cli", "password-file = f\n", PASSWORD_IN_URL, "hush"},
	    {"", "redis://ann:@h", "own", NULL, NULL, PASSWORD_IN_URL, ""},
	    {"", "redis://ann@h", "own", NULL, NULL, PASSWORD_IN_VARIABLE, "DLOCK_PASSWORD"},
	    {"", "redis://h", NULL, NULL, "password-file = f\n", PASSWORD_IN_FILE, "f"},
	    {"", "redis://h", NULL, NULL, "password-command = echo hush\n", PASSWORD_BY_COMMAND,
		"echo hush"},
	    {"", "redis://h", NULL, "cli", "password-file = f\n", PASSWORD_IN_VARIABLE,
		"REDISCLI_AUTH"},
	    {"", NULL, NULL, NULL, "server = redis://:hush@h\n", PASSWORD_IN_URL, "hush"},
	    {"", NULL, "own", NULL, "server = redis://:hush@h\n", PASSWORD_IN_VARIABLE,
		"DLOCK_PASSWORD"},
	    {"-S redis://:line@h", "redis://:hush@h", "own", "cli", "password-file = f\n",
		PASSWORD_IN_URL, "line"},
	    {"-S redis://h", "redis://:hush@other", "own", NULL, NULL, PASSWORD_IN_VARIABLE,
		"DLOCK_PASSWORD"},
	    {"-S redis://h", "redis://:hush@other", NULL, NULL, NULL, PASSWORD_NONE, NULL},
	    {"--password-file l", "redis://:hush@h", "own", "cli", "password-file = f\n",
		PASSWORD_IN_FILE, "l"},
	    {"--password-command date", "redis://:hush@h", "own", "cli", "password-file = f\n",
		PASSWORD_BY_COMMAND, "date"},
	    {"--password-file l -S redis://ann@h", NULL, "own", NULL, "password-command = date\n",
		PASSWORD_IN_FILE, "l"},
	    {"--password-file k --password-file l", "redis://h", NULL, NULL, NULL, PASSWORD_IN_FILE,
		"l"},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		tap_case("P97: the password is taken from the right place: row %zu", i);
		set_scene(rows[i].server, rows[i].own, rows[i].cli, rows[i].file);
		if (!CHECK_INT(parse(rows[i].line), OPTIONS_RUN))
			CHECK_TEXT(problem.text, "");
		CHECK_INT(options.password_from, rows[i].from);
		switch (options.password_from) {
		case PASSWORD_NONE:
			break;
		case PASSWORD_IN_URL:
			CHECK_TEXT(options.url.password, rows[i].what);
			break;
		case PASSWORD_IN_VARIABLE:
			CHECK_TEXT(options.password_variable, rows[i].what);
			break;
		case PASSWORD_IN_FILE:
			CHECK_TEXT(options.password_file, rows[i].what);
			break;
		case PASSWORD_BY_COMMAND:
			CHECK_TEXT(options.password_command, rows[i].what);
			break;
		}
	}
	tap_case("REDIS_URL's password is one of the environment, too");
	set_scene(NULL, "own", NULL, NULL);
	setenv("REDIS_URL", "redis://:hush@h", 1);
	CHECK_INT(parse(""), OPTIONS_RUN);
	CHECK_INT(options.password_from, PASSWORD_IN_URL);
}

static void
test_conflicts(void)
{
	static const struct {
		const char *line, *file;
		enum options_result result;
		const char *told;
	} rows[] = {
	    {"-S redis://h --password-file f --password-command date", NULL, OPTIONS_USAGE_ERROR,
		"more than one password: of --password-file, --password-command"},
	    {"-S redis://:hush@h --password-file f", NULL, OPTIONS_USAGE_ERROR,
		"more than one password"},
	    {"--password-command date -S redis://ann:hush@h", NULL, OPTIONS_USAGE_ERROR,
		"more than one password"},
	    {"-S redis://h", "password-file = f\npassword-command = date\n", OPTIONS_CONFIG_ERROR,
		":2: password-command: password-file in line 1 sets the same"},
	    {"", "password-file = f\nserver = redis://:hush@h\n", OPTIONS_CONFIG_ERROR,
		"config: more than one password"},
	    {"-S redis://h --password-file ''", NULL, OPTIONS_USAGE_ERROR,
		"--password-file: no file named"},
	    {"-S redis://h --password-command ''", NULL, OPTIONS_USAGE_ERROR,
		"--password-command: no command named"},
	    {"-S redis://h --password-file /dev/fd/63", NULL, OPTIONS_USAGE_ERROR,
		"--password-file: '/dev/fd/63' cannot be read again at the next login"},
	    {"-S redis://h --password-file /dev/stdin", NULL, OPTIONS_USAGE_ERROR,
		"--password-command"},
	    {"-S redis://h --password hush", NULL, OPTIONS_USAGE_ERROR, "ambiguous"},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		tap_case("one password at most: %s", rows[i].line);
		set_scene(NULL, NULL, NULL, rows[i].file);
		CHECK_INT(parse(rows[i].line), rows[i].result);
		CHECK_HAS(problem.text, rows[i].told);
		CHECK_HAS_NOT(problem.text, "hush");
	}

	tap_case("a variable that is too long is a matter of configuration; it is not quoted");
	static char longest[SECRET_MAX + 2];
	memset(longest, 'x', SECRET_MAX);
	set_scene("redis://h", NULL, longest, NULL);
	CHECK_INT(parse(""), OPTIONS_RUN);
	longest[SECRET_MAX] = 'x';
	set_scene("redis://h", NULL, longest, NULL);
	CHECK_INT(parse(""), OPTIONS_CONFIG_ERROR);
	CHECK_TEXT(problem.text, "REDISCLI_AUTH in the environment: longer than 8192 bytes");
}

static void
test_keeping(void)
{
	static struct password_place place;
	struct kept_secret *kept = &place.kept[0];
	tap_case(
	    "what was given as a password is moved: the URL and DLOCK_PASSWORD do not have it any more");
	set_scene("redis://ann:hush@h", "own-hush", "cli", NULL);
	CHECK_INT(parse(""), OPTIONS_RUN);
	const char *own = getenv("DLOCK_PASSWORD");
	CHECK(password_keep(&place, &options) == 0);
	CHECK_TEXT(kept->text, "hush");
	CHECK_TEXT(options.url.password, "");
	CHECK(options.url.has_password); /* it is printed as *** */
	CHECK_TEXT(own, "");
	CHECK(getenv("DLOCK_PASSWORD") == NULL);
	CHECK_TEXT(getenv("REDISCLI_AUTH"), "cli"); /* the user's own: COMMAND gets it */

	tap_case("also where another was the one, and the kept one is wiped where nobody logs in");
	set_scene("redis://h", "own-hush", NULL, NULL);
	CHECK_INT(parse("--password-file f"), OPTIONS_RUN);
	CHECK(password_keep(&place, &options) == 0);
	CHECK(getenv("DLOCK_PASSWORD") == NULL);
	set_scene("redis://h", "own-hush", NULL, NULL);
	CHECK_INT(parse(""), OPTIONS_RUN);
	CHECK(password_keep(&place, &options) == 0);
	CHECK_TEXT(kept->text, "own-hush");
	CHECK_TEXT(kept->source.origin, "DLOCK_PASSWORD");
	kept->source.operations->cancel(&kept->source);
	CHECK_TEXT(kept->text, "own-hush"); /* it is needed again */
	kept->source.operations->forget(&kept->source);
	CHECK_TEXT(kept->text, "");

	tap_case("of several servers each has its URL's, or none; a variable is for all");
	place = (struct password_place){.sources = {NULL}};
	set_scene("redis://ann:hush@h redis://h2 redis://:hush3@h3", NULL, NULL, NULL);
	CHECK_INT(parse(""), OPTIONS_RUN);
	CHECK(password_keep(&place, &options) == 0);
	CHECK_TEXT(place.kept[0].text, "hush");
	CHECK(place.sources[1] == NULL);
	CHECK_TEXT(place.kept[2].text, "hush3");
	CHECK_TEXT(options.more_urls[1].password, "");
	place = (struct password_place){.sources = {NULL}};
	set_scene("redis://h redis://h2", "own-hush", NULL, NULL);
	CHECK_INT(parse(""), OPTIONS_RUN);
	CHECK(password_keep(&place, &options) == 0);
	CHECK_TEXT(place.kept[0].text, "own-hush");
	CHECK_TEXT(place.kept[1].text, "own-hush");
}

int
main(void)
{
	char directory[] = "/tmp/dlock-choice-XXXXXX";
	if (mkdtemp(directory) == NULL)
		return 1;
	snprintf(config, sizeof config, "%s/config", directory);
	test_order();
	test_conflicts();
	test_keeping();
	unlink(config);
	rmdir(directory);
	return tap_end();
}
