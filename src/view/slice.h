/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Bytes of an answer, of which a part has been read. Pure. */
#ifndef DLOCK_VIEW_SLICE_H
#define DLOCK_VIEW_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/link.h"

struct slice {
	const char *at, *end;
};

/* A string's, or a status's, bytes. */
struct slice
slice_of_reply(const struct reply *reply);

/* The next "LENGTH:BYTES" of it. False: there is none. */
bool
slice_take(struct slice *slice, struct slice *part);

bool
slice_is(const struct slice *slice, const char *word);

/* As a string: up to its first NUL, and to what fits. */
void
slice_copy(const struct slice *slice, char *out, size_t size);

/* A whole number in digits, with or without a minus; false when it is none. */
bool
slice_number(const struct slice *slice, int64_t *number);

#endif
