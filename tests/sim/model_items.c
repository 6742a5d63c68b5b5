/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What is in a hash or a zset. There are few: they are searched one after the other. */
#include <string.h>

#include "model_parts.h"

struct item *
items_find(struct entry *entry, const char *name, size_t length)
{
	for (size_t i = 0; i < entry->count; i++) {
		struct item *item = &entry->items[i];
		if (words_equal(item->name, item->length, name, length))
			return item;
	}
	return NULL;
}

void
item_set(struct item *item, const char *name, size_t length, const char *value, size_t value_length,
    double score)
{
	size_t size = length + value_length + 2;
	if (size > item->room) {
		item->name = model_allocate(item->name, size);
		item->room = (uint32_t)size;
	}
	memmove(item->name, name, length);
	item->name[length] = '\0';
	if (value_length > 0)
		memcpy(item->name + length + 1, value, value_length);
	item->name[size - 1] = '\0';
	item->length = (uint32_t)length;
	item->value_length = (uint32_t)value_length;
	item->score = score;
}

/* Blocks of items that were removed are kept behind the last one. */
struct item *
items_insert(struct entry *entry, size_t at)
{
	if (entry->count == entry->room) {
		size_t room = entry->room * 2 + 4;
		entry->items = model_allocate(entry->items, room * sizeof *entry->items);
		memset(entry->items + entry->room, 0, (room - entry->room) * sizeof *entry->items);
		entry->room = room;
	}
	struct item free_one = entry->items[entry->count];
	memmove(entry->items + at + 1, entry->items + at,
	    (entry->count - at) * sizeof *entry->items);
	entry->items[at] = free_one;
	entry->count++;
	return &entry->items[at];
}

void
items_remove(struct entry *entry, size_t at)
{
	struct item removed = entry->items[at];
	entry->count--;
	memmove(entry->items + at, entry->items + at + 1,
	    (entry->count - at) * sizeof *entry->items);
	entry->items[entry->count] = removed;
}

size_t
items_place(const struct entry *entry, double score, const char *name, size_t length)
{
	size_t at = 0;
	for (; at < entry->count; at++) {
		const struct item *item = &entry->items[at];
		if (item->score > score)
			break;
		if (item->score < score)
			continue;
		size_t shared = item->length < length ? item->length : length;
		int order = memcmp(item->name, name, shared);
		if (order > 0 || (order == 0 && item->length > length))
			break;
	}
	return at;
}
