/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Commands for hashes. HKEYS and HGETALL answer in the order of arrival, as Redis does while a hash
 * is small; a real one's order is arbitrary when a field or value is longer than 64 bytes. */
#include <string.h>

#include "model_parts.h"

void
run_hset(struct request *request)
{
	struct model *model = request->model;
	const struct word *words = request->words, *key = &words[1];
	struct entry *entry;
	int64_t created = 0;
	if (request->count % 2 == 1) {
		answer_error(model, "ERR wrong number of arguments for 'hset' command");
		return;
	}
	if (!keys_find_of_type(model, key, MODEL_HASH, &entry))
		return;
	if (entry == NULL)
		entry = keys_add(model, key, MODEL_HASH);
	for (size_t i = 2; i < request->count; i += 2) {
		struct item *item = items_find(entry, words[i].at, words[i].length);
		if (item == NULL) {
			item = items_insert(entry, entry->count);
			created++;
		}
		item_set(item, words[i].at, words[i].length, words[i + 1].at, words[i + 1].length,
		    0);
	}
	keys_note_change(model, key->at, key->length);
	answer_integer(model, created);
}

static void
answer_field(struct model *model, struct entry *entry, const struct word *field)
{
	const struct item *item =
	    entry != NULL ? items_find(entry, field->at, field->length) : NULL;
	if (item == NULL)
		answer_nil(model);
	else
		answer_text(model, item->name + item->length + 1, item->value_length);
}

void
run_hget(struct request *request)
{
	struct entry *entry;
	if (keys_find_of_type(request->model, &request->words[1], MODEL_HASH, &entry))
		answer_field(request->model, entry, &request->words[2]);
}

void
run_hmget(struct request *request)
{
	struct entry *entry;
	if (!keys_find_of_type(request->model, &request->words[1], MODEL_HASH, &entry))
		return;
	answer_array(request->model, request->count - 2);
	for (size_t i = 2; i < request->count; i++)
		answer_field(request->model, entry, &request->words[i]);
}

void
run_hdel(struct request *request)
{
	struct model *model = request->model;
	const struct word *key = &request->words[1];
	struct entry *entry;
	int64_t count = 0;
	if (!keys_find_of_type(model, key, MODEL_HASH, &entry))
		return;
	for (size_t i = 2; entry != NULL && i < request->count; i++) {
		const struct item *item =
		    items_find(entry, request->words[i].at, request->words[i].length);
		if (item == NULL)
			continue;
		count++;
		items_remove(entry, (size_t)(item - entry->items));
		if (entry->count == 0) {
			keys_remove(model, entry);
			entry = NULL;
		}
	}
	if (count > 0)
		keys_note_change(model, key->at, key->length);
	answer_integer(model, count);
}

void
run_hlen(struct request *request)
{
	struct entry *entry;
	if (keys_find_of_type(request->model, &request->words[1], MODEL_HASH, &entry))
		answer_integer(request->model, entry != NULL ? (int64_t)entry->count : 0);
}

static void
answer_all(struct request *request, bool values)
{
	struct model *model = request->model;
	struct entry *entry;
	if (!keys_find_of_type(model, &request->words[1], MODEL_HASH, &entry))
		return;
	size_t count = entry != NULL ? entry->count : 0;
	answer_array(model, values ? 2 * count : count);
	for (size_t i = 0; i < count; i++) {
		const struct item *item = &entry->items[i];
		answer_text(model, item->name, item->length);
		if (values)
			answer_text(model, item->name + item->length + 1, item->value_length);
	}
}

void
run_hkeys(struct request *request)
{
	answer_all(request, false);
}

void
run_hgetall(struct request *request)
{
	answer_all(request, true);
}
