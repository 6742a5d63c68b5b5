/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* cli/config: any bytes as a config file. A byte 0xff in them is where a secret is put, which no
 * sentence may quote. */
#include "cli/config.h"

#include <regex.h>

#include "fuzz.h"

/* The lines that config.h describes: nothing or a comment; an option, then perhaps a comment; an
 * option and a value, plain or in quotes. */
#define BLANKS "[ \t]*"
#define OPTION "[^[ \t=#][^ \t=#]*" /* [section] is none */
#define PLAIN "((#.*)?|[^\"# \t][^#]*([ \t]#.*)?)"
#define QUOTED "\"([^\"\\]|\\\\[\"\\])*\"([ \t]+#.*)?"
#define LINE                                                                                       \
	"^" BLANKS "((#.*)?|" OPTION "([ \t]+#.*)?|" OPTION BLANKS "=" BLANKS "(" PLAIN "|" QUOTED \
	"))" BLANKS "$"
#define REGEX_LINE_MAX 256 /* longer ones take the library too long */

#define SECRET "Zq7Kanary"
#define SETTINGS_MAX 64

struct taken {
	size_t count;
	size_t refuse_at; /* the setting that is not taken */
	int line;         /* of the last one */
	struct {
		char *option, *value;
	} settings[SETTINGS_MAX];
};

static bool
take(void *context, const struct config_setting *setting, struct problem *problem)
{
	struct taken *taken = context;
	FUZZ_CHECK(setting->line > taken->line);
	FUZZ_CHECK(setting->option[0] != '\0' && strpbrk(setting->option, " \t=#\n") == NULL);
	FUZZ_CHECK(strlen(setting->option) <= CONFIG_LINE_MAX);
	for (const char *byte = setting->value; byte != NULL && *byte != '\0'; byte++)
		FUZZ_CHECK((unsigned char)*byte >= 0x20 || *byte == '\t');
	taken->line = setting->line;
	if (taken->count == taken->refuse_at) {
		problem_set(problem, "not taken");
		return false;
	}
	taken->settings[taken->count].option = strdup(setting->option);
	taken->settings[taken->count++].value = setting->value ? strdup(setting->value) : NULL;
	return true;
}

/* The number of the line at which it ended, 0: it read all. */
static int
parse(const char *text, size_t length, size_t refuse_at, struct taken *taken)
{
	struct problem problem = {.text = ""};
	int line = -1, lines = 1;
	for (size_t i = 0; i < length; i++)
		lines += text[i] == '\n';
	*taken = (struct taken){.refuse_at = refuse_at};
	bool good = config_parse(text, length, take, taken, &line, &problem);
	FUZZ_CHECK(line >= taken->line && line <= lines);
	FUZZ_CHECK(good == (problem.text[0] == '\0') && (good || line >= 1));
	FUZZ_CHECK(strstr(problem.text, SECRET) == NULL && strstr(problem.text, "Kanary") == NULL);
	/* What the taker says is passed on with its line. */
	bool refused = strcmp(problem.text, "not taken") == 0;
	FUZZ_CHECK(!refused || (line == taken->line && taken->count == refuse_at));
	return good ? 0 : line;
}

static void
forget(struct taken *taken)
{
	for (size_t i = 0; i < taken->count; i++) {
		free(taken->settings[i].option);
		free(taken->settings[i].value);
	}
}

/* The number of the first line that is none, 0: all are good. */
static int
first_bad_line(const char *text, size_t length)
{
	static regex_t regex;
	static bool compiled;
	char line[REGEX_LINE_MAX + 1];
	int number = 1;
	if (!compiled && regcomp(&regex, LINE, REG_EXTENDED | REG_NOSUB) != 0)
		abort();
	compiled = true;
	bool mark = length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0;
	for (size_t at = mark ? 3 : 0; at < length; number++) {
		const char *newline = memchr(text + at, '\n', length - at);
		size_t end = newline ? (size_t)(newline - text) : length;
		size_t used = end - at;
		memcpy(line, text + at, used);
		if (used > 0 && line[used - 1] == '\r')
			used--;
		line[used] = '\0';
		for (size_t i = 0; i < used; i++) {
			if (((unsigned char)line[i] < 0x20 && line[i] != '\t') || line[i] == 0x7f)
				return number;
		}
		if (regexec(&regex, line, 0, NULL, 0) != 0)
			return number;
		at = end + 1;
	}
	return 0;
}

/* Written down in the way that says every byte, it reads as the same. */
static void
check_again(const struct taken *taken)
{
	char *text = NULL;
	size_t length = 0;
	struct taken again;
	FILE *out = open_memstream(&text, &length);
	if (out == NULL)
		abort();
	fputc('\n', out); /* a byte order mark in the first option is none */
	for (size_t i = 0; i < taken->count; i++) {
		fputs(taken->settings[i].option, out);
		if (taken->settings[i].value != NULL)
			fputs(" = \"", out);
		for (const char *byte = taken->settings[i].value; byte && *byte != '\0'; byte++)
			fprintf(out, *byte == '"' || *byte == '\\' ? "\\%c" : "%c", *byte);
		fputs(taken->settings[i].value ? "\"\r\n" : "\n", out);
	}
	fclose(out);
	/* Quotes and escapes may make a line too long. */
	if (length <= CONFIG_LINE_MAX) {
		FUZZ_CHECK(parse(text, length, SETTINGS_MAX, &again) == 0);
		FUZZ_CHECK(again.count == taken->count);
		for (size_t i = 0; i < again.count; i++) {
			const char *value = taken->settings[i].value;
			FUZZ_CHECK(!strcmp(again.settings[i].option, taken->settings[i].option));
			FUZZ_CHECK((again.settings[i].value == NULL) == (value == NULL));
			FUZZ_CHECK(value == NULL || !strcmp(again.settings[i].value, value));
		}
		forget(&again);
	}
	free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = NULL;
	size_t length = 0;
	struct taken taken;
	FILE *out = open_memstream(&text, &length);
	if (out == NULL)
		abort();
	for (size_t i = 0; i < size; i++)
		fwrite(data[i] == 0xff ? SECRET : (const char *)&data[i], 1,
		    data[i] == 0xff ? strlen(SECRET) : 1, out);
	fclose(out);
	char *exact = malloc(length > 0 ? length : 1); /* without the NUL that is behind */
	if (exact == NULL)
		abort();
	memcpy(exact, text, length);
	int ended = parse(exact, length, SETTINGS_MAX, &taken);
	if (ended == 0)
		check_again(&taken);
	if (length <= REGEX_LINE_MAX && taken.count < SETTINGS_MAX)
		FUZZ_CHECK(ended == first_bad_line(exact, length));
	forget(&taken);
	parse(exact, length, size % 3, &taken);
	forget(&taken);
	free(exact);
	free(text);
	return 0;
}
