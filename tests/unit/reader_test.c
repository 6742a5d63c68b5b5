/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* net/reader: bytes to answers, however they are cut and whatever they claim; and commands to
 * bytes. */
#include "net/reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

/* Writes an answer as replies.h does, so that one text says all about it. */
static size_t
show(char *out, size_t size, const struct reply *reply)
{
	size_t used = 0;
	switch (reply->kind) {
	case REPLY_STRING:
	case REPLY_STATUS:
	case REPLY_ERROR:
		CHECK_INT(reply->text[reply->length], '\0');
		used = (size_t)snprintf(out, size, "%c", "'+-"[reply->kind - REPLY_STRING]);
		for (size_t i = 0; i < reply->length && used + 2 < size; i++)
			out[used++] = reply->text[i] ? reply->text[i] : '~';
		out[used++] = reply->kind == REPLY_STRING ? '\'' : ';';
		out[used] = '\0';
		break;
	case REPLY_INTEGER:
		used = (size_t)snprintf(out, size, ":%" PRId64, reply->integer);
		break;
	case REPLY_NIL:
		used = (size_t)snprintf(out, size, "_");
		break;
	case REPLY_ARRAY:
		used = (size_t)snprintf(out, size, "[");
		for (size_t i = 0; i < reply->count; i++) {
			if (i > 0)
				used += (size_t)snprintf(out + used, size - used, " ");
			used += show(out + used, size - used, reply->items[i]);
		}
		used += (size_t)snprintf(out + used, size - used, "]");
		break;
	}
	return used;
}

/* Feeds `length` bytes in pieces of `piece` and writes all answers, a blank between two, and "!"
 * where the reader gave up. */
static void
read_all(char *out, size_t size, const char *bytes, size_t length, size_t piece)
{
	struct link_reader *reader = reader_new();
	const struct reply *reply;
	struct problem why = {.text = ""};
	size_t used = 0;
	int status = 0;
	out[0] = '\0';
	if (!CHECK(reader != NULL))
		return;
	for (size_t at = 0; at < length && status >= 0; at += piece) {
		size_t now = length - at < piece ? length - at : piece;
		/* A copy of exactly that size: ASan sees a read beyond. */
		char *copy = malloc(now);
		if (copy == NULL)
			break;
		memcpy(copy, bytes + at, now);
		status = reader_feed(reader, copy, now, &why);
		free(copy);
		while (status >= 0 && (status = reader_next(reader, &reply, &why)) == 1) {
			if (used > 0)
				used += (size_t)snprintf(out + used, size - used, " ");
			used += show(out + used, size - used, reply);
		}
	}
	if (status < 0) {
		CHECK(why.text[0] != '\0');
		snprintf(out + used, size - used, "!");
	}
	reader_free(reader);
}

#define TEN_INTEGERS ":0\r\n:1\r\n:2\r\n:3\r\n:4\r\n:5\r\n:6\r\n:7\r\n:8\r\n:9\r\n"

