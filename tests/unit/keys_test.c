/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* base/keys: the names of a lock's keys (SPEC section 7). That all of them hash to one slot of a
 * cluster is checked with a hash function of our own (R18, P93). */
#include "base/keys.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tap.h"

/* CRC-16/XMODEM: polynomial 0x1021, no reflection, starts at 0 (Redis cluster specification). */
static unsigned int
crc16(const char *bytes, size_t length)
{
	unsigned int crc = 0;
	for (size_t i = 0; i < length; i++) {
		crc ^= (unsigned int)(unsigned char)bytes[i] << 8;
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 0x8000 ? (crc << 1 ^ 0x1021) & 0xffff : crc << 1;
	}
	return crc;
}

/* What Redis makes of a key: the bytes between the first { and the first } after it, if there are
 * any, else the whole. Written from the specification, not from base/keys.c. */
static unsigned int
slot_of(const char *key)
{
	size_t length = strlen(key);
	size_t open = strcspn(key, "{");
	if (open < length) {
		size_t inside = strcspn(key + open + 1, "}");
		if (key[open + 1 + inside] == '}' && inside > 0)
			return crc16(key + open + 1, inside) % 16384;
	}
	return crc16(key, length) % 16384;
}

static void
test_slots_themselves(void)
{
	/* As CLUSTER KEYSLOT says; 123456789 is the check value of the CRC. */
	static const struct {
		const char *key;
		unsigned int slot;
	} rows[] = {
	    {"123456789", 12739},
	    {"foo", 12182},
	    {"bar", 5061},
	    {"{foo}bar", 12182},
	    {"a{foo}{bar}", 12182},
	    {"", 0},
	};
	tap_case("the test's own slot function agrees with Redis");
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		tap_note("key '%s'", rows[i].key);
		CHECK_INT(slot_of(rows[i].key), rows[i].slot);
	}
	CHECK(slot_of("foo{}bar") != slot_of("foo"));
	CHECK_INT(slot_of("foo{{bar}}"), slot_of("{bar"));
}

static void
test_siblings(void)
{
	static const struct {
		const char *prefix, *name, *lock, *fence, *info;
	} rows[] = {
	    {"lock:", "job", "lock:job", "lock:job#fence{lock:job}", "lock:job#info{lock:job}"},
	    {"", "job", "job", "job#fence{job}", "job#info{job}"},
	    {"", "x", "x", "x#fence{x}", "x#info{x}"},
	    {"lock:", "a b\n\x01\xff", "lock:a b\n\x01\xff",
		"lock:a b\n\x01\xff#fence{lock:a b\n\x01\xff}",
		"lock:a b\n\x01\xff#info{lock:a b\n\x01\xff}"},
	    {"lock:", "{job}", "lock:{job}", "lock:{job}#fence", "lock:{job}#info"},
	    {"lock:", "{job}:7", "lock:{job}:7", "lock:{job}:7#fence", "lock:{job}:7#info"},
	    {"{app}:", "job", "{app}:job", "{app}:job#fence", "{app}:job#info"},
	    {"lock:", "{a}{b}", "lock:{a}{b}", "lock:{a}{b}#fence", "lock:{a}{b}#info"},
	    {"lock:", "{{a}}", "lock:{{a}}", "lock:{{a}}#fence", "lock:{{a}}#info"},
	    {"", "}{a}", "}{a}", "}{a}#fence", "}{a}#info"},
	    {"", "{a}}", "{a}}", "{a}}#fence", "{a}}#info"},
	    {"", "{a}{", "{a}{", "{a}{#fence", "{a}{#info"},
	    /* Over the seam between prefix and name. */
	    {"l{", "job}", "l{job}", "l{job}#fence", "l{job}#info"},
	    /* Looks like siblings, and is none of anybody's. */
	    {"", "job#fence", "job#fence", "job#fence#fence{job#fence}",
		"job#fence#info{job#fence}"},
	    {"lock:", "info", "lock:info", "lock:info#fence{lock:info}",
		"lock:info#info{lock:info}"},
	    {"", "job#x{job}", "job#x{job}", "job#x{job}#fence", "job#x{job}#info"},
	    {"", "job#fence{jab}", "job#fence{jab}", "job#fence{jab}#fence", "job#fence{jab}#info"},
	    {"", "job#fence{job}x", "job#fence{job}x", "job#fence{job}x#fence",
		"job#fence{job}x#info"},
	    {"", "a{#fence{a{}", "a{#fence{a{}", "a{#fence{a{}#fence", "a{#fence{a{}#info"},
	    {"", "#fence", "#fence", "#fence#fence{#fence}", "#fence#info{#fence}"},
	    {"", "{j}#fences", "{j}#fences", "{j}#fences#fence", "{j}#fences#info"},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		static struct keys keys;
		struct problem problem = {.text = ""};
		tap_case("prefix '%s' and NAME '%s' give their keys", rows[i].prefix, rows[i].name);
		if (!CHECK(keys_make(&keys, rows[i].prefix, rows[i].name, &problem)))
			continue;
		CHECK_TEXT(keys.lock, rows[i].lock);
		CHECK_TEXT(keys.fence, rows[i].fence);
		CHECK_TEXT(keys.info, rows[i].info);
		CHECK_INT(slot_of(keys.fence), slot_of(keys.lock));
		CHECK_INT(slot_of(keys.info), slot_of(keys.lock));
	}
}

