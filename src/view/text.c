/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "view/text.h"

#include <stdlib.h>
#include <string.h>

#include "base/message.h"

char *
text_reserve(struct text *text, size_t size)
{
	if (text->failed)
		return NULL;
	if (size > text->room - text->used) {
		size_t room = 2 * text->room + size;
		char *bytes = realloc(text->bytes, room);
		if (bytes == NULL) {
			text->failed = true;
			return NULL;
		}
		text->bytes = bytes;
		text->room = room;
	}
	return text->bytes + text->used;
}

void
text_add(struct text *text, const char *bytes, size_t length)
{
	char *room = text_reserve(text, length);
	if (room == NULL || length == 0)
		return;
	memcpy(room, bytes, length);
	text->used += length;
}

void
text_add_line(struct text *text, const char *line)
{
	char *room = text_reserve(text, 4 * TEXT_LINE_MAX + 2);
	if (room == NULL)
		return;
	size_t length = message_escape(room, 4 * TEXT_LINE_MAX, line);
	room[length] = '\n';
	text->used += length + 1;
}

void
text_free(struct text *text)
{
	free(text->bytes);
	*text = (struct text){.bytes = NULL};
}
