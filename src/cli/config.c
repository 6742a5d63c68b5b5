/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "cli/config.h"

#include <string.h>

#define BYTE_ORDER_MARK "\xef\xbb\xbf"

static bool
is_blank(char byte)
{
	return byte == ' ' || byte == '\t';
}

static char *
skip_blanks(char *at)
{
	while (is_blank(*at))
		at++;
	return at;
}

/* Nothing more, or a comment. */
static bool
is_end(const char *at)
{
	return *at == '\0' || *at == '#';
}

/* Copies a line, without its end and the blanks before that, to `out`. */
static bool
copy_line(char *out, const char *line, size_t length, struct problem *problem)
{
	if (length > 0 && line[length - 1] == '\r')
		length--;
	while (length > 0 && is_blank(line[length - 1]))
		length--;
	if (length > CONFIG_LINE_MAX) {
		problem_set(problem, "a line of %zu bytes: %d is the most", length,
		    CONFIG_LINE_MAX);
		return false;
	}
	for (size_t i = 0; i < length; i++) {
		unsigned char byte = (unsigned char)line[i];
		if ((byte < 0x20 && byte != '\t') || byte == 0x7f) {
			problem_set(problem,
			    "a byte 0x%02x, which no line of text has: not a config file?", byte);
			return false;
		}
	}
	memcpy(out, line, length);
	out[length] = '\0';
	return true;
}

/* From the first quote on; unescaped in place. NULL: a problem. */
static char *
parse_quoted(char *value, struct problem *problem)
{
	char *from = value + 1, *to = value;
	while (*from != '"') {
		if (*from == '\0') {
			problem_set(problem, "no closing \" at the end of the value");
			return NULL;
		}
		if (*from == '\\') {
			from++;
			if (*from != '"' && *from != '\\') {
				problem_set(problem,
				    "a backslash in quotes that is not before \" or \\: write "
				    "\\\\ for one");
				return NULL;
			}
		}
		*to++ = *from++;
	}
	char *after = from + 1;
	if (!is_end(skip_blanks(after)) || *after == '#') {
		problem_set(problem,
		    "something after the closing \": put the whole value in quotes, a \" in it "
		    "as \\\"");
		return NULL;
	}
	*to = '\0';
	return value;
}

/* NULL: a problem. */
static char *
parse_plain(char *value, struct problem *problem)
{
	char *hash = strchr(value, '#');
	if (hash != NULL && hash > value && !is_blank(hash[-1])) {
		problem_set(problem,
		    "a # in the value: put the value in double quotes, or a blank before the # of "
		    "a comment");
		return NULL;
	}
	char *end = hash ? hash : value + strlen(value);
	while (end > value && is_blank(end[-1]))
		end--;
	*end = '\0';
	return value;
}

/* Sets *option to NULL where there is nothing but blanks and comment. */
static bool
parse_line(char *line, struct config_setting *setting, struct problem *problem)
{
	char *option = skip_blanks(line);
	setting->option = setting->value = NULL;
	if (is_end(option))
		return true;
	if (*option == '[') {
		problem_set(problem, "a config file has no [sections], only lines: option = value");
		return false;
	}
	/* A quote or a # ends no option: it belongs to something that is none. */
	size_t length = strcspn(option, " \t=");
	char *after = skip_blanks(option + length);
	if (length == 0 || (*after != '=' && !is_end(after)) ||
	    memchr(option, '#', length) != NULL) {
		problem_set(problem, "a line is: option = value (a comment begins with #)");
		return false;
	}
	if (*after == '=') {
		char *value = skip_blanks(after + 1);
		setting->value =
		    *value == '"' ? parse_quoted(value, problem) : parse_plain(value, problem);
		if (setting->value == NULL)
			return false;
	}
	option[length] = '\0';
	setting->option = option;
	return true;
}

bool
config_parse(const char *text, size_t length, config_taker *take, void *context, int *line,
    struct problem *problem)
{
	char copy[CONFIG_LINE_MAX + 1];
	struct config_setting setting;
	const char *end = text + length;
	bool good = true;
	*line = 0;
	if (length >= 3 && memcmp(text, BYTE_ORDER_MARK, 3) == 0)
		text += 3;
	while (good && text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		const char *line_end = newline ? newline : end;
		setting.line = ++*line;
		good = copy_line(copy, text, (size_t)(line_end - text), problem) &&
		    parse_line(copy, &setting, problem) &&
		    (setting.option == NULL || take(context, &setting, problem));
		text = newline ? newline + 1 : end;
	}
	explicit_bzero(copy, sizeof copy); /* a line may have had a password */
	return good;
}
