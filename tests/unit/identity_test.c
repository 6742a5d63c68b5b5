/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* base/identity: tokens, and the record of who holds a lock, which anybody may have written. */
#include "base/identity.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "tap.h"

static void
check_same(const struct identity *found, const struct identity *wanted)
{
	CHECK_TEXT(found->host, wanted->host);
	CHECK_TEXT(found->boot_id, wanted->boot_id);
	CHECK_INT(found->pid, wanted->pid);
	CHECK_INT(found->started, wanted->started);
	CHECK_TEXT(found->user, wanted->user);
	CHECK_TEXT(found->command, wanted->command);
	CHECK_TEXT(found->label, wanted->label);
}

static void
test_round_trip(void)
{
	static const struct identity rows[] = {
	    {.host = "web3",
		.boot_id = "b4c1e5c6-9d52-4b4e-8a3c-0c1f8a6d3a11",
		.pid = 4711,
		.started = 123456789,
		.user = "deploy",
		.command = "rsync",
		.label = "nightly"},
	    {.host = ""},
	    {.pid = INT64_MAX, .started = INT64_MAX},
	    {.host = "a\nhost=b\npid=1\n", .user = "x=y", .command = "\n", .label = "\nfence=9\n"},
	    {.host = "100%", .user = "%41", .command = "%", .label = "%0a%zz%%25%"},
	    {.host = "\x1b[2J",
		.user = "\x7f\x01\x1f\x80\xff",
		.command = "\r\t",
		.label = "\xc3\xa9 "},
	    {.label = " leading and trailing "},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char record[IDENTITY_RECORD];
		struct identity read;
		tap_case("a record is read as it was written: row %zu", i + 1);
		identity_write(&rows[i], record);
		identity_read(&read, record, strlen(record));
		check_same(&read, &rows[i]);
		CHECK_INT(read.since_us, 0);
		CHECK_TEXT(read.fence, "");
		/* As the script does it at acquisition. */
		strcat(record, "since=1764000000123456\nfence=1764000000123457\n");
		identity_read(&read, record, strlen(record));
		check_same(&read, &rows[i]);
		CHECK_INT(read.since_us, 1764000000123456);
		CHECK_TEXT(read.fence, "1764000000123457");
	}

	tap_case("every byte comes back, and none breaks a line of the record");
	for (int byte = 1; byte < 256; byte++) {
		struct identity identity = {.pid = 7}, read;
		char record[IDENTITY_RECORD];
		int lines = 0;
		snprintf(identity.host, sizeof identity.host, "a%cb", byte);
		snprintf(identity.label, sizeof identity.label, "%c", byte);
		tap_note("byte %d", byte);
		identity_write(&identity, record);
		for (const char *at = record; *at != '\0'; at++) {
			lines += *at == '\n';
			CHECK(*at == '\n' || ((unsigned char)*at >= 0x20 && *at != 0x7f));
		}
		CHECK_INT(lines, 8);
		identity_read(&read, record, strlen(record));
		check_same(&read, &identity);
	}
}

static void
fill(char *text, size_t size, char byte)
{
	memset(text, byte, size - 1);
	text[size - 1] = '\0';
}

static void
test_too_long(void)
{
	struct identity identity = {.pid = 7, .started = 8}, read;
	char record[IDENTITY_RECORD];
	fill(identity.host, sizeof identity.host, 'h');
	fill(identity.boot_id, sizeof identity.boot_id, 'b');
	fill(identity.user, sizeof identity.user, 'u');
	fill(identity.command, sizeof identity.command, 'c');
	fill(identity.label, sizeof identity.label, 'l');
	tap_case("the longest plain fields fit");
	identity_write(&identity, record);
	identity_read(&read, record, strlen(record));
	check_same(&read, &identity);

	tap_case("a field that does not fit is left out whole, the others are whole");
	fill(identity.host, sizeof identity.host, '\n');
	fill(identity.user, sizeof identity.user, '\n');
	fill(identity.command, sizeof identity.command, '\n');
	fill(identity.label, sizeof identity.label, '\n');
	memset(record, '#', sizeof record);
	identity_write(&identity, record);
	CHECK(strlen(record) < sizeof record);
	CHECK(record[strlen(record) - 1] == '\n');
	identity_read(&read, record, strlen(record));
	CHECK_TEXT(read.label, "");
	CHECK_HAS_NOT(record, "label");
	identity.label[0] = '\0';
	check_same(&read, &identity);

	tap_case("a record of any size is written within its bounds");
	for (size_t length = 0; length < sizeof identity.label; length++) {
		fill(identity.label, length + 1, length % 2 ? '%' : 'x');
		memset(record, '#', sizeof record);
		identity_write(&identity, record);
		if (!CHECK(memchr(record, '\0', sizeof record) != NULL))
			break;
		identity_read(&read, record, strlen(record));
		CHECK(read.label[0] == '\0' || strcmp(read.label, identity.label) == 0);
	}
}

