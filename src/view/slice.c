/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "view/slice.h"

#include <string.h>

#include "base/values.h"

bool
slice_take(struct slice *slice, struct slice *part)
{
	size_t length = 0;
	const char *at = slice->at;
	while (at < slice->end && *at >= '0' && *at <= '9' && length <= LINK_MAX_ANSWER)
		length = length * 10 + (size_t)(*at++ - '0');
	if (at == slice->at || at == slice->end || *at != ':' ||
	    length > (size_t)(slice->end - at - 1))
		return false;
	*part = (struct slice){.at = at + 1, .end = at + 1 + length};
	slice->at = part->end;
	return true;
}

bool
slice_is(const struct slice *slice, const char *word)
{
	size_t length = (size_t)(slice->end - slice->at);
	return length == strlen(word) && memcmp(slice->at, word, length) == 0;
}

void
slice_copy(const struct slice *slice, char *out, size_t size)
{
	size_t length = (size_t)(slice->end - slice->at);
	if (length >= size)
		length = size - 1;
	memcpy(out, slice->at, length);
	out[length] = '\0';
}

bool
slice_number(const struct slice *slice, int64_t *number)
{
	char digits[24];
	struct problem ignored;
	if (slice->end - slice->at >= (ptrdiff_t)sizeof digits)
		return false;
	slice_copy(slice, digits, sizeof digits);
	bool minus = digits[0] == '-';
	if (!value_parse_count(digits + minus, 0, INT64_MAX, number, &ignored))
		return false;
	if (minus)
		*number = -*number;
	return true;
}

struct slice
slice_of_reply(const struct reply *reply)
{
	return (struct slice){.at = reply->text, .end = reply->text + reply->length};
}
