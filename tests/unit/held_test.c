/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* run/held: DLOCK_HELD, as it is written and as anybody may have changed it. */
#include "run/held.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

#define TOKEN_A "0b5ec1f2-8d0a-4a52-9f43-cd7b14f63d4c"
#define TOKEN_B "11111111-2222-4333-8444-555555555555"
#define ENTRY_A "4712:8123456:9f2c41d07a6b3e55:" TOKEN_A ":lock:nightly"
#define ENTRY_B "4715:8123500:00000000000000ff:" TOKEN_B ":lock:b"

static struct held held;
static char text[HELD_SIZE + 128]; /* and one entry more */

static struct held_entry
make_entry(int runner, const char *address, const char *token, const char *key)
{
	struct held_entry entry = {.runner = runner, .started_cs = 8123500};
	snprintf(entry.address, sizeof entry.address, "%s", address);
	snprintf(entry.token, sizeof entry.token, "%s", token);
	snprintf(entry.key, sizeof entry.key, "%s", key);
	return entry;
}

static bool
is_printable(const char *value)
{
	while (*value > ' ' && *value <= '~')
		value++;
	return *value == '\0';
}

static void
test_reading(void)
{
	tap_case("one entry");
	CHECK(held_parse(&held, ENTRY_A));
	CHECK_INT(held.count, 1);
	CHECK_INT(held.entries[0].runner, 4712);
	CHECK_INT(held.entries[0].started_cs, 8123456);
	CHECK_TEXT(held.entries[0].address, "9f2c41d07a6b3e55");
	CHECK_TEXT(held.entries[0].token, TOKEN_A);
	CHECK_TEXT(held.entries[0].key, "lock:nightly");

	tap_case("the innermost comes last, and is found first");
	CHECK(held_parse(&held, ENTRY_A " " ENTRY_B " 1:1:-:" TOKEN_A ":lock:nightly"));
	CHECK_INT(held.count, 3);
	CHECK(held_innermost(&held) == &held.entries[2]);
	CHECK_TEXT(held.entries[2].address, "");
	CHECK(held_find_key(&held, "lock:b") == &held.entries[1]);
	CHECK(held_find_key(&held, "lock:nightly") == &held.entries[2]);
	CHECK(held_find_key(&held, "lock:") == NULL);
	CHECK(held_find_token(&held, TOKEN_B) == &held.entries[1]);
	CHECK(held_find_token(&held, TOKEN_A) == &held.entries[2]);
	CHECK(held_find_token(&held, "") == NULL);

	tap_case("of none, none is the innermost");
	held.count = 0;
	CHECK(held_innermost(&held) == NULL);
	CHECK(held_find_key(&held, "lock:b") == NULL);
}

static void
test_writing(void)
{
	static const char *const keys[] = {"lock:job", "a", "a b", "%", "%41", "100%: \n\t\x01\x7f",
	    "caf\xc3\xa9 \xff", ":::", "lock:{a}#x", " ", "=", "\"'$`\\"};
	for (size_t i = 0; i < COUNT_OF(keys); i++) {
		tap_case("key %zu comes back as it was, in printable characters", i);
		held.count = 0;
		struct held_entry entry = make_entry(7, "0123456789abcdef", TOKEN_A, keys[i]);
		if (!CHECK(held_write(&held, &entry, text)))
			continue;
		CHECK(is_printable(text));
		CHECK(held_parse(&held, text));
		CHECK_INT(held.count, 1);
		CHECK_TEXT(held.entries[0].key, keys[i]);
		CHECK_TEXT(held.entries[0].address, "0123456789abcdef");
	}

	tap_case("an entry is written behind those that were read");
	CHECK(held_parse(&held, ENTRY_A));
	struct held_entry entry = make_entry(4715, "00000000000000ff", TOKEN_B, "lock:b");
	CHECK(held_write(&held, &entry, text));
	CHECK_TEXT(text, ENTRY_A " " ENTRY_B);

	tap_case("one that cannot be asked has a - for its address");
	held.count = 0;
	entry.address[0] = '\0';
	CHECK(held_write(&held, &entry, text));
	CHECK_TEXT(text, "4715:8123500:-:" TOKEN_B ":lock:b");
}

static void
test_depth(void)
{
	static char longest[KEY_SIZE];
	memset(longest, 0xff, sizeof longest - 1);
	struct held_entry entry = make_entry(2147483647, "ffffffffffffffff", TOKEN_A, longest);
	entry.started_cs = INT64_MAX;
	tap_case("%d entries of the longest kind fit, into one string of execve too", HELD_DEEPEST);
	held.count = 0;
	for (int i = 0; i < HELD_DEEPEST; i++) {
		if (!CHECK(held_write(&held, &entry, text)) || !CHECK(held_parse(&held, text)))
			return;
		CHECK_INT(held.count, i + 1);
	}
	CHECK_TEXT(held.entries[HELD_DEEPEST - 1].key, longest);
	CHECK(strlen(text) < HELD_SIZE);
	CHECK(strlen("DLOCK_HELD=") + strlen(text) + 1 < 131072);
	CHECK(!held_write(&held, &entry, text));

	tap_case("one more is not read");
	strcat(text, " " ENTRY_A);
	CHECK(!held_parse(&held, text));
	CHECK_INT(held.count, 0);
}