static const struct {
	const char *what, *bytes;
	size_t length; /* 0: to its NUL */
	const char *answers;
} rows[] = {
    {"a status", "+OK\r\n", 0, "+OK;"},
    {"an empty status", "+\r\n", 0, "+;"},
    {"an error", "-ERR no\r\n", 0, "-ERR no;"},
    {"an integer", ":1\r\n", 0, ":1"},
    {"a negative integer", ":-1\r\n", 0, ":-1"},
    {"the largest integer", ":9223372036854775807\r\n", 0, ":9223372036854775807"},
    {"a string", "$3\r\nabc\r\n", 0, "'abc'"},
    {"an empty string", "$0\r\n\r\n", 0, "''"},
    {"a string of syntax", "$8\r\n\r\n*1\r\n$1\r\n", 0, "'\r\n*1\r\n$1'"},
    {"a string with a NUL", "$3\r\na\0b\r\n", 9, "'a~b'"},
    {"nil", "$-1\r\n", 0, "_"},
    {"a nil array", "*-1\r\n", 0, "_"},
    {"an empty array", "*0\r\n", 0, "[]"},
    {"an array of all kinds", "*5\r\n+a\r\n-b\r\n:3\r\n$1\r\nd\r\n$-1\r\n", 0,
	"[+a; -b; :3 'd' _]"},
    {"nested arrays", "*2\r\n*1\r\n*1\r\n:1\r\n*2\r\n*0\r\n$1\r\nx\r\n", 0, "[[[:1]] [[] 'x']]"},
    {"several answers", "+OK\r\n:1\r\n*1\r\n:2\r\n$-1\r\n", 0, "+OK; :1 [:2] _"},
    {"an array as long as may be", "*8\r\n:0\r\n:1\r\n:2\r\n:3\r\n:4\r\n:5\r\n:6\r\n:7\r\n", 0,
	"[:0 :1 :2 :3 :4 :5 :6 :7]"},
    {"half an answer", "*2\r\n:1\r\n", 0, ""},
    {"half a string", "$5\r\nabc", 0, ""},
    {"no line end yet", "+OK\r", 0, ""},
    /* Not the protocol. */
    {"garbage", "hello\r\n", 0, "!"},
    {"a web server", "HTTP/1.1 400 Bad Request\r\n\r\n", 0, "!"},
    {"a TLS alert", "\x15\x03\x01\x00\x02\x02\x16", 7, "!"},
    {"a NUL", "\0", 1, "!"},
    {"an answer and then garbage", ":1\r\nx\r\n", 0, ":1!"},
    {"an unknown kind within an array", "*2\r\n:1\r\n?1\r\n", 0, "!"},
    {"an integer that is none", ":abc\r\n", 0, "!"},
    {"an integer of 100 digits",
	":1111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111\r\n",
	0, "!"},
    {"a length that is none", "$abc\r\n", 0, "!"},
    {"a negative length", "$-5\r\nabc\r\n", 0, "!"},
    {"a negative array", "*-5\r\n", 0, "!"},
    /* Bounds: told off when announced, or at the latest at LINK_MAX_ANSWER. */
    {"an array that is too long", "*513\r\n:1\r\n", 0, "!"},
    {"a huge array", "*100000000\r\n", 0, "!"},
    {"an array of 2^31 and one", "*2147483649\r\n:1\r\n", 0, "!"},
    {"an array of 2^32 and one", "*4294967297\r\n:1\r\n", 0, "!"},
    {"an array of 2^64 and one", "*18446744073709551617\r\n:1\r\n", 0, "!"},
    {"a huge array within an array", "*1\r\n*1000000\r\n", 0, "!"},
    {"arrays nested without end",
	"*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n",
	0, "!"},
    {"a string of 2^64 and one bytes", "$18446744073709551617\r\na\r\n", 0, "!"},
};

static void
test_answers(void)
{
	static const size_t pieces[] = {1, 2, 3, 7, 4096};
	char out[1024];
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		size_t length = rows[i].length ? rows[i].length : strlen(rows[i].bytes);
		tap_case("%s, in pieces of any size", rows[i].what);
		for (size_t k = 0; k < COUNT_OF(pieces); k++) {
			tap_note("pieces of %zu bytes", pieces[k]);
			read_all(out, sizeof out, rows[i].bytes, length, pieces[k]);
			CHECK_TEXT(out, rows[i].answers);
		}
	}
}

static void
read_harmlessly(const void *context)
{
	char out[1024];
	read_all(out, sizeof out, context, strlen(context), 4096);
}

/* A wrong port is a common slip, and who answers there often says so. */
static void
test_strangers(void)
{
	static const struct {
		const char *bytes, *why;
	} strangers[] = {
	    {"HTTP/1.1 400 Bad Request\r\n", "a web server"},
	    {"\x15\x03\x03", "TLS"},
	    {"SSH-2.0-OpenSSH_9.2p1\r\n", "an SSH server"},
	    {"220 mail ESMTP\r\n", "got \"2\""},
	};
	for (size_t i = 0; i < COUNT_OF(strangers); i++) {
		struct link_reader *reader = reader_new();
		const struct reply *reply;
		struct problem why = {.text = ""};
		tap_case("who is no Redis is named: %.5s", strangers[i].bytes);
		CHECK_INT(reader_feed(reader, "+OK\r\n", 5, &why), 0);
		CHECK_INT(reader_next(reader, &reply, &why), 1);
		size_t length = strlen(strangers[i].bytes);
		CHECK_INT(reader_feed(reader, strangers[i].bytes, 1, &why), 0);
		CHECK_INT(reader_feed(reader, strangers[i].bytes + 1, length - 1, &why), 0);
		CHECK_INT(reader_next(reader, &reply, &why), -1);
		CHECK_HAS(why.text, strangers[i].why);
		CHECK_HAS(why.text, "no Redis");

		tap_case("also right behind an answer: %.5s", strangers[i].bytes);
		CHECK_INT(reader_reset(reader), 0);
		char both[64];
		int used = snprintf(both, sizeof both, "+OK\r\n%s", strangers[i].bytes);
		CHECK_INT(reader_feed(reader, both, (size_t)used, &why), 0);
		CHECK_INT(reader_next(reader, &reply, &why), 1);
		CHECK_INT(reader_next(reader, &reply, &why), -1);
		CHECK_HAS(why.text, strangers[i].why);
		reader_free(reader);
	}
}

