/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* base/message: what is printed cannot drive a terminal, is one line, and is said or not said as
 * -q and -v want it. */
#include "base/message.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tap.h"

static const struct {
	const char *what, *text, *shown;
} rows[] = {
    {"nothing", "", ""},
    {"plain text", "job 7 (a/b)~", "job 7 (a/b)~"},
    {"quotes and backslashes", "a'b\"c\\d", "a'b\"c\\d"},
    /* Control characters. */
    {"an escape sequence", "\x1b[31mred", "\\x1b[31mred"},
    {"a newline", "a\nb", "a\\x0ab"},
    {"a carriage return", "a\rb", "a\\x0db"},
    {"tab, bell, backspace", "\t\a\b", "\\x09\\x07\\x08"},
    {"the first and the last of C0", "\x01\x1f", "\\x01\\x1f"},
    {"DEL", "\x7f", "\\x7f"},
    /* C1 controls: as characters, and as the bytes that 8-bit terminals obey. */
    {"CSI as a character",
	"\xc2\x9b"
	"31m",
	"\\xc2\\x9b31m"},
    {"the first and the last of C1", "\xc2\x80\xc2\x9f", "\\xc2\\x80\\xc2\\x9f"},
    {"the character after C1", "\xc2\xa0", "\xc2\xa0"},
    {"CSI as a byte",
	"\x9b"
	"31m",
	"\\x9b31m"},
    /* What reorders or breaks the line that it stands in. */
    {"right-to-left override and its end",
	"a\xe2\x80\xae"
	"b\xe2\x80\xac",
	"a\\xe2\\x80\\xae"
	"b\\xe2\\x80\\xac"},
    {"an embedding and its end", "\xe2\x80\xaa\xe2\x80\xac", "\\xe2\\x80\\xaa\\xe2\\x80\\xac"},
    {"the isolates", "\xe2\x81\xa6\xe2\x81\xa9", "\\xe2\\x81\\xa6\\xe2\\x81\\xa9"},
    {"directional marks", "\xe2\x80\x8e\xe2\x80\x8f\xd8\x9c",
	"\\xe2\\x80\\x8e\\xe2\\x80\\x8f\\xd8\\x9c"},
    {"line and paragraph separator", "\xe2\x80\xa8\xe2\x80\xa9", "\\xe2\\x80\\xa8\\xe2\\x80\\xa9"},
    {"their neighbours, the joiner of an emoji among them",
	"\xe2\x80\x8d\xe2\x80\x90\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xaa\xd8\x9b",
	"\xe2\x80\x8d\xe2\x80\x90\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xaa\xd8\x9b"},
    /* UTF-8 (RFC 3629). */
    {"two bytes", "\xc3\xa9\xdf\xbf", "\xc3\xa9\xdf\xbf"},
    {"three bytes", "\xe0\xa0\x80\xe2\x82\xac\xef\xbf\xbd", "\xe0\xa0\x80\xe2\x82\xac\xef\xbf\xbd"},
    {"four bytes", "\xf0\x90\x80\x80\xf0\x9f\x94\x92\xf4\x8f\xbf\xbf",
	"\xf0\x90\x80\x80\xf0\x9f\x94\x92\xf4\x8f\xbf\xbf"},
    {"characters around the surrogates", "\xed\x9f\xbf\xee\x80\x80", "\xed\x9f\xbf\xee\x80\x80"},
    {"a surrogate", "\xed\xa0\x80", "\\xed\\xa0\\x80"},
    {"the last surrogate", "\xed\xbf\xbf", "\\xed\\xbf\\xbf"},
    {"beyond U+10FFFF", "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
    {"beyond, with a first byte that UTF-8 never has", "\xf5\x80\x80\x80", "\\xf5\\x80\\x80\\x80"},
    {"bytes that UTF-8 never has", "\xf5\xff\xfe\xc0\xc1", "\\xf5\\xff\\xfe\\xc0\\xc1"},
    {"an overlong escape of two bytes", "\xc0\x9b", "\\xc0\\x9b"},
    {"an overlong slash of two bytes", "\xc1\xaf", "\\xc1\\xaf"},
    {"an overlong escape of three bytes", "\xe0\x80\x9b", "\\xe0\\x80\\x9b"},
    {"an overlong CSI of three bytes", "\xe0\x82\x9b", "\\xe0\\x82\\x9b"},
    {"an overlong CSI of four bytes", "\xf0\x80\x82\x9b", "\\xf0\\x80\\x82\\x9b"},
    {"a lone continuation byte",
	"a\x80"
	"b\xbf",
	"a\\x80b\\xbf"},
    {"a character cut off by the end", "\xc3", "\\xc3"},
    {"a longer one cut off by the end", "\xe2\x82", "\\xe2\\x82"},
    {"the longest cut off by the end", "\xf0\x9f\x94", "\\xf0\\x9f\\x94"},
    {"a character cut off by another",
	"\xe2\x82"
	"a",
	"\\xe2\\x82a"},
    {"a character cut off by a whole one", "\xe2\xc3\xa9", "\\xe2\xc3\xa9"},
    {"an escape that swallows an ESC", "\xc3\x1b", "\\xc3\\x1b"},
    {"Latin-1", "caf\xe9", "caf\\xe9"},
};

static void
test_escape(void)
{
	char out[256];
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		tap_case("shown safely: %s", rows[i].what);
		CHECK_INT((int64_t)message_escape(out, sizeof out, rows[i].text),
		    (int64_t)strlen(rows[i].shown));
		CHECK_TEXT(out, rows[i].shown);
	}
	tap_case("every byte alone is itself if printable ASCII, else four");
	for (int byte = 1; byte < 256; byte++) {
		char text[2] = {(char)byte, '\0'};
		size_t wanted = byte >= 0x20 && byte < 0x7f ? 1 : 4;
		tap_note("byte %d", byte);
		CHECK_INT((int64_t)message_escape(out, sizeof out, text), (int64_t)wanted);
	}
}

