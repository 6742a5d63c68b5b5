/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* cli/config: the lines of a config file. */
#include "cli/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

#define BOM "\xef\xbb\xbf"

/* Writes "LINE option<value>" for each setting, "LINE option" where there is no value. */
struct seen {
	char text[16384];
	size_t used;
	int stop_at; /* refuse the setting of that line */
};

static bool
note(void *context, const struct config_setting *setting, struct problem *problem)
{
	struct seen *seen = context;
	if (setting->line == seen->stop_at) {
		problem_set(problem, "refused");
		return false;
	}
	seen->used += (size_t)snprintf(seen->text + seen->used, sizeof seen->text - seen->used,
	    setting->value ? "%s%d %s<%s>" : "%s%d %s", seen->used ? ", " : "", setting->line,
	    setting->option, setting->value);
	return true;
}

/* From memory of exactly that size, so that a sanitizer sees a byte read too much. */
static bool
parse(const char *text, size_t length, struct seen *seen, int *line, struct problem *problem)
{
	char *copy = malloc(length > 0 ? length : 1);
	if (copy == NULL)
		abort();
	memcpy(copy, text, length);
	bool good = config_parse(copy, length, note, seen, line, problem);
	free(copy);
	return good;
}

static const struct {
	const char *text, *seen;
} good[] = {
    {"", ""},
    {"\n", ""},
    {"\n\n\n", ""},
    {" \t \n\t", ""},
    {"# nothing", ""},
    {"  # nothing\n#\n##x = y\n", ""},
    {"ttl = 5s", "1 ttl<5s>"},
    {"ttl = 5s\n", "1 ttl<5s>"},
    {"ttl=5s", "1 ttl<5s>"},
    {"ttl =5s", "1 ttl<5s>"},
    {"ttl= 5s", "1 ttl<5s>"},
    {"\t ttl \t = \t 5s \t ", "1 ttl<5s>"},
    {"\n# x\nttl = 5s\n\nlabel = a\n", "3 ttl<5s>, 5 label<a>"},
    {"a=1\nb=2\nc=3", "1 a<1>, 2 b<2>, 3 c<3>"},
    /* CR LF, also mixed, also without the last one. */
    {"ttl = 5s\r\nlabel = a\r\n", "1 ttl<5s>, 2 label<a>"},
    {"ttl = 5s \r\n\r\n# x\r\nnonblock\r", "1 ttl<5s>, 4 nonblock"},
    {"label = \"a \"\r\n", "1 label<a >"},
    /* What some editors put in front. */
    {BOM "ttl = 5s\n", "1 ttl<5s>"},
    {BOM, ""},
    {BOM "# x\n", ""},
    /* Switches. */
    {"nonblock", "1 nonblock"},
    {"  nonblock\t\n", "1 nonblock"},
    {"nonblock # now", "1 nonblock"},
    {"nonblock = yes", "1 nonblock<yes>"},
    /* Empty values are values. */
    {"prefix =", "1 prefix<>"},
    {"prefix = \t", "1 prefix<>"},
    {"prefix = \"\"", "1 prefix<>"},
    {"prefix = # none", "1 prefix<>"},
    {"prefix =#none", "1 prefix<>"},
    /* The value is the rest of the line. */
    {"label = a b  c", "1 label<a b  c>"},
    {"label = a=b", "1 label<a=b>"},
    {"label = = =", "1 label<= =>"},
    {"label = a\"b\"", "1 label<a\"b\">"},
    {"label = pass show \"x\"", "1 label<pass show \"x\">"},
    {"label = 'a'", "1 label<'a'>"},
    {"label = C:\\dir\\", "1 label<C:\\dir\\>"},
    {"label = \\", "1 label<\\>"},
    {"server = redis://u:p@h:1/2?db=3", "1 server<redis://u:p@h:1/2?db=3>"},
    {"label = \xc3\xa9\xff", "1 label<\xc3\xa9\xff>"},
    {"label = a\tb", "1 label<a\tb>"},
    /* Comments behind it. */
    {"ttl = 5s # five", "1 ttl<5s>"},
    {"ttl = 5s\t#", "1 ttl<5s>"},
    {"ttl = 5s # five # times", "1 ttl<5s>"},
    {"ttl = 5s # \"", "1 ttl<5s>"},
    /* Quotes. */
    {"label = \"a\"", "1 label<a>"},
    {"label=\"a\"", "1 label<a>"},
    {"label = \" a \"  ", "1 label< a >"},
    {"label = \"a # b\"", "1 label<a # b>"},
    {"label = \"a#b\" # c", "1 label<a#b>"},
    {"label = \"#\"", "1 label<#>"},
    {"label = \"a\\\"b\"", "1 label<a\"b>"},
    {"label = \"a\\\\b\"", "1 label<a\\b>"},
    {"label = \"\\\\\"", "1 label<\\>"},
    {"label = \"\\\"\"", "1 label<\">"},
    {"label = \"\\\\\\\"\"", "1 label<\\\">"},
    /* What no option is called is for the taker to say. */
    {"--ttl = 5s", "1 --ttl<5s>"},
    {"\"ttl\" = 5s", "1 \"ttl\"<5s>"},
    {"TTL: = 5s", "1 TTL:<5s>"},
};