/* Newer versions of hiredis know RESP3, which nobody asked for. */
static void
test_resp3(void)
{
	static const char *const answers[] = {"#t\r\n", ",1.5\r\n", "(12345678901234567890\r\n",
	    "_\r\n", "%1\r\n+a\r\n:1\r\n", "~2\r\n:1\r\n:2\r\n", ">1\r\n:1\r\n", "=5\r\ntxt:a\r\n",
	    "|1\r\n+a\r\n:1\r\n:2\r\n", "*2\r\n#f\r\n,2\r\n", "%8\r\n" TEN_INTEGERS TEN_INTEGERS};
	for (size_t i = 0; i < COUNT_OF(answers); i++) {
		tap_case("RESP3 does no harm: %.10s", answers[i]);
		tap_survives(read_harmlessly, answers[i]);
	}
}

/* As many bytes as it takes until the reader gives up; at most `most`. */
static size_t
feed_until_told_off(const char *head, char filler, size_t most)
{
	struct link_reader *reader = reader_new();
	const struct reply *reply;
	struct problem why;
	char block[512];
	size_t fed = 0;
	memset(block, filler, sizeof block);
	int status = reader_feed(reader, head, strlen(head), &why);
	while (status == 0 && fed < most) {
		status = reader_next(reader, &reply, &why);
		if (status == 0)
			status = reader_feed(reader, block, sizeof block, &why);
		fed += sizeof block;
	}
	reader_free(reader);
	return status < 0 ? fed : most + 1;
}

static void
test_bounds(void)
{
	tap_case("a string of 600 MB is given up after LINK_MAX_ANSWER bytes of it");
	CHECK(feed_until_told_off("$600000000\r\n", 'x', 1000000) <= LINK_MAX_ANSWER + 512);
	tap_case("a string just over the bound is given up");
	CHECK(feed_until_told_off("$65537\r\n", 'x', 1000000) <= LINK_MAX_ANSWER + 512);
	tap_case("a line without an end is given up");
	CHECK(feed_until_told_off("+", 'x', 1000000) <= LINK_MAX_ANSWER + 512);
	tap_case("a number without an end is given up");
	CHECK(feed_until_told_off("$", '1', 1000000) <= LINK_MAX_ANSWER + 512);

	struct link_reader *reader = reader_new();
	const struct reply *reply;
	struct problem why;
	tap_case("the longest answer is read, and another after it");
	static char answer[LINK_MAX_ANSWER];
	size_t text = LINK_MAX_ANSWER - strlen("$65526\r\n") - 2;
	memset(answer, 'y', sizeof answer);
	memcpy(answer, "$65526\r\n", 8);
	memcpy(answer + sizeof answer - 2, "\r\n", 2);
	CHECK_INT((int64_t)text, 65526);
	for (int round = 0; round < 3; round++) {
		CHECK_INT(reader_feed(reader, answer, sizeof answer, &why), 0);
		if (!CHECK_INT(reader_next(reader, &reply, &why), 1))
			break;
		CHECK_INT((int64_t)reply->length, 65526);
		CHECK(strspn(reply->text, "y") == text);
		CHECK_INT(reader_next(reader, &reply, &why), 0);
	}

	tap_case("4096 items are read however they are nested, 4097 are not");
	/* 240 arrays of 16 in one that has 15 items more: 1 + 240 + 240 * 16 + 15 = 4096. */
	static char bytes[32768];
	for (int more = 0; more < 2; more++) {
		size_t used = (size_t)snprintf(bytes, sizeof bytes, "*%d\r\n", 255 + more);
		for (int i = 0; i < 240; i++)
			used += (size_t)snprintf(bytes + used, sizeof bytes - used,
			    "*16\r\n" TEN_INTEGERS ":0\r\n:1\r\n:2\r\n:3\r\n:4\r\n:5\r\n");
		for (int i = 0; i < 15 + more; i++)
			used += (size_t)snprintf(bytes + used, sizeof bytes - used, ":8\r\n");
		CHECK_INT(reader_feed(reader, bytes, used, &why), 0);
		CHECK_INT(reader_next(reader, &reply, &why), more ? -1 : 1);
	}

	tap_case("after a reset a reader that gave up reads again, and has forgotten what it had");
	CHECK_INT(reader_reset(reader), 0);
	CHECK_INT(reader_feed(reader, "$10\r\nabc", 8, &why), 0);
	CHECK_INT(reader_next(reader, &reply, &why), 0);
	CHECK_INT(reader_reset(reader), 0);
	CHECK_INT(reader_feed(reader, ":5\r\n", 4, &why), 0);
	CHECK_INT(reader_next(reader, &reply, &why), 1);
	CHECK_INT(reply->kind, REPLY_INTEGER);
	CHECK_INT(reply->integer, 5);

	tap_case("a thousand answers in a row use up nothing");
	for (int i = 0; i < 1000 && !tap_failed(); i++) {
		CHECK_INT(reader_feed(reader, "*2\r\n$3\r\nabc\r\n*1\r\n:1\r\n", 21, &why), 0);
		CHECK_INT(reader_next(reader, &reply, &why), 1);
		CHECK_INT((int64_t)reply->count, 2);
	}
	reader_free(reader);
}

