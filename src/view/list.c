/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/message.h"
#include "exits.h"
#include "store/cluster_map.h"
#include "view/glob.h"
#include "view/list_parts.h"
#include "view/look.h"
#include "view/picture.h"

/* -- what they are ---------------------------------------------------------------------------- */

/* What was free again when it was looked at is none. */
static void
show(struct list *list, const char *name)
{
	const struct sight *sight = &list->sight;
	if (sight->state == SIGHT_FREE)
		return;
	if (list->row_count == list->row_room) {
		size_t room = list->row_room == 0 ? 64 : 2 * list->row_room;
		struct row *rows = realloc(list->rows, room * sizeof *rows);
		list->no_memory = rows == NULL;
		if (rows == NULL)
			return;
		list->rows = rows;
		list->row_room = room;
	}
	struct row *row = &list->rows[list->row_count++];
	*row = (struct row){.name = name, .begin = list->shown.used};
	if (list->settings->json)
		picture_add_json(&list->shown, sight, NULL, NULL);
	else
		picture_add_row(&list->shown, sight, "");
	row->end = list->shown.used;
	list->no_memory = list->shown.failed;
}

static int
compare_rows(const void *one, const void *other)
{
	return strcmp(((const struct row *)one)->name, ((const struct row *)other)->name);
}

/* In the order of the names. What has moved from one node to another meanwhile is there twice. */
static void
compose(struct list *list)
{
	const char *last = NULL;
	if (list->row_count > 0)
		qsort(list->rows, list->row_count, sizeof *list->rows, compare_rows);
	for (size_t i = 0; i < list->row_count; i++) {
		const struct row *row = &list->rows[i];
		if (last != NULL && strcmp(last, row->name) == 0)
			continue;
		if (list->settings->json)
			text_add(&list->text, last == NULL ? "[" : ",\n", last == NULL ? 1 : 2);
		else
			picture_add_name(&list->text, row->name, list->width);
		text_add(&list->text, list->shown.bytes + row->begin, row->end - row->begin);
		last = row->name;
	}
	if (list->settings->json)
		text_add(&list->text, last == NULL ? "[]\n" : "]\n", last == NULL ? 3 : 2);
	list->no_memory = list->text.failed;
}

/* Locks from the next one on. Where one does not fit into its part of the answer, and all of it is
 * wanted, the rest is left for later. */
static bool
take_locks(void *context, const struct reply *reply)
{
	struct list *list = context;
	int64_t now_us;
	if (reply->kind != REPLY_ARRAY || reply->count != 2 ||
	    reply->items[0]->kind != REPLY_STRING || reply->items[1]->kind != REPLY_STRING)
		return false;
	struct slice now = slice_of_reply(reply->items[0]);
	struct slice locks = slice_of_reply(reply->items[1]);
	if (!sight_read_clock(&now, &now_us) || locks.at == locks.end)
		return false;
	for (size_t i = 0; locks.at != locks.end; i++) {
		if (i == BATCH_MAX || list->next == list->count)
			return false;
		sight_begin(&list->sight, list->names[list->next], list->keys[i].lock);
		if (!sight_add_surveyed(&list->sight, &locks, now_us))
			return false;
		list->is_long = list->settings->json && list->sight.next[0] != '\0';
		if (list->is_long)
			return true;
		show(list, list->names[list->next++]);
	}
	return true;
}

/* The next locks. */
static bool
survey(struct list *list)
{
	struct question question = {.script = QUERY_SURVEY};
	size_t bytes = 0;
	/* Locks of different slots make no request for a cluster. */
	size_t most = list->settings->url->scheme == URL_CLUSTER ? 1 : BATCH_MAX;
	for (size_t i = 0; i < most && list->next + i < list->count; i++) {
		struct keys *keys = &list->keys[i];
		const char *const words[] = {keys->lock, keys->info, keys->queue, keys->members};
		if (!keys_make(keys, list->settings->prefix, list->names[list->next + i],
			&list->visit->problem))
			return false;
		for (size_t k = 0; k < 4; k++)
			bytes += strlen(words[k]) + 16;
		if (bytes > BATCH_BYTES && i > 0)
			break;
		memcpy(question.words + question.key_count, words, sizeof words);
		question.key_count += 4;
	}
	question.word_count = question.key_count;
	list->is_long = false;
	visit_aim(list->visit, list->keys[0].lock);
	if (!visit_ask(list->visit, &question, take_locks, list))
		return false;
	if (!list->is_long)
		return true;
	if (!look_at(list->visit, list->names[list->next], &list->sight))
		return false;
	show(list, list->names[list->next++]);
	return true;
}

/* All locks of one server. */
static bool
list_server(struct list *list, const char *pattern)
{
	if (!list_find_names(list, pattern))
		return false;
	while (list->next < list->count) {
		if (!survey(list) || list->no_memory)
			return false;
	}
	return true;
}

/* -- the servers of a cluster ------------------------------------------------------------------ */

static void
add_master(struct list *list, const struct url_place *master)
{
	if (list->master_count == list->master_room) {
		size_t room = list->master_room == 0 ? 16 : 2 * list->master_room;
		struct url_place *masters = realloc(list->masters, room * sizeof *masters);
		list->no_memory = masters == NULL;
		if (masters == NULL)
			return;
		list->masters = masters;
		list->master_room = room;
	}
	list->masters[list->master_count++] = *master;
}

