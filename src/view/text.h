/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Text that grows, for what goes to stdout in the end. */
#ifndef DLOCK_VIEW_TEXT_H
#define DLOCK_VIEW_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* All zero is an empty one. */
struct text {
	char *bytes; /* NULL: none yet; no NUL at its end */
	size_t used, room;
	bool failed; /* no memory: what was added is not all there */
};

/* Room for so many bytes more, of which the caller may write some and add them to `used`. NULL: no
 * memory. */
char *
text_reserve(struct text *text, size_t size);

void
text_add(struct text *text, const char *bytes, size_t length);

/* A line of any bytes: escaped as messages are, at most TEXT_LINE_MAX of them, and a newline. */
#define TEXT_LINE_MAX 4096
void
text_add_line(struct text *text, const char *line);

void
text_free(struct text *text);

#endif
