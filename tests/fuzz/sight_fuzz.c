/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* view/sight, view/picture: what a server says of one lock, and how that is printed. The bytes are
 * what describe.lua gives, length and bytes each. */
#include "view/picture.h"

#include "fuzz.h"

/* Whole lines, which cannot drive a terminal. */
static void
check_text(const struct text *text)
{
	for (size_t i = 0; i < text->used; i++) {
		unsigned char byte = (unsigned char)text->bytes[i];
		FUZZ_CHECK((byte >= 0x20 && byte != 0x7f) || byte == '\n');
	}
	FUZZ_CHECK(text->used > 0 && text->bytes[text->used - 1] == '\n');
}

static void
check_json(const struct text *text)
{
	int depth = 0;
	bool quoted = false;
	for (size_t i = 0; i < text->used; i++) {
		unsigned char byte = (unsigned char)text->bytes[i];
		FUZZ_CHECK(byte >= 0x20 && byte != 0x7f);
		if (byte == '\\')
			i++;
		else if (byte == '"')
			quoted = !quoted;
		else if (!quoted)
			depth += (byte == '{' || byte == '[') - (byte == '}' || byte == ']');
		FUZZ_CHECK(depth > 0 || i + 1 >= text->used);
	}
	FUZZ_CHECK(depth == 0 && !quoted);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct sight sight;
	struct text text = {.bytes = NULL};
	char *copy = malloc(size + 1);
	if (copy == NULL)
		abort();
	memcpy(copy, data, size);
	struct slice slice = {copy, copy + size};
	sight_begin(&sight, "job", "lock:job");
	bool good = sight_add_surveyed(&sight, &slice, INT64_C(1764000000123456));
	FUZZ_CHECK(sight.holders <= sight.count && sight.count <= sight.room);
	FUZZ_CHECK(!sight.no_memory);
	if (good) {
		bool has_several = sight.state == SIGHT_SHARED || sight.state == SIGHT_SLOTS;
		FUZZ_CHECK(has_several ? sight.holders > 0 : true);
		for (size_t i = 0; i < sight.count; i++) {
			const struct party *party = &sight.parties[i];
			FUZZ_CHECK((party->role == PARTY_WAITING) == (i >= sight.holders));
			FUZZ_CHECK(party->slot >= -1 && party->slot < 1024);
			FUZZ_CHECK(party->left_ms >= -1);
		}
		picture_add_text(&text, &sight);
		picture_add_row(&text, &sight, "");
		check_text(&text);
		text_free(&text);
		picture_add_json(&text, &sight, NULL, NULL);
		check_json(&text);
		text_free(&text);
	}
	free(copy);
	return 0;
}