static const struct {
	const char *text;
	int line;
	const char *why;
} bad[] = {
    {"ttl 5s", 1, "option = value"},
    {"ttl hush", 1, "option = value"},
    {"\n\nhush hush\n", 3, "option = value"},
    {"[hush]", 1, "no [sections]"},
    {"a=1\n [hush] # x", 2, "no [sections]"},
    {"= 5s", 1, "option = value"},
    {"a=1\n\t= 5s", 2, "option = value"},
    {"=", 1, "option = value"},
    {"nonblock#now", 1, "option = value"},
    {"hu#sh = 1", 1, "option = value"},
    {"label = hu#sh", 1, "a # in the value"},
    {"label = hush##", 1, "a # in the value"},
    {"server = redis://:hu#sh@db1", 1, "a # in the value"},
    {"server = redis://:hush#@db1 # our own", 1, "a # in the value"},
    {"label = \"hush", 1, "no closing \""},
    {"label = \"", 1, "no closing \""},
    {"label = \"hush\\\"", 1, "no closing \""},
    {"label = \"hush\nx\"", 1, "no closing \""},
    {"label = \"hush\\", 1, "a backslash in quotes"},
    {"label = \"hush\\n\"", 1, "a backslash in quotes"},
    {"label = \"\\x41\"", 1, "a backslash in quotes"},
    {"label = \"a\" hush", 1, "something after the closing \""},
    {"label = \"a\"hush", 1, "something after the closing \""},
    {"label = \"a\"#", 1, "something after the closing \""},
    {"label = \"a\"\"b\"", 1, "something after the closing \""},
    {"a = 1\nlabel = \x1b[31m", 2, "a byte 0x1b"},
    {"label = a\x7f", 1, "a byte 0x7f"},
    {"# \x01", 1, "a byte 0x01"},
    {"label = a\rb", 1, "a byte 0x0d"},
    {"a = 1\rb = 2\r", 1, "a byte 0x0d"}, /* a Mac of long ago */
    {"a = 1\r\r\n", 1, "a byte 0x0d"},
    {"\x0c\n", 1, "a byte 0x0c"},
    {"\x7f"
     "ELF",
	1, "not a config file?"},
};

static void
test_good(void)
{
	for (size_t i = 0; i < COUNT_OF(good); i++) {
		struct seen seen = {.stop_at = 0};
		struct problem problem = {.text = ""};
		int line;
		tap_case("taken: %s", good[i].text);
		if (!CHECK(parse(good[i].text, strlen(good[i].text), &seen, &line, &problem)))
			CHECK_TEXT(problem.text, "");
		CHECK_TEXT(seen.text, good[i].seen);
	}
}

