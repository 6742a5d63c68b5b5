/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* store/postgres_sql: numbers, comments and statements of locks in PostgreSQL; base/sha256. */
#include "store/postgres_sql.h"

#include <stdio.h>
#include <string.h>

#include "base/sha256.h"
#include "tap.h"

/* FIPS 180-4's examples, and lengths about the edge of a block. */
static void
test_sha256(void)
{
	static const struct {
		const char *text;
		size_t repeated;
		const char *digest;
	} rows[] = {
	    {"", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
	    {"abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
	    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
		"248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
	    {"a", 55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"},
	    {"a", 56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"},
	    {"a", 64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"},
	    {"a", 1000, "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3"},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		unsigned char digest[SHA256_SIZE];
		char text[1024] = "", hex[2 * SHA256_SIZE + 1];
		for (size_t k = 0; k < rows[i].repeated; k++)
			strcat(text, rows[i].text);
		tap_case("sha256 of %zu bytes", strlen(text));
		sha256(text, strlen(text), digest);
		for (size_t k = 0; k < SHA256_SIZE; k++)
			sprintf(hex + 2 * k, "%02x", (unsigned int)digest[k]);
		CHECK_TEXT(hex, rows[i].digest);
	}
}

static void
test_numbers(void)
{
	static struct url url;
	struct postgres_numbers numbers, others;
	tap_case("the lock is the first eight bytes of SHA-256 of its key");
	postgres_numbers_make(&numbers, &url, "lock:job", 0);
	CHECK_INT(numbers.lock, (int64_t)UINT64_C(0xed2bc25f835ebf93));
	CHECK_TEXT(numbers.channel, "dlock_ed2bc25f835ebf93");
	tap_case("its companions are others, and those of other numbers of slots too");
	postgres_numbers_make(&others, &url, "lock:job", 3);
	CHECK_INT(others.line, numbers.line);
	CHECK_INT(others.slot, numbers.slot);
	CHECK_INT(others.slot & (POSTGRES_SLOTS - 1), 0);
	CHECK(others.number != numbers.number && others.group == numbers.group);
	CHECK(numbers.line != numbers.lock && numbers.group != numbers.lock);
	tap_case("dlock_key is one lock, whatever it is called");
	url.has_lock_number = true;
	url.lock_number = -4821;
	postgres_numbers_make(&numbers, &url, "lock:job", 0);
	postgres_numbers_make(&others, &url, "lock:other", 0);
	CHECK_INT(numbers.lock, -4821);
	CHECK(memcmp(&numbers, &others, sizeof numbers) == 0);
	CHECK_TEXT(numbers.channel, "dlock_ffffffffffffed2b");
}

static void
test_comment(void)
{
	char comment[POSTGRES_COMMENT], token[TOKEN_SIZE], key[KEY_SIZE];
	static char record[IDENTITY_RECORD], long_key[KEY_SIZE];
	static struct identity identity, read;
	struct postgres_record parts = {.token = "0b5e0d2a-8f5e-4c3c-9a58-000000000001",
	    .key = "lock:a*/ '%\xc3\xa9 b",
	    .fence = "17592186045140",
	    .since_us = 1764000000123456,
	    .record = record};
	tap_case("what is written is read again, whatever bytes it has");
	snprintf(identity.host, sizeof identity.host, "web3");
	snprintf(identity.command, sizeof identity.command, "a*/b%%\xff'\n");
	snprintf(identity.mode, sizeof identity.mode, "slots:3");
	identity.pid = 4711;
	identity_write(&identity, record);
	postgres_write_comment(comment, &parts);
	CHECK(strstr(comment, "*/") == comment + strlen(comment) - 2);
	for (const char *at = comment; *at != '\0'; at++)
		CHECK((*at >= 0x20 && *at < 0x7f) || *at == '\n');
	CHECK(postgres_read_comment(comment, &read, token, key));
	CHECK_TEXT(token, parts.token);
	CHECK_TEXT(key, parts.key);
	CHECK_TEXT(read.host, "web3");
	CHECK_TEXT(read.command, identity.command);
	CHECK_TEXT(read.mode, "slots:3");
	CHECK_TEXT(read.fence, "17592186045140");
	CHECK_INT(read.since_us, parts.since_us);
	CHECK_INT(read.pid, 4711);
	tap_case("a key that does not fit is left out, and who it is not");
	memset(long_key, '\xc3', 900);
	parts.key = long_key;
	postgres_write_comment(comment, &parts);
	CHECK(strlen(comment) < POSTGRES_COMMENT);
	CHECK(postgres_read_comment(comment, &read, token, key));
	CHECK_TEXT(key, "");
	CHECK_TEXT(read.host, "web3");
	tap_case("one that was cut by the server says what is whole");
	parts.key = "lock:job";
	postgres_write_comment(comment, &parts);
	for (size_t length = strlen(comment); length > 0; length--) {
		comment[length] = '\0';
		if (postgres_read_comment(comment, &read, token, key))
			CHECK_TEXT(token, parts.token);
		CHECK(key[0] == '\0' || strcmp(key, "lock:job") == 0);
	}
	tap_case("other statements are none");
	CHECK(!postgres_read_comment("SELECT 1", &read, token, key));
	CHECK(!postgres_read_comment("/*dlock\n*/", &read, token, key));
	CHECK(!postgres_read_comment("", &read, token, key));
}

static void
test_application(void)
{
	char text[POSTGRES_APPLICATION];
	static struct identity identity, read;
	tap_case("application_name says host, pid and fence");
	snprintf(identity.host, sizeof identity.host, "a-very-long-name.of-a-host.example.org");
	identity.pid = 4194304;
	postgres_make_application(&identity, text);
	CHECK_TEXT(text, "dlock a-very-long-name.of-a-host.:4194304");
	strcat(text, " #9223372036854775807");
	CHECK(strlen(text) < 64);
	CHECK(postgres_read_application(text, &read));
	CHECK_TEXT(read.host, "a-very-long-name.of-a-host.");
	CHECK_INT(read.pid, 4194304);
	CHECK_TEXT(read.fence, "9223372036854775807");
	CHECK(postgres_read_application("dlock ::1:7", &read));
	CHECK_TEXT(read.host, "::1");
	CHECK_TEXT(read.fence, "");
	CHECK(!postgres_read_application("psql", &read));
	CHECK(!postgres_read_application("dlock", &read));
	tap_case("a host's name ends no quotes");
	snprintf(identity.host, sizeof identity.host, "a'b\\c d");
	postgres_make_application(&identity, text);
	CHECK_TEXT(text, "dlock a?b?c?d:4194304");
}

/* The longest of all that goes into a statement. */
static void
test_statements(void)
{
	static struct url url;
	static char out[POSTGRES_STATEMENT], comment[POSTGRES_COMMENT];
	struct postgres_numbers numbers;
	tap_case("every statement fits, and has the comment in front");
	memset(comment, 'x', sizeof comment - 1);
	postgres_numbers_make(&numbers, &url, "lock:job", SLOTS_MOST);
	numbers.lock = numbers.slot = numbers.group = numbers.number = numbers.line = INT64_MIN;
	for (int mode = MODE_EXCLUSIVE; mode <= MODE_SLOTS; mode++) {
		const struct postgres_acquire acquire = {.numbers = &numbers,
		    .mode = (enum lock_mode)mode,
		    .slots = SLOTS_MOST,
		    .ttl_ms = INT32_MAX,
		    .fence_base = INT64_MAX,
		    .comment = comment,
		    .application = "dlock 123456789012345678901234567:4194304",
		    .joins = true,
		    .ancestor = "0b5e0d2a-8f5e-4c3c-9a58-000000000001",
		    .under = true};
		CHECK(postgres_write_acquire(out, &acquire));
		CHECK(strncmp(out, comment, strlen(comment)) == 0);
	}
	CHECK(postgres_write_renew(out, &numbers, comment));
	CHECK(postgres_write_release(out, &numbers, comment, INT64_MAX));
	tap_case("an ancestor that is no token goes into no statement");
	const struct postgres_acquire hostile = {.numbers = &numbers,
	    .mode = MODE_SHARED,
	    .comment = "",
	    .application = "",
	    .ancestor = "x' OR true; --",
	    .under = true};
	CHECK(postgres_write_acquire(out, &hostile));
	CHECK(strstr(out, "OR true") == NULL);
}

int
main(void)
{
	test_sha256();
	test_numbers();
	test_comment();
	test_application();
	test_statements();
	return tap_end();
}
