/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Commands for keys of any type: deletion, expiry, what there is. */
#include <string.h>

#include "model_parts.h"

void
run_del(struct request *request)
{
	struct model *model = request->model;
	int64_t count = 0;
	for (size_t i = 1; i < request->count; i++) {
		const struct word *key = &request->words[i];
		struct entry *entry = keys_find(model, key);
		if (entry == NULL)
			continue;
		keys_remove(model, entry);
		keys_note_change(model, key->at, key->length);
		count++;
	}
	answer_integer(model, count);
}

void
run_exists(struct request *request)
{
	int64_t count = 0;
	for (size_t i = 1; i < request->count; i++)
		count += keys_find(request->model, &request->words[i]) != NULL;
	answer_integer(request->model, count);
}

void
run_type(struct request *request)
{
	static const char *const names[] =
	    {[MODEL_STRING] = "string", [MODEL_HASH] = "hash", [MODEL_ZSET] = "zset"};
	const struct entry *entry = keys_find(request->model, &request->words[1]);
	answer_status(request->model, entry != NULL ? names[entry->type] : "none");
}

/* -- expiry ----------------------------------------------------------------------------------- */

static int64_t
left_ms(struct request *request)
{
	struct model *model = request->model;
	const struct entry *entry = keys_find(model, &request->words[1]);
	if (entry == NULL)
		return -2;
	if (entry->expires_ms < 0)
		return -1;
	return entry->expires_ms > model->now_ms ? entry->expires_ms - model->now_ms : 0;
}

void
run_pttl(struct request *request)
{
	answer_integer(request->model, left_ms(request));
}

void
run_ttl(struct request *request)
{
	int64_t left = left_ms(request);
	answer_integer(request->model, left < 0 ? left : (left + 500) / 1000);
}

enum { IF_NONE = 1, IF_SOME = 2, IF_LATER = 4, IF_SOONER = 8 };

/* False, and an error was answered. */
static bool
read_conditions(struct request *request, unsigned int *conditions)
{
	static const char *const names[] = {"nx", "xx", "gt", "lt"};
	*conditions = 0;
	for (size_t i = 3; i < request->count; i++) {
		const struct word *word = &request->words[i];
		size_t which = 0;
		while (which < 4 && !word_is_like(word, names[which]))
			which++;
		if (which == 4) {
			answer_error(request->model, "ERR Unsupported option %.*s",
			    (int)word->length, word->at);
			return false;
		}
		*conditions |= 1U << which;
	}
	if ((*conditions & IF_NONE) && (*conditions & ~(unsigned int)IF_NONE)) {
		answer_error(request->model,
		    "ERR NX and XX, GT or LT options at the same time are not compatible");
		return false;
	}
	if ((*conditions & IF_LATER) && (*conditions & IF_SOONER)) {
		answer_error(request->model,
		    "ERR GT and LT options at the same time are not compatible");
		return false;
	}
	return true;
}

static bool
are_met(unsigned int conditions, int64_t present, int64_t wanted)
{
	return !((conditions & IF_NONE) && present >= 0) &&
	    !((conditions & IF_SOME) && present < 0) &&
	    !((conditions & IF_LATER) && (present < 0 || wanted <= present)) &&
	    !((conditions & IF_SOONER) && present >= 0 && wanted >= present);
}

static void
set_expiry(struct request *request, int64_t from_ms, int64_t unit_ms)
{
	struct model *model = request->model;
	const struct word *key = &request->words[1];
	unsigned int conditions;
	int64_t when;
	if (!read_conditions(request, &conditions))
		return;
	if (!word_read_integer(&request->words[2], &when)) {
		answer_error(model, "ERR value is not an integer or out of range");
		return;
	}
	if (when > INT64_MAX / unit_ms || when < INT64_MIN / unit_ms ||
	    when * unit_ms > INT64_MAX - from_ms) {
		answer_error(model, "ERR invalid expire time in '%s' command",
		    request->command->name);
		return;
	}
	when = when * unit_ms + from_ms;
	struct entry *entry = keys_find(model, key);
	if (entry == NULL || !are_met(conditions, entry->expires_ms, when)) {
		answer_integer(model, 0);
		return;
	}
	if (when <= model->now_ms)
		keys_remove(model, entry);
	else
		entry->expires_ms = when;
	keys_note_change(model, key->at, key->length);
	answer_integer(model, 1);
}

void
run_expire(struct request *request)
{
	set_expiry(request, request->model->now_ms, 1000);
}