static void
test_garbage(void)
{
	static const struct {
		const char *what, *record;
		size_t length; /* 0: to its NUL */
		struct identity wanted;
	} rows[] = {
	    {"nothing", "", 0, {.pid = 0}},
	    {"no equals sign", "host", 0, {.pid = 0}},
	    {"only an equals sign", "=", 0, {.pid = 0}},
	    {"empty lines", "\n\n\nhost=a\n\n", 0, {.host = "a"}},
	    {"no newline at the end", "host=a\nuser=b", 0, {.host = "a", .user = "b"}},
	    {"an empty value", "host=\nuser=b\n", 0, {.user = "b"}},
	    {"unknown fields", "colour=red\nhost=a\nhosts=c\nhos=d\n", 0, {.host = "a"}},
	    {"the same field twice", "host=a\nhost=b\n", 0, {.host = "b"}},
	    {"an equals sign in the value", "label=a=b=c\n", 0, {.label = "a=b=c"}},
	    {"blanks are not trimmed", " host=a\nhost= b \n", 0, {.host = " b "}},
	    {"Windows line ends", "host=a\r\n", 0, {.host = "a\r"}},
	    {"bad escapes stay", "host=%\nuser=%4\ncommand=%zz\nlabel=%4%41\n", 0,
		{.host = "%", .user = "%4", .command = "%zz", .label = "%4A"}},
	    {"a NUL ends a value for its reader", "host=a\0b\nuser=c\n", 16,
		{.host = "a", .user = "c"}},
	    {"an escaped NUL too", "host=a%00b\nuser=c\n", 0, {.host = "a", .user = "c"}},
	    {"a length that ends within a value", "host=abcdef\n", 7, {.host = "ab"}},
	    {"a length that ends within an escape", "host=a%41\n", 8, {.host = "a%4"}},
	    {"a pid that is none", "pid=abc\nstarted=\n", 0, {.pid = 0}},
	    {"a pid with a tail", "pid=12abc\n", 0, {.pid = 12}},
	    {"numbers that are too large",
		"pid=99999999999999999999999999999\nstarted=9223372036854775808\n", 0,
		{.pid = INT64_MAX, .started = INT64_MAX}},
	    {"a negative number", "pid=-5\n", 0, {.pid = -5}},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		/* Exactly as long as it is said to be, so that ASan sees a read beyond. */
		size_t length = rows[i].length ? rows[i].length : strlen(rows[i].record);
		char *record = malloc(length ? length : 1);
		struct identity read;
		tap_case("garbage in a record: %s", rows[i].what);
		if (!CHECK(record != NULL))
			return;
		memcpy(record, rows[i].record, length);
		memset(&read, '#', sizeof read);
		identity_read(&read, record, length);
		check_same(&read, &rows[i].wanted);
		free(record);
	}

	tap_case("fields longer than there is room for are cut");
	static char record[8192];
	struct identity read;
	int used = snprintf(record, sizeof record,
	    "host=%0600d\nfence=%0100d\nuser=%0200d\nlabel=x\n", 1, 2, 3);
	identity_read(&read, record, (size_t)used);
	CHECK_INT((int64_t)strlen(read.host), sizeof read.host - 1);
	CHECK_INT((int64_t)strlen(read.fence), sizeof read.fence - 1);
	CHECK_INT((int64_t)strlen(read.user), sizeof read.user - 1);
	CHECK_TEXT(read.label, "x");

	uint64_t random = 4;
	tap_case("20,000 records of random bytes are read without harm");
	for (int i = 0; i < 20000; i++) {
		static const char letters[] = "hostpidlabel=%%0a\n\n\xff";
		size_t length = (size_t)tap_random_below(&random, 64);
		char *bytes = malloc(length + 1);
		if (bytes == NULL)
			break;
		for (size_t k = 0; k < length; k++)
			bytes[k] = letters[tap_random_below(&random, sizeof letters)];
		char *exact = realloc(bytes, length ? length : 1);
		identity_read(&read, exact, length);
		CHECK(memchr(read.host, '\0', sizeof read.host) != NULL);
		free(exact);
	}
}

