/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include <stdlib.h>
#include <string.h>

#include "view/list_parts.h"
#include "view/picture.h"

static void
add_name(struct list *list, const char *name)
{
	if (list->count == list->room) {
		size_t room = list->room == 0 ? 64 : 2 * list->room;
		char **names = realloc(list->names, room * sizeof *names);
		list->no_memory = names == NULL;
		if (names == NULL)
			return;
		list->names = names;
		list->room = room;
	}
	list->names[list->count] = strdup(name);
	if (list->names[list->count] != NULL)
		list->count++;
	else
		list->no_memory = true;
}

/* A key that is no lock's is passed over. */
static void
take_key(struct list *list, const struct slice *key)
{
	static struct keys keys;
	char copy[KEY_SIZE];
	const char *prefix = list->settings->prefix;
	size_t length = (size_t)(key->end - key->at), skip = strlen(prefix);
	struct problem ignored;
	if (length >= KEY_SIZE || length <= skip || memchr(key->at, '\0', length) != NULL ||
	    memcmp(key->at, prefix, skip) != 0)
		return;
	slice_copy(key, copy, sizeof copy);
	if (keys_make(&keys, prefix, copy + skip, &ignored))
		add_name(list, copy + skip);
}

static bool
take_keys(void *context, const struct reply *reply)
{
	struct list *list = context;
	struct slice key;
	if (reply->kind != REPLY_ARRAY || reply->count != 2 ||
	    reply->items[0]->kind != REPLY_STRING || reply->items[1]->kind != REPLY_STRING)
		return false;
	const struct reply *cursor = reply->items[0];
	if (cursor->length == 0 || cursor->length >= sizeof list->cursor ||
	    strspn(cursor->text, "0123456789") != cursor->length)
		return false;
	strcpy(list->cursor, cursor->text);
	struct slice keys = slice_of_reply(reply->items[1]);
	while (keys.at != keys.end && !list->no_memory) {
		if (!slice_take(&keys, &key))
			return false;
		take_key(list, &key);
	}
	return true;
}

static int
compare_names(const void *one, const void *other)
{
	return strcmp(*(char *const *)one, *(char *const *)other);
}

/* Those of the server that was asked last, in their order, and those that SCAN has found twice
 * once. */
static void
arrange(struct list *list)
{
	size_t kept = list->next;
	if (list->count > kept)
		qsort(list->names + kept, list->count - kept, sizeof *list->names, compare_names);
	for (size_t i = kept; i < list->count; i++) {
		if (kept > list->next && strcmp(list->names[i], list->names[kept - 1]) == 0) {
			free(list->names[i]);
			continue;
		}
		list->names[kept++] = list->names[i];
		if (picture_width(list->names[i]) > list->width)
			list->width = picture_width(list->names[i]);
	}
	list->count = kept;
}

bool
list_find_names(struct list *list, const char *pattern)
{
	const struct question question = {QUERY_LIST, 0, 2, {list->cursor, pattern}};
	strcpy(list->cursor, "0");
	do {
		if (!visit_ask(list->visit, &question, take_keys, list) || list->no_memory)
			return false;
	} while (strcmp(list->cursor, "0") != 0);
	arrange(list);
	return true;
}
