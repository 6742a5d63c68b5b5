/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* base/message: whatever text is said, no byte of it drives a terminal. The first byte chooses how
 * much room there is. */
#include "base/message.h"

#include "fuzz.h"

/* The code point at `text`, and its length; -1 if there is none. Decodes first and then looks at
 * what it got, where message.c looks at ranges of bytes. */
static long
code_point(const unsigned char *text, size_t *length)
{
	static const long least[] = {0, 0, 0x80, 0x800, 0x10000};
	long point;
	*length = 1;
	if (text[0] < 0x80)
		return text[0];
	*length = text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : 2;
	if (text[0] < 0xc0 || text[0] >= 0xf8)
		return -1;
	point = text[0] & (0x7f >> *length);
	for (size_t i = 1; i < *length; i++) {
		if ((text[i] & 0xc0) != 0x80) /* a NUL too: nothing behind it is read */
			return -1;
		point = point << 6 | (text[i] & 0x3f);
	}
	bool surrogate = point >= 0xd800 && point < 0xe000;
	return point < least[*length] || point > 0x10ffff || surrogate ? -1 : point;
}

/* Marks, breaks, embeddings, overrides and isolates: what changes the order or the lines of others.
 */
static bool
reorders(long point)
{
	return point == 0x061c || point == 0x200e || point == 0x200f ||
	    (point >= 0x2028 && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069);
}

/* Checks all of it; true: nothing in it needed to be escaped. */
static bool
is_printable(const char *text)
{
	size_t length;
	for (const unsigned char *at = (const void *)text; *at != '\0'; at += length) {
		long point = code_point(at, &length);
		if (point < 0x20 || (point >= 0x7f && point < 0xa0) || reorders(point))
			return false;
	}
	return true;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	char *text = fuzz_text(data + 1, size - 1);
	size_t whole_size = 4 * strlen(text) + 1;
	size_t small_size = 1 + data[0] % 64;
	char *whole = malloc(whole_size);
	char *again = malloc(whole_size);
	char *small = malloc(small_size);
	if (whole == NULL || again == NULL || small == NULL)
		abort();

	size_t length = message_escape(whole, whole_size, text);
	FUZZ_CHECK(length == strlen(whole));
	FUZZ_CHECK(is_printable(whole));
	FUZZ_CHECK(is_printable(text) == (strcmp(text, whole) == 0));
	message_escape(again, whole_size, whole);
	FUZZ_CHECK(strcmp(again, whole) == 0);

	/* Cut at a whole character or escape, as late as there is room. */
	length = message_escape(small, small_size, text);
	FUZZ_CHECK(length == strlen(small) && length < small_size);
	FUZZ_CHECK(strncmp(whole, small, length) == 0);
	FUZZ_CHECK(is_printable(small));
	FUZZ_CHECK(whole[length] == '\0' || length + 4 >= small_size);
	free(text);
	free(whole);
	free(again);
	free(small);
	return 0;
}