static bool
take_nodes(void *context, const struct reply *reply)
{
	struct list *list = context;
	struct url_place place;
	bool is_master;
	if (reply->kind != REPLY_ARRAY || reply->count != 5 ||
	    reply->items[3]->kind != REPLY_INTEGER || reply->items[4]->kind != REPLY_STRING)
		return false;
	const char *at = reply->items[4]->text, *end = at + reply->items[4]->length;
	list->nodes = reply->items[3]->integer;
	if (at == end)
		list->nodes_seen = list->nodes;
	while (at < end && !list->no_memory) {
		if (!cluster_map_read(&at, end, &list->visit->query.link.place, &place, &is_master))
			return false;
		list->nodes_seen++;
		if (is_master)
			add_master(list, &place);
	}
	return true;
}

static bool
list_cluster(struct list *list, const char *pattern)
{
	char skip[24];
	const struct question question = {QUERY_CLUSTER, 0, 2, {"-1", skip}};
	do {
		snprintf(skip, sizeof skip, "%" PRId64, list->nodes_seen);
		if (!visit_ask(list->visit, &question, take_nodes, list) || list->no_memory)
			return false;
	} while (list->nodes_seen < list->nodes);
	for (size_t i = 0; i < list->master_count; i++) {
		if (!visit_move(list->visit, &list->masters[i]) || !list_server(list, pattern))
			return false;
	}
	return true;
}

static bool
make_list(struct list *list, const char *pattern)
{
	bool is_cluster = list->settings->url->scheme == URL_CLUSTER;
	return visit_begin(list->visit, list->settings) &&
	    (is_cluster ? list_cluster(list, pattern) : list_server(list, pattern));
}

static void
free_list(struct list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->names[i]);
	free(list->names);
	free(list->masters);
	free(list->rows);
	text_free(&list->shown);
	text_free(&list->text);
	sight_free(&list->sight);
}

/* -- several servers --------------------------------------------------------------------------- */

/* Also what only a minority shows, if that is not the same everywhere. */
static void
show_panel(struct list *list, const char *name)
{
	struct panel *panel = list->panel;
	char remark[64] = "";
	if (panel->shown->state == SIGHT_FREE && panel->agree)
		return;
	if (list->settings->json) {
		text_add(&list->text, list->text.used == 0 ? "[" : ",\n",
		    list->text.used == 0 ? 1 : 2);
		panel_add_json(panel, &list->text, NULL);
		return;
	}
	if (!panel->agree)
		snprintf(remark, sizeof remark, "; so on %d of %d nodes", panel->votes,
		    panel->count);
	picture_add_name(&list->text, name, list->width);
	picture_add_row(&list->text, panel->shown, remark);
}

/* The names that any node has, and what all say of each. */
static bool
list_nodes(struct list *list, const char *pattern, int *status)
{
	struct panel *panel = list->panel;
	if (!panel_begin(panel, list->settings, "list the locks", status))
		return false;
	for (int i = 0; i < panel->count && !list->no_memory; i++) {
		list->visit = &panel->nodes[i].visit;
		if (panel->nodes[i].is_there && !list_find_names(list, pattern))
			panel->nodes[i].is_there = false;
	}
	if (!panel_has_majority(panel, "list the locks", status))
		return false;
	for (size_t i = 0; i < list->count && !list->no_memory; i++) {
		if (!panel_look(panel, list->names[i], status))
			return false;
		show_panel(list, list->names[i]);
		list->no_memory = list->text.failed;
	}
	if (list->no_memory) {
		message_error("cannot list the locks: %s", strerror(ENOMEM));
		*status = EXIT_SYSTEM;
	}
	return !list->no_memory;
}

static bool
list_one(struct list *list, const char *pattern, int *status)
{
	bool is_complete = make_list(list, pattern);
	if (is_complete)
		compose(list);
	if (list->no_memory || list->sight.no_memory)
		problem_set_errno(&list->visit->problem, NULL, ENOMEM);
	visit_end(list->visit);
	if (!is_complete)
		*status = visit_explain(list->visit, "list the locks");
	return is_complete;
}

int
view_list(const struct view_settings *settings, const char *glob)
{
	static struct list list;
	static struct visit visit;
	static struct panel panel;
	char pattern[GLOB_PATTERN_SIZE];
	int status = 0;
	if (!glob_make_pattern(pattern, settings->prefix, glob)) {
		message_error("--list: GLOB must have at most %d bytes, and the prefix %d",
		    GLOB_MAX_BYTES, PREFIX_MAX_BYTES);
		return EXIT_USAGE;
	}
	bool has_nodes = settings->node_count > 1;
	list.settings = settings;
	list.visit = &visit;
	list.panel = has_nodes ? &panel : NULL;
	bool is_complete = (has_nodes ? list_nodes : list_one)(&list, pattern, &status);
	if (has_nodes)
		panel_end(&panel);
	if (is_complete && has_nodes && settings->json)
		text_add(&list.text, list.text.used == 0 ? "[]\n" : "]\n",
		    list.text.used == 0 ? 3 : 2);
	if (is_complete)
		status = visit_print(settings, &list.text);
	free_list(&list);
	return status;
}
