/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Commands for strings. */
#include <string.h>

#include "model_parts.h"

#define NO_INTEGER "ERR value is not an integer or out of range"
#define SYNTAX "ERR syntax error"

struct set_options {
	bool if_absent, if_there, keeps_ttl, wants_old;
	bool has_expiry, is_absolute, is_seconds;
	struct word expiry;
};

/* One of EX, PX, EXAT, PXAT; the same one twice is as good as once, as in Redis. */
static bool
read_expiry_option(const struct request *request, size_t *at, struct set_options *options)
{
	const struct word *word = &request->words[*at];
	bool is_seconds = word_is_like(word, "ex") || word_is_like(word, "exat");
	bool is_absolute = word_is_like(word, "exat") || word_is_like(word, "pxat");
	if (!is_seconds && !is_absolute && !word_is_like(word, "px"))
		return false;
	if (options->keeps_ttl || *at + 1 >= request->count ||
	    (options->has_expiry &&
		(options->is_seconds != is_seconds || options->is_absolute != is_absolute)))
		return false;
	options->has_expiry = true;
	options->is_seconds = is_seconds;
	options->is_absolute = is_absolute;
	options->expiry = request->words[++*at];
	return true;
}

static bool
read_set_options(const struct request *request, struct set_options *options)
{
	for (size_t i = 3; i < request->count; i++) {
		const struct word *word = &request->words[i];
		if (word_is_like(word, "nx") && !options->if_there)
			options->if_absent = true;
		else if (word_is_like(word, "xx") && !options->if_absent)
			options->if_there = true;
		else if (word_is_like(word, "get"))
			options->wants_old = true;
		else if (word_is_like(word, "keepttl") && !options->has_expiry)
			options->keeps_ttl = true;
		else if (!read_expiry_option(request, &i, options))
			return false;
	}
	return true;
}

/* False, and an error was answered. */
static bool
read_expiry(struct request *request, const struct set_options *options, int64_t *expires_ms)
{
	struct model *model = request->model;
	int64_t number;
	*expires_ms = -1;
	if (!options->has_expiry)
		return true;
	if (!word_read_integer(&options->expiry, &number)) {
		answer_error(model, NO_INTEGER);
		return false;
	}
	bool is_good = number > 0 && !(options->is_seconds && number > INT64_MAX / 1000);
	if (is_good && options->is_seconds)
		number *= 1000;
	if (is_good && !options->is_absolute)
		is_good = !__builtin_add_overflow(number, model->now_ms, &number);
	if (!is_good) {
		answer_error(model, "ERR invalid expire time in 'set' command");
		return false;
	}
	*expires_ms = number;
	return true;
}

void
run_set(struct request *request)
{
	struct model *model = request->model;
	const struct word *key = &request->words[1], *value = &request->words[2];
	struct set_options options = {0};
	struct entry *entry;
	int64_t expires_ms;
	if (!read_set_options(request, &options)) {
		answer_error(model, SYNTAX);
		return;
	}
	if (!read_expiry(request, &options, &expires_ms))
		return;
	if (options.wants_old) {
		if (!keys_find_of_type(model, key, MODEL_STRING, &entry))
			return;
		if (entry != NULL)
			answer_text(model, entry->value.at, entry->value.used);
		else
			answer_nil(model);
	} else {
		entry = keys_find(model, key);
	}
	if ((options.if_absent && entry != NULL) || (options.if_there && entry == NULL)) {
		if (!options.wants_old)
			answer_nil(model);
		return;
	}
	if (entry == NULL)
		entry = keys_add(model, key, MODEL_STRING);
	else
		keys_empty(entry, MODEL_STRING);
	bytes_set(&entry->value, value->at, value->length);
	if (!options.keeps_ttl)
		entry->expires_ms = expires_ms;
	keys_note_change(model, key->at, key->length);
	if (!options.wants_old)
		answer_ok(model);
}

void
run_get(struct request *request)
{
	struct entry *entry;
	if (!keys_find_of_type(request->model, &request->words[1], MODEL_STRING, &entry))
		return;
	if (entry == NULL)
		answer_nil(request->model);
	else
		answer_text(request->model, entry->value.at, entry->value.used);
}

void
run_getrange(struct request *request)
{
	struct model *model = request->model;
	struct entry *entry;
	int64_t first, last;
	if (!word_read_integer(&request->words[2], &first) ||
	    !word_read_integer(&request->words[3], &last)) {
		answer_error(model, NO_INTEGER);
		return;
	}
	if (!keys_find_of_type(model, &request->words[1], MODEL_STRING, &entry))
		return;
	int64_t length = entry != NULL ? (int64_t)entry->value.used : 0;
	bool is_backwards = first < 0 && last < 0 && first > last;
	if (first < 0)
		first = first + length > 0 ? first + length : 0;
	if (last < 0)
		last = last + length > 0 ? last + length : 0;
	if (last >= length)
		last = length - 1;
	if (is_backwards || first > last || length == 0)
		answer_text(model, "", 0);
	else
		answer_text(model, entry->value.at + first, (size_t)(last - first + 1));
}

void
run_incr(struct request *request)
{
	struct model *model = request->model;
	const struct word *key = &request->words[1];
	struct entry *entry;
	int64_t number = 0;
	char digits[24];
	if (!keys_find_of_type(model, key, MODEL_STRING, &entry))
		return;
	if (entry != NULL) {
		struct word old = {entry->value.at, entry->value.used};
		if (!word_read_integer(&old, &number)) {
			answer_error(model, NO_INTEGER);
			return;
		}
	}
	if (number == INT64_MAX) {
		answer_error(model, "ERR increment or decrement would overflow");
		return;
	}
	if (entry == NULL)
		entry = keys_add(model, key, MODEL_STRING);
	number++;
	bytes_set(&entry->value, digits, write_integer(digits, number));
	keys_note_change(model, key->at, key->length);
	answer_integer(model, number);
}
