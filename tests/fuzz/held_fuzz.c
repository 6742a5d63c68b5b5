/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* run/held: any text as DLOCK_HELD, against a regular expression of what is taken. */
#include "run/held.h"

#include <errno.h>
#include <limits.h>
#include <regex.h>

#include "fuzz.h"

#define ENTRY                                                                                      \
	"[1-9][0-9]*:[1-9][0-9]*:(-|[0-9a-f]{16}):[0-9a-f-]{36}:([]!-$&-[\\^-~]|%[0-9A-Fa-f]{2})+"
#define TEXT "^" ENTRY "( " ENTRY ")*$"
#define REGEX_TEXT_MAX 400 /* longer ones take the library too long */

static struct held held, again; /* large for a stack */
static char written[HELD_SIZE], rewritten[HELD_SIZE];

static bool
has_the_form(const char *text)
{
	static regex_t regex;
	static bool compiled;
	if (!compiled && regcomp(&regex, TEXT, REG_EXTENDED | REG_NOSUB) != 0)
		abort();
	compiled = true;
	return regexec(&regex, text, 0, NULL, 0) == 0;
}

/* A pid beyond a pid_t, a start beyond 64 bits, a key with a NUL, or anything that needs more than
 * REGEX_TEXT_MAX bytes. */
static bool
has_an_excuse(const char *text)
{
	for (const char *at = text; at != NULL; at = strchr(at, ' ')) {
		at += *at == ' ';
		char *end;
		if (strtoll(at, &end, 10) > INT_MAX)
			return true;
		errno = 0;
		strtoll(*end == ':' ? end + 1 : end, NULL, 10);
		if (errno == ERANGE)
			return true;
	}
	return strstr(text, "%00") != NULL;
}

static void
check_entry(const struct held_entry *entry)
{
	size_t address = strlen(entry->address);
	FUZZ_CHECK(entry->runner >= 1);
	FUZZ_CHECK(address == 0 || address == HELD_ADDRESS_SIZE - 1);
	FUZZ_CHECK(strlen(entry->token) == TOKEN_SIZE - 1);
	FUZZ_CHECK(entry->key[0] != '\0' && memchr(entry->key, '\0', KEY_SIZE) != NULL);
	FUZZ_CHECK(strcmp(held_find_key(&held, entry->key)->key, entry->key) == 0);
	FUZZ_CHECK(strcmp(held_find_token(&held, entry->token)->token, entry->token) == 0);
}

/* What is written of it is read as the same. */
static void
check_round_trip(void)
{
	struct held_entry last = held.entries[held.count - 1];
	FUZZ_CHECK(held_innermost(&held) == &held.entries[held.count - 1]);
	held.count--;
	FUZZ_CHECK(held_write(&held, &last, written));
	held.count++;
	FUZZ_CHECK(strpbrk(written, "\n\t\x1b\x7f") == NULL);
	FUZZ_CHECK(held_parse(&again, written));
	FUZZ_CHECK(again.count == held.count);
	for (int i = 0; i < held.count; i++) {
		FUZZ_CHECK(again.entries[i].runner == held.entries[i].runner);
		FUZZ_CHECK(again.entries[i].started_cs == held.entries[i].started_cs);
		FUZZ_CHECK(strcmp(again.entries[i].address, held.entries[i].address) == 0);
		FUZZ_CHECK(strcmp(again.entries[i].token, held.entries[i].token) == 0);
		FUZZ_CHECK(strcmp(again.entries[i].key, held.entries[i].key) == 0);
	}
	again.count--;
	FUZZ_CHECK(held_write(&again, &last, rewritten) && strcmp(written, rewritten) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	bool good = held_parse(&held, text);
	if (good) {
		FUZZ_CHECK(held.count >= 1 && held.count <= HELD_DEEPEST);
		for (int i = 0; i < held.count; i++)
			check_entry(&held.entries[i]);
		check_round_trip();
	} else {
		FUZZ_CHECK(held.count == 0 && held_innermost(&held) == NULL);
		FUZZ_CHECK(held_find_key(&held, "") == NULL && held_find_token(&held, "") == NULL);
	}
	if (strlen(text) <= REGEX_TEXT_MAX)
		FUZZ_CHECK(good == (has_the_form(text) && !has_an_excuse(text)));
	free(text);
	return 0;
}
