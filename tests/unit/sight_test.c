/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* view/slice, view/sight: what a server's answers show of one lock, whatever it answers. */
#include "view/sight.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replies.h"
#include "tap.h"

#define NOW "'1764000000123456'"
#define NOW_MS "1764000000123"

static struct sight sight;

/* Entries of a page, made with add(). */
static char entries[4096];

static void
add(const char *role, const char *name, const char *score, const char *record, const char *breaker)
{
	const char *const parts[] = {role, name, score, record, breaker};
	for (size_t i = 0; i < COUNT_OF(parts); i++)
		snprintf(entries + strlen(entries), sizeof entries - strlen(entries), "%zu:%s",
		    strlen(parts[i]), parts[i]);
}

/* Takes a page of the form "'string' 'value' 'pttl' 'held' 'waiting' 'next'" and of the entries. */
static bool
take(const char *parts)
{
	char text[8192];
	snprintf(text, sizeof text, "[" NOW " %s '%s']", parts, entries);
	entries[0] = '\0';
	return sight_add_page(&sight, reply_from(text));
}

static void
begin(void)
{
	sight_begin(&sight, "job", "lock:job");
}

static void
test_slices(void)
{
	static const struct {
		const char *text, *part, *rest; /* NULL: none */
	} rows[] = {
	    {"3:abc", "abc", ""},
	    {"0:", "", ""},
	    {"3:abc3:def", "abc", "3:def"},
	    {"3:a:c", "a:c", ""},
	    {"", NULL, NULL},
	    {"3", NULL, NULL},
	    {":", NULL, NULL},
	    {":abc", NULL, NULL},
	    {"4:abc", NULL, NULL},
	    {"-1:abc", NULL, NULL},
	    {" 1:abc", NULL, NULL},
	    {"99999999999999999999999999999999:abc", NULL, NULL},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char copy[64];
		struct slice slice = {rows[i].text, rows[i].text + strlen(rows[i].text)}, part;
		bool taken = slice_take(&slice, &part);
		tap_case("a slice of '%s'", rows[i].text);
		CHECK(taken == (rows[i].part != NULL));
		if (!taken)
			continue;
		slice_copy(&part, copy, sizeof copy);
		CHECK_TEXT(copy, rows[i].part);
		slice_copy(&slice, copy, sizeof copy);
		CHECK_TEXT(copy, rows[i].rest);
		slice_copy(&part, copy, 2);
		CHECK(strlen(copy) <= 1);
	}
}

static void
test_numbers(void)
{
	static const struct {
		const char *text;
		bool good;
		int64_t number;
	} rows[] = {
	    {"0", true, 0},
	    {"-1", true, -1},
	    {"9223372036854775807", true, INT64_MAX},
	    {"9223372036854775808", false, 0},
	    {"-", false, 0},
	    {"", false, 0},
	    {"1.5", false, 0},
	    {"1e3", false, 0},
	    {"00000000000000000000000000000000001", false, 0},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct slice slice = {rows[i].text, rows[i].text + strlen(rows[i].text)};
		int64_t number = 0;
		tap_case("a number in '%s'", rows[i].text);
		CHECK(slice_number(&slice, &number) == rows[i].good);
		if (rows[i].good)
			CHECK_INT(number, rows[i].number);
	}
}

