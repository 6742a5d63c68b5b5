/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* view/picture, view/glob: a sight for people and as JSON; the pattern of what is listed. */
#include "view/picture.h"

#include <stdlib.h>
#include <string.h>

#include "tap.h"
#include "view/glob.h"

#define NOW_US INT64_C(1764000000123456)

static struct party parties[2];
static struct sight sight;
static struct text text;

/* A lock with that holder, and a waiter behind it. */
static void
begin(enum sight_state state, enum party_role role)
{
	memset(parties, 0, sizeof parties);
	sight = (struct sight){.state = state,
	    .left_ms = 5000,
	    .now_us = NOW_US,
	    .held = 1,
	    .parties = parties,
	    .count = 1,
	    .room = 2,
	    .holders = 1};
	strcpy(sight.name, "job");
	strcpy(sight.key, "lock:job");
	strcpy(sight.type, "string");
	struct identity *identity = &parties[0].identity;
	parties[0] = (struct party){.role = role,
	    .slot = -1,
	    .left_ms = 5000,
	    .known = true,
	    .since_us = NOW_US - 61000000};
	strcpy(parties[0].token, "tok");
	strcpy(identity->host, "web3");
	strcpy(identity->user, "ann");
	strcpy(identity->command, "rsync");
	strcpy(identity->fence, "9223372036854775807");
	identity->pid = 4711;
}

static const char *
text_of(void)
{
	static char copy[65536];
	CHECK(text.used < sizeof copy);
	memcpy(copy, text.bytes, text.used);
	copy[text.used] = '\0';
	text_free(&text);
	return copy;
}

#define WHO "ann@web3 pid 4711 rsync, for 1m01s, fence 9223372036854775807"

static void
test_text(void)
{
	tap_case("held");
	begin(SIGHT_HELD, PARTY_HOLDING);
	picture_add_text(&text, &sight);
	CHECK_TEXT(text_of(), "job: held by " WHO "; expires in 5.0s\n");

	tap_case("held, without an expiry, in a list");
	sight.left_ms = parties[0].left_ms = -1;
	picture_add_name(&text, sight.name, 6);
	picture_add_row(&text, &sight, "");
	CHECK_TEXT(text_of(), "job     held     " WHO "; it has no expiry\n");

	tap_case("slots, and a waiter");
	begin(SIGHT_SLOTS, PARTY_HOLDING);
	sight.slots = 3;
	sight.count = 2;
	sight.waiting = 1;
	parties[0].slot = 2;
	parties[1] = (struct party){.role = PARTY_WAITING, .known = true};
	strcpy(parties[1].identity.mode, "slots:3");
	picture_add_text(&text, &sight);
	CHECK_TEXT(text_of(),
	    "job: 1 of 3 slots held; the last expires in 5.0s; 1 waiting:\n"
	    "  slot 2: held by " WHO "; expires in 5.0s\n"
	    "  1. ?@? ?, slots:3\n");

	tap_case("several, in a list: broken and done ones are counted");
	begin(SIGHT_SHARED, PARTY_HOLDING);
	sight.held = 2;
	sight.count = sight.holders = 2;
	parties[1] = (struct party){.role = PARTY_BROKEN, .slot = -1, .left_ms = 5000};
	picture_add_row(&text, &sight, "");
	CHECK_TEXT(text_of(),
	    "  shared   shared by 2 (1 broken): " WHO ", and 1 more; the last expires in 5.0s\n");
	parties[0].role = PARTY_DONE;
	picture_add_row(&text, &sight, "");
	CHECK_HAS(text_of(), "  shared   shared by 2 (1 broken, 1 done): ann@web3");
	sight.held = 70;
	parties[1].role = PARTY_DONE;
	picture_add_row(&text, &sight, "");
	CHECK_HAS(text_of(), "shared by 70 (2 or more done): ann@web3");

	tap_case("broken");
	begin(SIGHT_BROKEN, PARTY_BROKEN);
	parties[0].breaker_known = true;
	strcpy(parties[0].breaker.user, "bob");
	picture_add_text(&text, &sight);
	CHECK_TEXT(text_of(),
	    "job: broken by bob@? ?, held by " WHO "; free in 5.0s at the latest\n");

	tap_case("nothing of it can drive a terminal");
	begin(SIGHT_FOREIGN, PARTY_FOREIGN);
	parties[0].known = false;
	strcpy(sight.name, "a\x1b[2J\n");
	strcpy(parties[0].token, "\x07\xff");
	picture_add_text(&text, &sight);
	CHECK_TEXT(text_of(),
	    "a\\x1b[2J\\x0a: held by an unknown client (token \\x07\\xff); expires in 5.0s\n");
}

