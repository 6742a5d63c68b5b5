/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model_parts.h"

void *
model_allocate(void *old, size_t size)
{
	void *found = realloc(old, size);
	if (found == NULL) {
		fputs("the model of Redis: no memory\n", stderr);
		abort();
	}
	return found;
}

void
bytes_reserve(struct bytes *bytes, size_t more)
{
	if (bytes->used + more < bytes->room)
		return;
	bytes->room = (bytes->used + more + 64) * 2;
	bytes->at = model_allocate(bytes->at, bytes->room);
}

void
bytes_append(struct bytes *bytes, const char *at, size_t length)
{
	bytes_reserve(bytes, length);
	if (length > 0)
		memcpy(bytes->at + bytes->used, at, length);
	bytes->used += length;
	bytes->at[bytes->used] = '\0';
}

void
bytes_set(struct bytes *bytes, const char *at, size_t length)
{
	bytes->used = 0;
	bytes_append(bytes, at, length);
}

bool
words_equal(const char *one, size_t one_length, const char *two, size_t two_length)
{
	return one_length == two_length && memcmp(one, two, one_length) == 0;
}

bool
word_is(const struct word *word, const char *text)
{
	return words_equal(word->at, word->length, text, strlen(text));
}

bool
word_is_like(const struct word *word, const char *text)
{
	for (size_t i = 0; i < word->length; i++) {
		if (text[i] == '\0' || tolower((unsigned char)word->at[i]) != text[i])
			return false;
	}
	return text[word->length] == '\0';
}

bool
word_read_integer(const struct word *word, int64_t *number)
{
	size_t at = 0;
	bool is_negative = word->length > 1 && word->at[0] == '-';
	uint64_t value = 0, most = (uint64_t)INT64_MAX + is_negative;
	if (is_negative)
		at = 1;
	if (at == word->length || (word->at[at] == '0' && (is_negative || word->length > 1)))
		return false;
	for (; at < word->length; at++) {
		unsigned int digit = (unsigned int)(word->at[at] - '0');
		if (word->at[at] < '0' || digit > 9 || value > (most - digit) / 10)
			return false;
		value = value * 10 + digit;
	}
	*number = is_negative ? (int64_t)(0 - value) : (int64_t)value;
	return true;
}

bool
word_read_double(const struct word *word, double *number)
{
	char text[400], *end;
	if (word->length == 0 || word->length >= sizeof text || isspace((unsigned char)word->at[0]))
		return false;
	memcpy(text, word->at, word->length);
	text[word->length] = '\0';
	errno = 0;
	*number = strtod(text, &end);
	return end == text + word->length && !isnan(*number) &&
	    !(errno == ERANGE && (isinf(*number) || fpclassify(*number) == FP_ZERO));
}

size_t
write_integer(char *out, int64_t number)
{
	char digits[24];
	size_t count = 0, used = 0;
	uint64_t left = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
	do
		digits[count++] = (char)('0' + left % 10);
	while ((left /= 10) > 0);
	if (number < 0)
		out[used++] = '-';
	while (count > 0)
		out[used++] = digits[--count];
	return used;
}

size_t
write_double(char *out, double number)
{
	/* Every whole number below 10^17 is itself with 17 digits. -0 is not. */
	if (number < 1e15 && number > -1e15 && number == (double)(int64_t)number &&
	    !(number == 0 && signbit(number)))
		return write_integer(out, (int64_t)number);
	if (isinf(number)) {
		strcpy(out, number > 0 ? "inf" : "-inf");
		return strlen(out);
	}
	return (size_t)snprintf(out, 40, "%.17g", number);
}