static void
test_states(void)
{
	static const struct {
		const char *what, *parts, *name, *record;
		enum sight_state state;
		enum party_role role;
	} rows[] = {
	    {"held", "'string' 'tok' '5000' '1' '0' ''", "tok", "host=h\nfence=7\n", SIGHT_HELD,
		PARTY_HOLDING},
	    {"granted", "'string' 'tok' '5000' '1' '0' ''", "tok", "host=h\nsince=5\n", SIGHT_HELD,
		PARTY_GRANTED},
	    {"foreign", "'string' 'tok' '5000' '1' '0' ''", "tok", "", SIGHT_FOREIGN,
		PARTY_FOREIGN},
	    {"done", "'string' 'dlock!done:tok' '5000' '1' '0' ''", "dlock!done:tok",
		"host=h\nfence=7\n", SIGHT_DONE, PARTY_DONE},
	    {"done, nothing known", "'string' 'dlock!done:tok' '5000' '1' '0' ''", "dlock!done:tok",
		"", SIGHT_DONE, PARTY_DONE},
	    {"broken", "'string' 'dlock!broken:tok' '5000' '1' '0' ''", "dlock!broken:tok",
		"host=h\nfence=7\n", SIGHT_BROKEN, PARTY_BROKEN},
	    {"no number of slots", "'string' 'dlock!slots:0' '5000' '1' '0' ''", "tok", "",
		SIGHT_FOREIGN, PARTY_FOREIGN},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		tap_case("state: %s", rows[i].what);
		begin();
		add("h", rows[i].name, "", rows[i].record, "");
		CHECK(take(rows[i].parts));
		CHECK_INT(sight.state, rows[i].state);
		CHECK_INT((int)sight.holders, 1);
		CHECK_INT(sight.parties[0].role, rows[i].role);
		CHECK_TEXT(sight.parties[0].token, "tok");
		CHECK_INT(sight.parties[0].left_ms, 5000);
		CHECK_INT(sight.left_ms, 5000);
		CHECK_INT(sight.parties[0].slot, -1);
	}

	tap_case("state: nothing there");
	begin();
	CHECK(take("'none' '' '-2' '0' '0' ''"));
	CHECK_INT(sight.state, SIGHT_FREE);
	CHECK_INT(sight.left_ms, -1);
	tap_case("state: a key of another type");
	begin();
	CHECK(take("'hash' '' '-1' '1' '0' ''"));
	CHECK_INT(sight.state, SIGHT_FOREIGN);
	CHECK_TEXT(sight.type, "hash");
	CHECK_INT(sight.left_ms, -1);
	tap_case("state: a marker without members");
	begin();
	CHECK(take("'string' 'dlock!shared' '5000' '0' '0' ''"));
	CHECK_INT(sight.state, SIGHT_FREE);
	CHECK_INT(sight.left_ms, -1);
}

static void
test_members(void)
{
	tap_case("slots: numbers and expiry come from the score; in the order of slots");
	begin();
	add("h", "b", "1764000001123.0029296875", "fence=2\n", ""); /* 3/1024 */
	add("h", "dlock!broken:a", "1764000002123", "fence=1\n", "user=alice\n");
	CHECK(take("'string' 'dlock!slots:4' '90000' '2' '0' ''"));
	CHECK_INT(sight.state, SIGHT_SLOTS);
	CHECK_INT(sight.slots, 4);
	CHECK_INT(sight.left_ms, 2000);
	CHECK_INT((int)sight.holders, 2);
	CHECK_TEXT(sight.parties[0].token, "a");
	CHECK_INT(sight.parties[0].role, PARTY_BROKEN);
	CHECK(sight.parties[0].breaker_known);
	CHECK_TEXT(sight.parties[0].breaker.user, "alice");
	CHECK_INT(sight.parties[0].slot, 0);
	CHECK_INT(sight.parties[1].slot, 3);
	CHECK_INT(sight.parties[1].left_ms, 1000);

	tap_case("shared: no slots; one that two pages show is there once; waiters follow");
	begin();
	add("h", "a", "1764000001123", "fence=1\nsince=5\n", "");
	CHECK(take("'string' 'dlock!shared' '90000' '2' '3' 'h1 1'"));
	CHECK_INT(sight.held, 2);
	CHECK_INT(sight.waiting, 3);
	add("h", "a", "1764000009123", "fence=1\nsince=5\n", "");
	add("h", "b", "1764000001123", "fence=2\nsince=4\n", "");
	add("w", "w1", "1", "host=x\nmode=shared\n", "");
	CHECK(take("'string' 'dlock!shared' '90000' '2' '3' 'w1'"));
	add("w", "w2", "2", "host=y\n", "");
	CHECK(take("'none' '' '-2' '0' '3' ''")); /* gone meanwhile: what was shown stays */
	CHECK_INT(sight.state, SIGHT_SHARED);
	CHECK_INT((int)sight.holders, 2);
	CHECK_INT((int)sight.count, 4);
	CHECK_INT(sight.waiting, 2);
	CHECK_TEXT(sight.parties[0].token, "b"); /* the elder */
	CHECK_INT(sight.parties[0].slot, -1);
	CHECK_TEXT(sight.parties[2].token, "w1");
	CHECK_INT(sight.parties[2].role, PARTY_WAITING);
	CHECK_TEXT(sight.parties[3].token, "w2");
	CHECK_TEXT(sight.next, "");
}