static void
test_longest(void)
{
	tap_case("the longest of everything");
	begin(SIGHT_BROKEN, PARTY_BROKEN);
	struct identity *identity = &parties[0].identity;
	memset(sight.name, '\x1b', sizeof sight.name - 1);
	memset(sight.key, '\x1b', sizeof sight.key - 1);
	memset(identity->host, '\x1b', sizeof identity->host - 1);
	memset(identity->user, '\x1b', sizeof identity->user - 1);
	memset(identity->command, '\x1b', sizeof identity->command - 1);
	memset(identity->label, '\x1b', sizeof identity->label - 1);
	parties[0].breaker_known = true;
	parties[0].breaker = *identity;
	picture_add_text(&text, &sight);
	const char *line = text_of();
	CHECK(strlen(line) > 4000);
	CHECK(strcspn(line, "\n") == strlen(line) - 1);
	picture_add_row(&text, &sight, "");
	CHECK_HAS(text_of(), "; free in 5.0s at the latest\n");
	CHECK_INT(picture_width(sight.name), 40);
	picture_add_json(&text, &sight, NULL, NULL);
	CHECK(strlen(text_of()) > 8192);
}

static void
test_json(void)
{
	static const char object[] =
	    "{\"name\":\"job\",\"key\":\"lock:job\",\"state\":\"held\",\"type\":null,\"slots\":null,"
	    "\"ttl_ms\":5000,\"holders\":[{\"state\":\"held\",\"token\":\"tok\","
	    "\"fence\":\"9223372036854775807\",\"host\":\"web3\",\"pid\":4711,\"user\":\"ann\","
	    "\"command\":\"rsync\",\"label\":null,\"since\":\"2025-11-24T15:58:59.123Z\","
	    "\"mode\":null,\"slot\":null,\"ttl_ms\":5000,\"broken_by\":null}],\"waiters\":[]}";
	tap_case("JSON: an object");
	begin(SIGHT_HELD, PARTY_HOLDING);
	picture_add_json(&text, &sight, NULL, NULL);
	CHECK_TEXT(text_of(), object);

	tap_case("JSON: what --break did");
	struct sight none = {.state = SIGHT_FREE, .left_ms = -1};
	const struct picture_result result = {.word = "freed", .taken = &sight, .count = 7};
	picture_add_json(&text, &none, &result, NULL);
	const char *made = text_of();
	CHECK_HAS(made, "\"state\":\"free\",");
	CHECK_HAS(made,
	    "\"waiters\":[],\"result\":\"freed\",\"taken\":7,\"taken_from\":[{\"state\":");
}

static void
test_globs(void)
{
	static const struct {
		const char *prefix, *glob, *pattern;
	} rows[] = {
	    {"lock:", NULL, "lock:*"},
	    {"", NULL, "*"},
	    {"", "", ""},
	    {"lock:", "a*[b]\\?", "lock:a*[b]\\?"},
	    {"a*b?c[d]e\\f-g^", "*", "a\\*b\\?c\\[d]e\\\\f-g^*"},
	};
	char pattern[GLOB_PATTERN_SIZE], longest[GLOB_MAX_BYTES + 2], prefix[PREFIX_MAX_BYTES + 1];
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		tap_case("the pattern of prefix '%s' and glob '%s'", rows[i].prefix,
		    rows[i].glob ? rows[i].glob : "(none)");
		CHECK(glob_make_pattern(pattern, rows[i].prefix, rows[i].glob));
		CHECK_TEXT(pattern, rows[i].pattern);
	}
	tap_case("the longest glob and prefix, and one that is longer");
	memset(longest, '*', sizeof longest);
	longest[GLOB_MAX_BYTES] = '\0';
	memset(prefix, '*', sizeof prefix);
	prefix[PREFIX_MAX_BYTES] = '\0';
	CHECK(glob_make_pattern(pattern, prefix, longest));
	CHECK(strlen(pattern) == GLOB_PATTERN_SIZE - 1);
	longest[GLOB_MAX_BYTES] = '*';
	longest[GLOB_MAX_BYTES + 1] = '\0';
	CHECK(!glob_make_pattern(pattern, prefix, longest));
}

int
main(void)
{
	test_text();
	test_longest();
	test_json();
	test_globs();
	return tap_end();
}