static void
test_random(void)
{
	static const char *const pieces[] = {"*", "$", ":", "+", "-", "_", "\r\n", "\r", "\n", "0",
	    "1", "2", "-1", "8", "9", "abc", "\r\n\r\n", "*2\r\n", "$3\r\nabc\r\n", ":5\r\n",
	    "+OK\r\n", "$-1\r\n"};
	uint64_t random = 31;
	char bytes[512], out[4096], again[4096];
	tap_case("20,000 random streams are read the same in pieces of 1 byte as in one");
	for (int i = 0; i < 20000 && !tap_failed(); i++) {
		size_t used = 0;
		for (int64_t k = 1 + tap_random_below(&random, 30); k > 0; k--)
			used += (size_t)snprintf(bytes + used, sizeof bytes - used, "%s",
			    pieces[tap_random_below(&random, COUNT_OF(pieces))]);
		tap_note("%s", bytes);
		read_all(out, sizeof out, bytes, used, used);
		read_all(again, sizeof again, bytes, used, 1);
		CHECK_TEXT(again, out);
	}
}

static void
test_format(void)
{
	static const char *const time[] = {"TIME"};
	static const char *const eval[] = {"EVAL", "return 1\r\n", "0", ""};
	char out[128];
	tap_case("a command is an array of strings, whatever is in them");
	CHECK_INT(reader_format(out, sizeof out, 1, time), 14);
	CHECK(memcmp(out, "*1\r\n$4\r\nTIME\r\n", 14) == 0);
	long length = reader_format(out, sizeof out, 4, eval);
	CHECK_INT(length, 4 + 10 + 5 + 12 + 7 + 6);
	CHECK(memcmp(out, "*4\r\n$4\r\nEVAL\r\n$10\r\nreturn 1\r\n\r\n$1\r\n0\r\n$0\r\n\r\n",
		  47 - 3) == 0);

	tap_case("a command that does not fit is not written at all");
	memset(out, '#', sizeof out);
	CHECK_INT(reader_format(out, 13, 1, time), -1);
	for (size_t i = 0; i < sizeof out; i++)
		CHECK(out[i] == '#');
	CHECK_INT(reader_format(out, 0, 1, time), -1);
	CHECK_INT(reader_format(out, 14, 1, time), 14);
	CHECK_INT(out[14], '#');
}

int
main(void)
{
	test_answers();
	test_strangers();
	test_resp3();
	test_bounds();
	test_random();
	test_format();
	return tap_end();
}