void
run_pexpire(struct request *request)
{
	set_expiry(request, request->model->now_ms, 1);
}

void
run_pexpireat(struct request *request)
{
	set_expiry(request, 0, 1);
}

void
run_persist(struct request *request)
{
	struct model *model = request->model;
	const struct word *key = &request->words[1];
	struct entry *entry = keys_find(model, key);
	if (entry == NULL || entry->expires_ms < 0) {
		answer_integer(model, 0);
		return;
	}
	entry->expires_ms = -1;
	keys_note_change(model, key->at, key->length);
	answer_integer(model, 1);
}

/* -- all -------------------------------------------------------------------------------------- */

/* `*` and `?` are what dlock's patterns have; a backslash takes the next as it is. */
static bool
matches(const char *pattern, size_t pattern_length, const char *text, size_t length)
{
	for (size_t i = 0; i < pattern_length; i++) {
		if (pattern[i] == '*') {
			for (size_t skip = 0; skip <= length; skip++) {
				if (matches(pattern + i + 1, pattern_length - i - 1, text + skip,
					length - skip))
					return true;
			}
			return false;
		}
		if (pattern[i] == '\\' && i + 1 < pattern_length)
			i++;
		else if (pattern[i] == '?' && length > 0) {
			text++;
			length--;
			continue;
		}
		if (length == 0 || pattern[i] != *text)
			return false;
		text++;
		length--;
	}
	return length == 0;
}

/* How many keys match; if `tells`, they are answered. */
static size_t
find_all(struct model *model, const struct word *pattern, bool tells)
{
	size_t found = 0, at = 0;
	struct model_key key;
	while (model_next_key(model, &at, &key)) {
		if (key.db != model->db ||
		    !matches(pattern->at, pattern->length, key.name, key.length))
			continue;
		found++;
		if (tells)
			answer_text(model, key.name, key.length);
	}
	return found;
}

void
run_keys(struct request *request)
{
	answer_array(request->model, find_all(request->model, &request->words[1], false));
	find_all(request->model, &request->words[1], true);
}

/* SCAN removes what has expired of those that match; KEYS leaves it. */
static void
expire_all(struct model *model, const struct word *pattern)
{
	for (size_t i = model->count; i-- > 0;) {
		struct word name = {model->entries[i].name.at, model->entries[i].name.used};
		if (model->entries[i].db == model->db &&
		    matches(pattern->at, pattern->length, name.at, name.length))
			keys_find(model, &name);
	}
}

/* All at once. Redis may do so, too; it does when there are few. */
void
run_scan(struct request *request)
{
	struct model *model = request->model;
	struct word pattern = {"*", 1};
	int64_t number;
	if (!word_read_integer(&request->words[1], &number) || number < 0) {
		answer_error(model, "ERR invalid cursor");
		return;
	}
	for (size_t i = 2; i < request->count; i += 2) {
		if (i + 1 < request->count && word_is_like(&request->words[i], "match")) {
			pattern = request->words[i + 1];
		} else if (i + 1 == request->count || !word_is_like(&request->words[i], "count")) {
			answer_error(model, "ERR syntax error");
			return;
		} else if (!word_read_integer(&request->words[i + 1], &number)) {
			answer_error(model, "ERR value is not an integer or out of range");
			return;
		} else if (number < 1) {
			answer_error(model, "ERR syntax error");
			return;
		}
	}
	expire_all(model, &pattern);
	answer_array(model, 2);
	answer_words(model, "0");
	answer_array(model, find_all(model, &pattern, false));
	find_all(model, &pattern, true);
}

void
run_dbsize(struct request *request)
{
	struct model *model = request->model;
	int64_t count = 0;
	for (size_t i = 0; i < model->count; i++)
		count += model->entries[i].db == model->db;
	answer_integer(model, count);
}

/* False, and an error was answered. */
static bool
reads_flush_options(struct request *request)
{
	if (request->count == 1)
		return true;
	if (request->count == 2 &&
	    (word_is_like(&request->words[1], "sync") || word_is_like(&request->words[1], "async")))
		return true;
	answer_error(request->model, "ERR syntax error");
	return false;
}

static void
flush(struct request *request, int db)
{
	struct model *model = request->model;
	if (!reads_flush_options(request))
		return;
	model->writes++;
	track_tell_flush(model);
	keys_remove_all(model, db);
	answer_ok(model);
}

void
run_flushall(struct request *request)
{
	flush(request, -1);
}

void
run_flushdb(struct request *request)
{
	flush(request, request->model->db);
}