/* What does not fit is cut between characters, never within one or within an escape. */
static void
test_cut(void)
{
	static const struct {
		const char *text;
		size_t size;
		const char *shown;
	} cuts[] = {
	    {"abc", 4, "abc"},
	    {"abc", 3, "ab"},
	    {"abc", 1, ""},
	    {"a\xc3\xa9", 4, "a\xc3\xa9"},
	    {"a\xc3\xa9", 3, "a"},
	    {"a\xe2\x82\xac", 4, "a"},
	    {"a\xe2\x82\xac", 5, "a\xe2\x82\xac"},
	    {"\xf0\x9f\x94\x92x", 4, ""},
	    {"\xf0\x9f\x94\x92x", 5, "\xf0\x9f\x94\x92"},
	    {"a\x1b", 5, "a"},
	    {"a\x1b", 6, "a\\x1b"},
	    /* What comes after the cut is not squeezed in. */
	    {"a\x1b"
	     "b",
		5, "a"},
	};
	for (size_t i = 0; i < COUNT_OF(cuts); i++) {
		char out[16];
		tap_case("cut at a whole character: row %zu", i + 1);
		memset(out, '#', sizeof out);
		CHECK_INT((int64_t)message_escape(out, cuts[i].size, cuts[i].text),
		    (int64_t)strlen(cuts[i].shown));
		CHECK_TEXT(out, cuts[i].shown);
		CHECK_INT(out[cuts[i].size], '#');
	}
}

/* -- what is said ----------------------------------------------------------------------------- */

static char said[16384];

/* Calls `speak` with stderr in a pipe and keeps what it wrote there in `said`. */
static void
listen_to(void (*speak)(void))
{
	int ends[2];
	int before = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	said[0] = '\0';
	if (before < 0 || pipe2(ends, O_CLOEXEC) != 0) {
		CHECK(!"a pipe");
		return;
	}
	dup2(ends[1], STDERR_FILENO);
	close(ends[1]);
	speak();
	dup2(before, STDERR_FILENO);
	close(before);
	size_t used = 0;
	for (ssize_t got; (got = read(ends[0], said + used, sizeof said - 1 - used)) > 0;)
		used += (size_t)got;
	said[used] = '\0';
	close(ends[0]);
}

static void
speak_at_all_levels(void)
{
	message_error("e%d", 1);
	message_notice("n%d", 2);
	message_verbose("v%d", 3);
	message_debug("d%d", 4);
}

static void
test_levels(void)
{
	static const struct {
		bool quiet;
		int verbosity;
		const char *said;
	} levels[] = {
	    {false, 0, "dlock: e1\ndlock: n2\n"},
	    {true, 0, "dlock: e1\n"},
	    {false, 1, "dlock: e1\ndlock: n2\ndlock: v3\n"},
	    {false, 2, "dlock: e1\ndlock: n2\ndlock: v3\ndlock: d4\n"},
	    {true, 2, "dlock: e1\ndlock: v3\ndlock: d4\n"},
	};
	for (size_t i = 0; i < COUNT_OF(levels); i++) {
		tap_case("what is said with quiet %d and verbosity %d", levels[i].quiet,
		    levels[i].verbosity);
		message_set_level(levels[i].quiet, levels[i].verbosity);
		listen_to(speak_at_all_levels);
		CHECK_TEXT(said, levels[i].said);
	}
	message_set_level(false, 0);
}

static void
speak_hostile(void)
{
	message_error("'%s' is held", "a\nb\x1b[2J\xff");
}

static void
speak_long(void)
{
	static char text[4 * MESSAGE_MAX];
	memset(text, '\x1b', sizeof text - 1);
	message_error("%s", text);
	memset(text, 'x', sizeof text - 1);
	message_error("%s", text);
}

static void
speak_into_full_pipe(void)
{
	char block[4096] = {0};
	int flags = fcntl(STDERR_FILENO, F_GETFL);
	fcntl(STDERR_FILENO, F_SETFL, flags | O_NONBLOCK);
	while (write(STDERR_FILENO, block, sizeof block) > 0)
		;
	while (write(STDERR_FILENO, block, 1) > 0)
		;
	fcntl(STDERR_FILENO, F_SETFL, flags);
	message_never_block();
	message_error("this would hang for ever");
}

static void
test_lines(void)
{
	tap_case("a message is one line, whatever is in it");
	listen_to(speak_hostile);
	CHECK_TEXT(said, "dlock: 'a\\x0ab\\x1b[2J\\xff' is held\n");

	tap_case("a message that is too long is cut, and is still one line");
	listen_to(speak_long);
	CHECK(strlen(said) <= 2 * (MESSAGE_MAX + sizeof "dlock: "));
	CHECK(strlen(said) > MESSAGE_MAX);
	CHECK(strncmp(said, "dlock: \\x1b", 11) == 0);
	size_t first = strcspn(said, "\n");
	CHECK(first <= MESSAGE_MAX + 8);
	CHECK(strncmp(said + first, "\ndlock: xxxx", 12) == 0);
	CHECK_INT((int64_t)(first + 1 + strcspn(said + first + 1, "\n") + 1),
	    (int64_t)strlen(said));

	tap_case("a keeper does not wait for a full pipe");
	alarm(20); /* ends the test if it does */
	listen_to(speak_into_full_pipe);
	alarm(0);
	CHECK(said[0] == '\0');
}

int
main(void)
{
	test_escape();
	test_cut();
	test_levels();
	test_lines();
	return tap_end();
}