static void
test_describe(void)
{
	static const struct {
		struct identity identity;
		int64_t held_ns;
		const char *text;
	} rows[] = {
	    {{.host = "web3",
		 .pid = 4711,
		 .user = "deploy",
		 .command = "rsync",
		 .label = "nightly"},
		192 * NS_PER_S, "deploy@web3 pid 4711 rsync, for 3m12s, label nightly"},
	    {{.host = "web3", .pid = 4711, .user = "deploy", .command = "rsync"}, 0,
		"deploy@web3 pid 4711 rsync, for 0.000s"},
	    {{.host = "web3", .pid = 4711, .user = "deploy", .command = "rsync"}, -1,
		"deploy@web3 pid 4711 rsync"},
	    {{.pid = 0}, -1, "?@? ?"},
	    {{.pid = -5}, -1, "?@? ?"},
	};
	char text[1024];
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		tap_case("described: %s", rows[i].text);
		identity_describe(&rows[i].identity, rows[i].held_ns, text, sizeof text);
		CHECK_TEXT(text, rows[i].text);
	}
	tap_case("a description is cut to the room there is");
	memset(text, '#', sizeof text);
	identity_describe(&rows[0].identity, -1, text, 10);
	CHECK_TEXT(text, "deploy@we");
	CHECK_INT(text[10], '#');
}

static void
test_tokens(void)
{
	static char tokens[1000][TOKEN_SIZE];
	tap_case("R51: tokens are lower-case UUIDs and never repeat");
	for (size_t i = 0; i < COUNT_OF(tokens) && !tap_failed(); i++) {
		identity_make_token(tokens[i]);
		tap_note("%s", tokens[i]);
		CHECK_INT((int64_t)strlen(tokens[i]), 36);
		CHECK_INT((int64_t)strspn(tokens[i], "0123456789abcdef-"), 36);
		CHECK(tokens[i][8] == '-' && tokens[i][13] == '-' && tokens[i][18] == '-');
		for (size_t k = 0; k < i; k++) {
			if (strcmp(tokens[i], tokens[k]) == 0)
				CHECK(!"repeated");
		}
	}
}

static void
test_gather(void)
{
	struct identity identity;
	char host[256] = "";
	gethostname(host, sizeof host - 1);
	tap_case("who this process is");
	identity_gather(&identity, "/usr/bin/rsync", "a label");
	CHECK_TEXT(identity.host, host);
	CHECK_INT(identity.pid, getpid());
	CHECK(identity.started > 0);
	CHECK_INT((int64_t)strlen(identity.boot_id), 36);
	CHECK(identity.user[0] != '\0');
	CHECK_TEXT(identity.command, "rsync");
	CHECK_TEXT(identity.label, "a label");
	CHECK_INT(identity.since_us, 0);

	tap_case("of COMMAND the base name is told, cut where it is too long");
	identity_gather(&identity, "rsync", "");
	CHECK_TEXT(identity.command, "rsync");
	identity_gather(&identity, "/usr/bin/", "");
	CHECK_TEXT(identity.command, "");
	static char name[1000];
	fill(name, sizeof name, 'n');
	identity_gather(&identity, name, name);
	CHECK_INT((int64_t)strlen(identity.command), sizeof identity.command - 1);
	CHECK_INT((int64_t)strlen(identity.label), sizeof identity.label - 1);
}

int
main(void)
{
	test_round_trip();
	test_too_long();
	test_garbage();
	test_describe();
	test_tokens();
	test_gather();
	return tap_end();
}
