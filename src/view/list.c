/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/message.h"
#include "exits.h"
#include "view/glob.h"
#include "view/look.h"
#include "view/picture.h"

/* One lock as it will be printed. What is printed is made at once: sights are large, locks many. */
struct row {
	char *name;
	size_t at, length; /* in text */
};

struct list {
	const struct view_settings *settings;
	struct visit visit;
	struct sight sight; /* of one lock at a time */
	struct row *rows;
	size_t count, room;
	char **unseen; /* names of those that have to be asked for one by one */
	size_t unseen_count, unseen_room;
	struct text text;
	char cursor[24]; /* SCAN's; "0" at the end */
	bool no_memory;
};

/* The items, with room for one more of `size` bytes; NULL: no memory. */
static void *
grow(void *items, size_t count, size_t *room, size_t size)
{
	if (count < *room)
		return items;
	size_t more = *room == 0 ? 64 : 2 * *room;
	void *grown = realloc(items, more * size);
	if (grown != NULL)
		*room = more;
	return grown;
}

/* What was free again when it was looked at is none. */
static void
add_row(struct list *list)
{
	const struct sight *sight = &list->sight;
	if (sight->state == SIGHT_FREE)
		return;
	struct row *rows = grow(list->rows, list->count, &list->room, sizeof *rows);
	char *name = strdup(sight->name);
	if (rows != NULL)
		list->rows = rows;
	if (rows == NULL || name == NULL) {
		free(name);
		list->no_memory = true;
		return;
	}
	struct row *row = &list->rows[list->count++];
	*row = (struct row){.name = name, .at = list->text.used};
	if (list->settings->json)
		picture_add_json(&list->text, sight, NULL);
	else
		picture_add_row(&list->text, sight);
	row->length = list->text.used - row->at;
	list->no_memory = list->text.failed;
}

/* To be asked for by its own. */
static void
put_off(struct list *list, const char *name)
{
	char **unseen = grow(list->unseen, list->unseen_count, &list->unseen_room, sizeof *unseen);
	char *copy = strdup(name);
	if (unseen != NULL)
		list->unseen = unseen;
	if (unseen == NULL || copy == NULL) {
		free(copy);
		list->no_memory = true;
		return;
	}
	list->unseen[list->unseen_count++] = copy;
}

/* NULL: this key is no lock's. */
static const char *
name_of(const struct list *list, const struct slice *key, char copy[KEY_SIZE])
{
	static struct keys keys;
	const char *prefix = list->settings->prefix;
	size_t length = (size_t)(key->end - key->at), skip = strlen(prefix);
	struct problem ignored;
	if (length >= KEY_SIZE || length <= skip || memchr(key->at, '\0', length) != NULL ||
	    memcmp(key->at, prefix, skip) != 0)
		return NULL;
	memcpy(copy, key->at, length);
	copy[length] = '\0';
	return keys_make(&keys, prefix, copy + skip, &ignored) ? copy + skip : NULL;
}

/* One lock of a page. */
static bool
take_lock(struct list *list, struct slice *locks, int64_t now_us)
{
	struct sight *sight = &list->sight;
	struct slice key;
	char copy[KEY_SIZE];
	bool left_out;
	if (!slice_take(locks, &key))
		return false;
	const char *name = name_of(list, &key, copy);
	sight_begin(sight, name != NULL ? name : "", name != NULL ? copy : "");
	if (!sight_add_listed(sight, locks, now_us, &left_out))
		return false;
	if (name == NULL)
		return true;
	bool is_whole = sight->next[0] == '\0' || !list->settings->json;
	if (left_out || !is_whole)
		put_off(list, name);
	else
		add_row(list);
	return !list->no_memory;
}

static bool
take_page(void *context, const struct reply *reply)
{
	struct list *list = context;
	int64_t now_us;
	if (reply->kind != REPLY_ARRAY || reply->count != 3)
		return false;
	for (size_t i = 0; i < 3; i++) {
		if (reply->items[i]->kind != REPLY_STRING)
			return false;
	}
	const struct reply *cursor = reply->items[1], *locks = reply->items[2];
	struct slice now = slice_of_reply(reply->items[0]);
	if (!sight_read_clock(&now, &now_us) || cursor->length == 0 ||
	    strspn(cursor->text, "0123456789") != cursor->length ||
	    cursor->length >= sizeof list->cursor)
		return false;
	strcpy(list->cursor, cursor->text);
	struct slice rest = slice_of_reply(locks);
	while (rest.at != rest.end) {
		if (!take_lock(list, &rest, now_us))
			return false;
	}
	return true;
}

/* All locks of one server. */
static bool
scan(struct list *list, const char *pattern)
{
	const struct question question = {QUERY_LIST, 0, 2, {list->cursor, pattern}};
	strcpy(list->cursor, "0");
	do {
		if (!visit_ask(&list->visit, &question, take_page, list))
			return false;
	} while (strcmp(list->cursor, "0") != 0);
	for (size_t i = 0; i < list->unseen_count; i++) {
		if (!look_at(&list->visit, list->unseen[i], &list->sight))
			return false;
		add_row(list);
	}
	return !list->no_memory;
}

static int
compare_rows(const void *one, const void *other)
{
	const struct row *first = one, *second = other;
	return strcmp(first->name, second->name);
}

/* In the order of names, and those that SCAN has shown twice once. */
static void
arrange(struct list *list, struct text *out)
{
	bool json = list->settings->json;
	size_t shown = 0;
	int width = 0;
	if (list->count > 0)
		qsort(list->rows, list->count, sizeof *list->rows, compare_rows);
	for (size_t i = 0; i < list->count; i++) {
		if (picture_width(list->rows[i].name) > width)
			width = picture_width(list->rows[i].name);
	}
	for (size_t i = 0; i < list->count; i++) {
		const struct row *row = &list->rows[i];
		if (i > 0 && strcmp(row->name, list->rows[i - 1].name) == 0)
			continue;
		if (json)
			text_add(out, shown == 0 ? "[" : ",\n", shown == 0 ? 1 : 2);
		else
			picture_add_name(out, row->name, width);
		text_add(out, list->text.bytes + row->at, row->length);
		shown++;
	}
	if (json)
		text_add(out, shown == 0 ? "[]\n" : "]\n", shown == 0 ? 3 : 2);
}

static void
free_list(struct list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->rows[i].name);
	for (size_t i = 0; i < list->unseen_count; i++)
		free(list->unseen[i]);
	free(list->rows);
	free(list->unseen);
	text_free(&list->text);
	sight_free(&list->sight);
}

int
view_list(const struct view_settings *settings, const char *glob)
{
	static struct list list;
	char pattern[GLOB_PATTERN_SIZE];
	struct text out = {.bytes = NULL};
	int status = 0;
	if (!glob_make_pattern(pattern, settings->prefix, glob)) {
		message_error("--list: GLOB must have at most %d bytes, and the prefix %d",
		    GLOB_MAX_BYTES, PREFIX_MAX_BYTES);
		return EXIT_USAGE;
	}
	list.settings = settings;
	bool is_complete = visit_begin(&list.visit, settings) && scan(&list, pattern);
	if (list.no_memory || list.sight.no_memory)
		problem_set_errno(&list.visit.problem, NULL, ENOMEM);
	if (!is_complete)
		status = visit_explain(&list.visit, "list the locks");
	visit_end(&list.visit);
	if (status == 0) {
		arrange(&list, &out);
		status = visit_print(settings, &out);
	}
	text_free(&out);
	free_list(&list);
	return status;
}