static void
test_bad(void)
{
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct seen seen = {.stop_at = 0};
		struct problem problem = {.text = ""};
		int line = 0;
		tap_case("refused: %s: %s", bad[i].why, bad[i].text);
		CHECK(!parse(bad[i].text, strlen(bad[i].text), &seen, &line, &problem));
		CHECK_INT(line, bad[i].line);
		CHECK_HAS(problem.text, bad[i].why);
		CHECK_HAS_NOT(problem.text, "hu");
	}
	tap_case("refused: a byte NUL, and text of two bytes a letter");
	struct seen seen = {.stop_at = 0};
	struct problem problem;
	int line = 0;
	CHECK(!parse("a=1\nb=\0", 7, &seen, &line, &problem));
	CHECK_INT(line, 2);
	CHECK_HAS(problem.text, "0x00");
	CHECK(!parse("\xff\xfe"
		     "a\0=\0",
	    6, &seen, &line, &problem));
	CHECK_HAS(problem.text, "0x00");
	tap_case(
	    "a setting that is not taken ends the reading, with its line and the taker's words");
	seen = (struct seen){.stop_at = 4};
	CHECK(!parse("a=1\n\nb=2\nc=3\nd=4\n", 17, &seen, &line, &problem));
	CHECK_INT(line, 4);
	CHECK_TEXT(problem.text, "refused");
	CHECK_TEXT(seen.text, "1 a<1>, 3 b<2>");
}

static void
test_long(void)
{
	static char text[3 * CONFIG_LINE_MAX];
	struct seen seen = {.stop_at = 0};
	struct problem problem = {.text = ""};
	int line = 0;
	tap_case("a line of %d bytes is taken, with either end", CONFIG_LINE_MAX);
	memset(text, 'a', sizeof text);
	memcpy(text, "l=", 2);
	CHECK(parse(text, CONFIG_LINE_MAX, &seen, &line, &problem));
	CHECK_INT((int64_t)strlen(seen.text), 5 - 1 + CONFIG_LINE_MAX - 2 + 1);
	memcpy(text + CONFIG_LINE_MAX, " \r\n", 3);
	seen.used = 0;
	CHECK(parse(text, CONFIG_LINE_MAX + 3, &seen, &line, &problem));
	tap_case("one of more is not, and the size is said");
	CHECK(!parse("a=1\n", 4, &(struct seen){.stop_at = 1}, &line, &problem));
	text[CONFIG_LINE_MAX] = 'a';
	CHECK(!parse(text, CONFIG_LINE_MAX + 1, &seen, &line, &problem));
	CHECK_INT(line, 1);
	CHECK_HAS(problem.text, "a line of 4097 bytes: 4096 is the most");
	CHECK(!parse(text, sizeof text, &seen, &line, &problem));
	CHECK_INT(line, 1);
}

/* Whatever it is given, it does not crash (ASan, UBSan), says why, and names a line of it. */
static void
test_random(void)
{
	static const char *const pieces[] = {"ttl", "=", " ", "\"", "\\", "#", "\n", "\r\n", "\t",
	    "a", "label = ", "\xff", "\x01", "\n", "= \"", "b c"};
	uint64_t random = 7;
	int taken = 0;
	tap_case("50,000 random texts");
	for (int i = 0; i < 50000 && !tap_failed(); i++) {
		struct seen seen = {.stop_at = 0};
		struct problem problem = {.text = ""};
		char text[256] = "";
		size_t used = 0;
		int line = 0, lines = 1;
		for (int64_t k = tap_random_below(&random, 14); k > 0; k--)
			used += (size_t)snprintf(text + used, sizeof text - used, "%s",
			    pieces[tap_random_below(&random, COUNT_OF(pieces))]);
		for (size_t k = 0; k < used; k++)
			lines += text[k] == '\n';
		tap_note("%s", text);
		bool is_good = parse(text, used, &seen, &line, &problem);
		taken += is_good && seen.used > 0;
		CHECK(line >= (used > 0) && line <= lines);
		CHECK(is_good == (problem.text[0] == '\0'));
	}
	CHECK(taken > 1000);
}

int
main(void)
{
	test_good();
	test_bad();
	test_long();
	test_random();
	return tap_end();
}