static void
test_nonsense(void)
{
	static const char *const pages[] = {
	    "_",
	    ":1",
	    "'x'",
	    "[]",
	    "[" NOW " 'string' 'x' '1' '1' '0' '']",
	    "[" NOW " 'string' 'x' '1' '1' '0' '' :5]",
	    "['soon' 'string' 'x' '1' '1' '0' '' '']",
	    "[" NOW " 'string' 'x' 'no' '1' '0' '' '']",
	    "[" NOW " 'string' 'x' '1' '1' '0' '' '1:h']",
	    "[" NOW " 'string' 'x' '1' '1' '0' '' '1:x1:a0:0:0:']",
	    "[" NOW " 'string' 'x' '1' '1' '0' '' '1:w1:a0:0:0:1:h1:b0:0:0:']",
	    "[" NOW " 'string' 'x' '1' '1' '0' '' '1:h9:a0:0:0:']",
	    "[" NOW " 'string' 'x' '1' '1' '0' "
	    "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx' '']",
	};
	for (size_t i = 0; i < COUNT_OF(pages); i++) {
		tap_case("no page: %s", pages[i]);
		begin();
		CHECK(!sight_add_page(&sight, reply_from(pages[i])));
		CHECK(!sight.no_memory);
	}
}

static void
test_scores(void)
{
	static const char *const scores[] = {"", "x", "-1", "inf", "nan", "1e300",
	    "9007199254740992", "1 2", "0x10000000000000"};
	for (size_t i = 0; i < COUNT_OF(scores); i++) {
		tap_case("no score: '%s'", scores[i]);
		begin();
		add("h", "a", scores[i], "fence=1\n", "");
		CHECK(take("'string' 'dlock!slots:4' '90000' '1' '0' ''"));
		CHECK_INT(sight.parties[0].slot, -1);
		CHECK_INT(sight.parties[0].left_ms, 90000);
	}
	tap_case("a score that is over");
	begin();
	add("h", "a", "1", "fence=1\n", "");
	CHECK(take("'string' 'dlock!shared' '90000' '1' '0' ''"));
	CHECK_INT(sight.parties[0].left_ms, 0);
}

static void
test_break(void)
{
	enum sight_result result;
	int64_t count;
	tap_case("break: a holder was told to end");
	begin();
	CHECK(sight_add_break(&sight,
	    reply_from("['BROKEN' " NOW " :5000 :1 'string' 'tok' '3:tok0:7:fence=60:']"), &result,
	    &count));
	CHECK_INT(result, RESULT_BROKEN);
	CHECK_INT(count, 1);
	CHECK_INT((int)sight.holders, 1);
	CHECK_INT(sight.parties[0].role, PARTY_HOLDING);
	CHECK_INT(sight.parties[0].left_ms, 5000);

	tap_case("break: a foreign key");
	begin();
	CHECK(sight_add_break(&sight, reply_from("['FOREIGN' " NOW " :-1 :1 'hash' '' '']"),
	    &result, &count));
	CHECK_INT(result, RESULT_FOREIGN);
	CHECK_INT(sight.state, SIGHT_FOREIGN);
	CHECK_TEXT(sight.type, "hash");
	CHECK_INT((int)sight.holders, 0);

	static const char *const nonsense[] = {
	    "['BROKEN' " NOW " :5000 :1 'string' 'tok']",
	    "['DONE' " NOW " :5000 :1 'string' 'tok' '']",
	    "['BROKEN' " NOW " '5000' :1 'string' 'tok' '']",
	    "['BROKEN' " NOW " :5000 :1 'string' 'tok' '3:tok']",
	    "'BROKEN'",
	};
	for (size_t i = 0; i < COUNT_OF(nonsense); i++) {
		tap_case("break: no answer: %s", nonsense[i]);
		begin();
		CHECK(!sight_add_break(&sight, reply_from(nonsense[i]), &result, &count));
	}
}

int
main(void)
{
	test_slices();
	test_numbers();
	test_states();
	test_members();
	test_nonsense();
	test_scores();
	test_break();
	sight_free(&sight);
	return tap_end();
}