static void
test_refused(void)
{
	static const struct {
		const char *prefix, *name, *why;
	} rows[] = {
	    {"lock:", "", "1 to 512 bytes, not 0"},
	    {"", "", "1 to 512 bytes, not 0"},
	    {"lock:", "{", "no hash tag"},
	    {"lock:", "}", "no hash tag"},
	    {"lock:", "{}", "no hash tag"},
	    {"lock:", "}{", "no hash tag"},
	    {"lock:", "{job", "no hash tag"},
	    {"lock:", "job}", "no hash tag"},
	    {"lock:", "}job{", "no hash tag"},
	    /* Redis looks at the first { and the first } after it alone. */
	    {"lock:", "{}{job}", "no hash tag"},
	    {"lock:", "{}job}", "no hash tag"},
	    {"l{", "job", "no hash tag"},
	    {"l{", "}job", "no hash tag"},
	    {"", "job#fence{job}", "another lock"},
	    {"", "job#rfence{job}", "another lock"},
	    {"", "job#info{job}", "another lock"},
	    {"", "job#queue{job}", "another lock"},
	    {"", "job#members{job}", "another lock"},
	    {"lock:", "job#fence{lock:job}", "another lock"},
	    {"", "{job}#fence", "another lock"},
	    {"", "{job}#rfence", "another lock"},
	    {"", "{job}#info", "another lock"},
	    {"", "{job}#queue", "another lock"},
	    {"", "{job}#members", "another lock"},
	    {"{app}:", "job#members", "another lock"},
	    {"{app}", "#info", "another lock"},
	    /* A # before it does not hide it. */
	    {"", "a#b#fence{a#b}", "another lock"},
	    {"", "a#fence#info{a#fence}", "another lock"},
	    {"", "{a}#b#queue", "another lock"},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		static struct keys keys;
		struct problem problem = {.text = ""};
		tap_case("prefix '%s' and NAME '%s' are refused", rows[i].prefix, rows[i].name);
		CHECK(!keys_make(&keys, rows[i].prefix, rows[i].name, &problem));
		CHECK_HAS(problem.text, rows[i].why);
	}
}

static void
test_lengths(void)
{
	static char long_name[NAME_MAX_BYTES + 2], long_prefix[PREFIX_MAX_BYTES + 2];
	static struct keys keys;
	struct problem problem = {.text = ""};
	memset(long_name, 'n', NAME_MAX_BYTES);
	memset(long_prefix, 'p', PREFIX_MAX_BYTES);

	tap_case("512 bytes of NAME after 512 of prefix are taken, and no key of them is cut");
	CHECK(keys_make(&keys, long_prefix, long_name, &problem));
	CHECK_INT((int64_t)strlen(keys.lock), 1024);
	CHECK_INT((int64_t)strlen(keys.fence), 1024 + strlen("#fence{}") + 1024);
	CHECK_INT((int64_t)strlen(keys.info), 1024 + strlen("#info{}") + 1024);
	CHECK_INT(slot_of(keys.fence), slot_of(keys.lock));
	CHECK_INT(slot_of(keys.info), slot_of(keys.lock));

	tap_case("513 bytes of NAME are refused");
	long_name[NAME_MAX_BYTES] = 'n';
	CHECK(!keys_make(&keys, "", long_name, &problem));
	CHECK_HAS(problem.text, "not 513");

	tap_case("513 bytes of prefix are refused");
	long_prefix[PREFIX_MAX_BYTES] = 'p';
	CHECK(!keys_make(&keys, long_prefix, "job", &problem));
	CHECK_HAS(problem.text, "prefix");
}

static void
make_name(char *name, size_t size, uint64_t *random)
{
	/* Few letters, so that braces, # and the siblings' names meet often. */
	static const char *const pieces[] = {"a", "b", "{", "}", "#", "fence", "info", "queue",
	    "#fence", "#info{", "a}", "{a}", "\xc3\xa9", " ", "\n", ":", "*", "\x7f"};
	size_t used = 0;
	int64_t wanted = 1 + tap_random_below(random, 9);
	for (int64_t i = 0; i < wanted; i++) {
		int64_t which = tap_random_below(random, COUNT_OF(pieces));
		used += (size_t)snprintf(name + used, size - used, "%s", pieces[which]);
	}
}

static void
test_random_names(void)
{
	uint64_t random = 20260;
	int made = 0, refused = 0;
	static struct keys keys, other;
	struct problem problem;

	tap_case("R18: of 10,000 random names each is refused, or has all its keys in one slot");
	for (int i = 0; i < 10000 && !tap_failed(); i++) {
		char name[128];
		const char *prefix = tap_random_below(&random, 2) ? "lock:" : "";
		make_name(name, sizeof name, &random);
		tap_note("prefix '%s', name '%s'", prefix, name);
		if (!keys_make(&keys, prefix, name, &problem)) {
			refused++;
			continue;
		}
		made++;
		CHECK_INT(slot_of(keys.fence), slot_of(keys.lock));
		CHECK_INT(slot_of(keys.info), slot_of(keys.lock));
		/* Covered by an ACL pattern that covers the lock: PREFIX and anything. */
		CHECK(strncmp(keys.fence, keys.lock, strlen(keys.lock)) == 0);
		CHECK(strncmp(keys.info, keys.lock, strlen(keys.lock)) == 0);
		CHECK(strcmp(keys.fence, keys.info) != 0);
		/* No lock may be called like a sibling of this one. */
		CHECK(!keys_make(&other, "", keys.fence, &problem));
		CHECK(!keys_make(&other, "", keys.info, &problem));
	}
	tap_case("the random names were of both kinds");
	CHECK(made > 2000);
	CHECK(refused > 2000);
}

int
main(void)
{
	test_slots_themselves();
	test_siblings();
	test_refused();
	test_lengths();
	test_random_names();
	return tap_end();
}