static void
test_nonsense(void)
{
	static const char *const rows[] = {"", " ", "x", ":", "::::", "1", "1:", "lock:nightly",
	    " " ENTRY_A, ENTRY_A " ", ENTRY_A "  " ENTRY_B, ENTRY_A "\n", ENTRY_A "\t" ENTRY_B,
	    ENTRY_A " x",
	    /* The number. */
	    ":5:9f2c41d07a6b3e55:" TOKEN_A ":k", "0:5:9f2c41d07a6b3e55:" TOKEN_A ":k",
	    "01:5:9f2c41d07a6b3e55:" TOKEN_A ":k", "-1:5:9f2c41d07a6b3e55:" TOKEN_A ":k",
	    "+1:5:9f2c41d07a6b3e55:" TOKEN_A ":k", "1x:5:9f2c41d07a6b3e55:" TOKEN_A ":k",
	    "2147483648:5:9f2c41d07a6b3e55:" TOKEN_A ":k",
	    "99999999999999999999999999:5:9f2c41d07a6b3e55:" TOKEN_A ":k",
	    "1:9f2c41d07a6b3e55:" TOKEN_A ":k", "1::9f2c41d07a6b3e55:" TOKEN_A ":k",
	    "1:0:9f2c41d07a6b3e55:" TOKEN_A ":k", "1:-5:9f2c41d07a6b3e55:" TOKEN_A ":k",
	    "1:9223372036854775808:9f2c41d07a6b3e55:" TOKEN_A ":k",
	    /* The address. */
	    "1:5::" TOKEN_A ":k", "1:5:9f2c41d07a6b3e5:" TOKEN_A ":k",
	    "1:5:9f2c41d07a6b3e555:" TOKEN_A ":k", "1:5:9F2C41D07A6B3E55:" TOKEN_A ":k",
	    "1:5:../../etc/passwd:" TOKEN_A ":k", "1:5:--:" TOKEN_A ":k",
	    /* The token. */
	    "1:5:9f2c41d07a6b3e55::k", "1:5:9f2c41d07a6b3e55:" TOKEN_A "0:k",
	    "1:5:9f2c41d07a6b3e55:0b5ec1f2:k", "1:5:9f2c41d07a6b3e55:" TOKEN_A,
	    /* The key. */
	    "1:5:9f2c41d07a6b3e55:" TOKEN_A ":", "1:5:9f2c41d07a6b3e55:" TOKEN_A ":%",
	    "1:5:9f2c41d07a6b3e55:" TOKEN_A ":%4", "1:5:9f2c41d07a6b3e55:" TOKEN_A ":%4g",
	    "1:5:9f2c41d07a6b3e55:" TOKEN_A ":%00", "1:5:9f2c41d07a6b3e55:" TOKEN_A ":a%00b",
	    "1:5:9f2c41d07a6b3e55:" TOKEN_A ":\x01", "1:5:9f2c41d07a6b3e55:" TOKEN_A ":\xff",
	    "1:5:9f2c41d07a6b3e55:" TOKEN_A ":a\x7f"};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		tap_case("nonsense counts for nothing: '%s'", rows[i]);
		held.count = 5;
		CHECK(!held_parse(&held, rows[i]));
		CHECK_INT(held.count, 0);
	}

	tap_case("a key that is too long counts for nothing, one of the longest does");
	int head = sprintf(text, "1:5:-:%s:", TOKEN_A);
	memset(text + head, 'k', KEY_SIZE);
	text[head + KEY_SIZE] = '\0';
	CHECK(!held_parse(&held, text));
	text[head + KEY_SIZE - 1] = '\0';
	CHECK(held_parse(&held, text));
}

/* In a block of exactly its size, so that the sanitizer sees a read behind its end. */
static bool
parse_exactly(const char *value, size_t length)
{
	char *copy = malloc(length + 1);
	if (copy == NULL)
		return false;
	memcpy(copy, value, length);
	copy[length] = '\0';
	bool good = held_parse(&held, copy);
	free(copy);
	return good;
}

static void
test_mutations(void)
{
	static const char whole[] = ENTRY_A " " ENTRY_B;
	uint64_t random = 20261130;
	tap_case("cut anywhere it is whole entries or nothing");
	for (size_t length = 0; length < sizeof whole - 1 && !tap_failed(); length++) {
		bool good = parse_exactly(whole, length);
		CHECK(held.count == (good ? (length > strlen(ENTRY_A) ? 2 : 1) : 0));
	}
	tap_case("changed anywhere it is read within its bounds, and what is read can be written");
	for (int i = 0; i < 20000 && !tap_failed(); i++) {
		char value[sizeof whole];
		memcpy(value, whole, sizeof whole);
		int64_t changes = 1 + tap_random_below(&random, 3);
		for (int64_t k = 0; k < changes; k++)
			value[tap_random_below(&random, sizeof whole - 1)] =
			    (char)(1 + tap_random_below(&random, 255));
		if (!parse_exactly(value, sizeof whole - 1))
			continue;
		struct held_entry last = held.entries[held.count - 1];
		int count = held.count--;
		CHECK(held_write(&held, &last, text));
		CHECK(held_parse(&held, text));
		CHECK_INT(held.count, count);
	}
}

int
main(void)
{
	test_reading();
	test_writing();
	test_depth();
	test_nonsense();
	test_mutations();
	return tap_end();
}
