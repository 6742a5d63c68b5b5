/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* The keys. There are few: they are searched one after the other. Entries that were removed stay
 * behind the last one, with their memory, for the next. */
#include <stdlib.h>
#include <string.h>

#include "model_parts.h"

static bool
has_expired(const struct model *model, const struct entry *entry)
{
	return entry->expires_ms >= 0 && model->now_ms > entry->expires_ms;
}

static struct entry *
find(const struct model *model, int db, const char *name, size_t length)
{
	for (size_t i = 0; i < model->count; i++) {
		struct entry *entry = &model->entries[i];
		if (entry->db == db && words_equal(entry->name.at, entry->name.used, name, length))
			return entry;
	}
	return NULL;
}

void
keys_note_change(struct model *model, const char *name, size_t length)
{
	model->writes++;
	if (model->tracked_count > 0)
		track_tell_change(model, name, length);
}

static void
expire(struct model *model, struct entry *entry)
{
	keys_remove(model, entry);
	/* It is still there, behind the last one. */
	if (model->tracked_count > 0)
		track_tell_change(model, model->entries[model->count].name.at,
		    model->entries[model->count].name.used);
}

struct entry *
keys_find(struct model *model, const struct word *name)
{
	struct entry *entry = find(model, model->db, name->at, name->length);
	if (entry == NULL || !has_expired(model, entry))
		return entry;
	/* A replica waits for its master to say so. */
	if (!model->is_replica)
		expire(model, entry);
	return NULL;
}

bool
keys_find_of_type(struct model *model, const struct word *name, enum model_type type,
    struct entry **entry)
{
	*entry = keys_find(model, name);
	if (*entry == NULL || (*entry)->type == type)
		return true;
	answer_error(model, "WRONGTYPE Operation against a key holding the wrong kind of value");
	return false;
}

static struct entry *
add(struct model *model)
{
	if (model->count == model->room) {
		size_t room = model->room * 2 + 8;
		model->entries = model_allocate(model->entries, room * sizeof *model->entries);
		memset(model->entries + model->room, 0,
		    (room - model->room) * sizeof *model->entries);
		model->room = room;
	}
	return &model->entries[model->count++];
}

struct entry *
keys_add(struct model *model, const struct word *name, enum model_type type)
{
	struct entry *entry = add(model);
	entry->db = model->db;
	entry->expires_ms = -1;
	bytes_set(&entry->name, name->at, name->length);
	keys_empty(entry, type);
	return entry;
}

void
keys_empty(struct entry *entry, enum model_type type)
{
	entry->type = type;
	entry->count = 0;
	entry->value.used = 0;
}

void
keys_remove(struct model *model, struct entry *entry)
{
	struct entry removed = *entry;
	*entry = model->entries[--model->count];
	model->entries[model->count] = removed;
}

void
keys_remove_all(struct model *model, int db)
{
	for (size_t i = model->count; i-- > 0;) {
		if (db == -1 || model->entries[i].db == db)
			keys_remove(model, &model->entries[i]);
	}
}

void
keys_copy_all(struct model *to, const struct model *from)
{
	to->count = 0;
	for (size_t i = 0; i < from->count; i++) {
		const struct entry *source = &from->entries[i];
		struct entry *entry = add(to);
		keys_empty(entry, source->type);
		entry->db = source->db;
		entry->expires_ms = source->expires_ms;
		bytes_set(&entry->name, source->name.at, source->name.used);
		bytes_set(&entry->value, source->value.at, source->value.used);
		for (size_t k = 0; k < source->count; k++) {
			const struct item *item = &source->items[k];
			item_set(items_insert(entry, k), item->name, item->length,
			    item->name + item->length + 1, item->value_length, item->score);
		}
	}
}

void
keys_free_all(struct model *model)
{
	for (size_t i = 0; i < model->room; i++) {
		struct entry *entry = &model->entries[i];
		for (size_t k = 0; k < entry->room; k++)
			free(entry->items[k].name);
		free(entry->items);
		free(entry->name.at);
		free(entry->value.at);
	}
	free(model->entries);
}

/* -- what the world does ---------------------------------------------------------------------- */

bool
model_evict(struct model *model, const char *key)
{
	struct entry *entry = find(model, 0, key, strlen(key));
	if (entry == NULL)
		return false;
	expire(model, entry);
	model_deliver(model);
	return true;
}

void
model_expire_due(struct model *model)
{
	for (size_t i = model->count; i-- > 0;) {
		if (has_expired(model, &model->entries[i]))
			expire(model, &model->entries[i]);
	}
	model_deliver(model);
}

void
model_flush(struct model *model)
{
	model->writes++;
	keys_remove_all(model, -1);
	track_tell_flush(model);
	model_deliver(model);
}

/* -- looking ---------------------------------------------------------------------------------- */

static void
show(const struct entry *entry, struct model_key *key)
{
	*key = (struct model_key){
	    .name = entry->name.at,
	    .length = entry->name.used,
	    .type = entry->type,
	    .expires_ms = entry->expires_ms,
	    .db = entry->db,
	    .value = entry->type == MODEL_STRING ? entry->value.at : NULL,
	    .value_length = entry->value.used,
	    .count = entry->count,
	    .place = entry,
	};
}

bool
model_next_key(const struct model *model, size_t *at, struct model_key *key)
{
	while (*at < model->count) {
		const struct entry *entry = &model->entries[(*at)++];
		if (has_expired(model, entry))
			continue;
		show(entry, key);
		return true;
	}
	return false;
}

bool
model_find_key(const struct model *model, const char *name, struct model_key *key)
{
	const struct entry *entry = find(model, 0, name, strlen(name));
	if (entry == NULL || has_expired(model, entry))
		return false;
	show(entry, key);
	return true;
}

bool
model_next_member(const struct model *model, const struct model_key *key, size_t *at,
    struct model_member *member)
{
	const struct entry *entry = key->place;
	(void)model;
	if (*at >= entry->count)
		return false;
	const struct item *item = &entry->items[(*at)++];
	*member = (struct model_member){
	    .name = item->name,
	    .length = item->length,
	    .score = item->score,
	    .value = item->name + item->length + 1,
	    .value_length = item->value_length,
	};
	return true;
}
