/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Commands for sorted sets. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model_parts.h"

#define NO_INTEGER "ERR value is not an integer or out of range"
#define SYNTAX "ERR syntax error"

/* -- ZADD ------------------------------------------------------------------------------------- */

struct adding {
	bool if_absent, if_there, if_greater, if_less, counts_changes;
	size_t first; /* word */
	int64_t added, changed;
};

/* False, and an error was answered. */
static bool
read_adding(struct request *request, struct adding *adding)
{
	struct model *model = request->model;
	size_t i = 2;
	for (; i < request->count; i++) {
		const struct word *word = &request->words[i];
		if (word_is_like(word, "nx"))
			adding->if_absent = true;
		else if (word_is_like(word, "xx"))
			adding->if_there = true;
		else if (word_is_like(word, "gt"))
			adding->if_greater = true;
		else if (word_is_like(word, "lt"))
			adding->if_less = true;
		else if (word_is_like(word, "ch"))
			adding->counts_changes = true;
		else
			break;
	}
	adding->first = i;
	if (i == request->count || (request->count - i) % 2 == 1) {
		answer_error(model, SYNTAX);
		return false;
	}
	if (adding->if_absent && adding->if_there) {
		answer_error(model, "ERR XX and NX options at the same time are not compatible");
		return false;
	}
	if (adding->if_greater + adding->if_less + adding->if_absent > 1) {
		answer_error(model,
		    "ERR GT, LT, and/or NX options at the same time are not compatible");
		return false;
	}
	for (; i < request->count; i += 2) {
		double unused;
		if (!word_read_double(&request->words[i], &unused)) {
			answer_error(model, "ERR value is not a valid float");
			return false;
		}
	}
	return true;
}

static void
add(struct entry *entry, struct adding *adding, const struct word *words)
{
	const struct word *name = &words[1];
	double score;
	word_read_double(&words[0], &score);
	score += 0.0; /* -0 is kept as 0, at least while a set is small */
	const struct item *item = items_find(entry, name->at, name->length);
	if (item != NULL) {
		if (adding->if_absent || (adding->if_less && score >= item->score) ||
		    (adding->if_greater && score <= item->score) || score == item->score)
			return;
		items_remove(entry, (size_t)(item - entry->items));
		adding->changed++;
	} else if (adding->if_there) {
		return;
	} else {
		adding->added++;
	}
	size_t place = items_place(entry, score, name->at, name->length);
	item_set(items_insert(entry, place), name->at, name->length, "", 0, score);
}

void
run_zadd(struct request *request)
{
	struct model *model = request->model;
	const struct word *key = &request->words[1];
	struct adding adding = {0};
	struct entry *entry;
	if (!read_adding(request, &adding) || !keys_find_of_type(model, key, MODEL_ZSET, &entry))
		return;
	if (entry == NULL && !adding.if_there)
		entry = keys_add(model, key, MODEL_ZSET);
	for (size_t i = adding.first; entry != NULL && i < request->count; i += 2)
		add(entry, &adding, &request->words[i]);
	answer_integer(model, adding.counts_changes ? adding.added + adding.changed : adding.added);
	if (adding.added + adding.changed > 0)
		keys_note_change(model, key->at, key->length);
}

/* -- ranges ----------------------------------------------------------------------------------- */

struct range {
	double least, most;
	bool beyond_least, beyond_most;
};

/* As Redis does: blanks are permitted here, and nothing at all is 0. */
static bool
read_end(const struct word *word, double *number, bool *beyond)
{
	char text[400], *end;
	if (word->length >= sizeof text)
		return false;
	memcpy(text, word->at, word->length);
	text[word->length] = '\0';
	*beyond = text[0] == '(';
	*number = strtod(text + *beyond, &end);
	return *end == '\0' && !isnan(*number);
}

/* False, and an error was answered. */
static bool
read_range(struct request *request, const struct word *words, struct range *range)
{
	if (read_end(&words[0], &range->least, &range->beyond_least) &&
	    read_end(&words[1], &range->most, &range->beyond_most))
		return true;
	answer_error(request->model, "ERR min or max is not a float");
	return false;
}

/* The items from *first to before *end are in it. */
static void
find_range(const struct entry *entry, const struct range *range, size_t *first, size_t *end)
{
	size_t count = entry != NULL ? entry->count : 0;
	for (*first = 0; *first < count; ++*first) {
		double score = entry->items[*first].score;
		if (range->beyond_least ? score > range->least : score >= range->least)
			break;
	}
	for (*end = *first; *end < count; ++*end) {
		double score = entry->items[*end].score;
		if (range->beyond_most ? score >= range->most : score > range->most)
			break;
	}
}

static void
answer_items(struct model *model, const struct entry *entry, size_t first, size_t end, bool scores)
{
	answer_array(model, (end - first) * (scores ? 2 : 1));
	for (size_t i = first; i < end; i++) {
		answer_text(model, entry->items[i].name, entry->items[i].length);
		if (scores)
			answer_double(model, entry->items[i].score);
	}
}

void
run_zrange(struct request *request)
{
	struct model *model = request->model;
	struct entry *entry;
	int64_t first, last;
	bool scores = false;
	for (size_t i = 4; i < request->count; i++) {
		/* LIMIT, BYSCORE, BYLEX and REV are not for us. */
		if (!word_is_like(&request->words[i], "withscores")) {
			answer_error(model, SYNTAX);
			return;
		}
		scores = true;
	}
	if (!word_read_integer(&request->words[2], &first) ||
	    !word_read_integer(&request->words[3], &last)) {
		answer_error(model, NO_INTEGER);
		return;
	}
	if (!keys_find_of_type(model, &request->words[1], MODEL_ZSET, &entry))
		return;
	int64_t count = entry != NULL ? (int64_t)entry->count : 0;
	if (first < 0)
		first = first + count > 0 ? first + count : 0;
	if (last < 0)
		last += count;
	if (last >= count)
		last = count - 1;
	if (first > last || first >= count)
		answer_array(model, 0);
	else
		answer_items(model, entry, (size_t)first, (size_t)last + 1, scores);
}

void
run_zrangebyscore(struct request *request)
{
	struct model *model = request->model;
	struct entry *entry;
	struct range range;
	int64_t offset = 0, limit = -1;
	size_t first, end;
	bool scores = false;
	for (size_t i = 4; i < request->count; i++) {
		if (word_is_like(&request->words[i], "withscores")) {
			scores = true;
		} else if (!word_is_like(&request->words[i], "limit") || i + 2 >= request->count) {
			answer_error(model, SYNTAX);
			return;
		} else if (!word_read_integer(&request->words[i + 1], &offset) ||
		    !word_read_integer(&request->words[i + 2], &limit)) {
			answer_error(model, NO_INTEGER);
			return;
		} else {
			i += 2;
		}
	}
	if (!read_range(request, &request->words[2], &range) ||
	    !keys_find_of_type(model, &request->words[1], MODEL_ZSET, &entry))
		return;
	find_range(entry, &range, &first, &end);
	/* Redis goes on until the offset has become 0: from a negative one it never does. */
	if (offset < 0 || (uint64_t)offset > end - first)
		first = end;
	else
		first += (size_t)offset;
	if (limit >= 0 && (uint64_t)limit < end - first)
		end = first + (size_t)limit;
	answer_items(model, entry, first, end, scores);
}

void
run_zcount(struct request *request)
{
	struct entry *entry;
	struct range range;
	size_t first, end;
	if (!read_range(request, &request->words[2], &range) ||
	    !keys_find_of_type(request->model, &request->words[1], MODEL_ZSET, &entry))
		return;
	find_range(entry, &range, &first, &end);
	answer_integer(request->model, (int64_t)(end - first));
}

/* -- removing --------------------------------------------------------------------------------- */

static void
note_removal(struct request *request, struct entry *entry, int64_t count)
{
	struct model *model = request->model;
	if (count > 0) {
		if (entry->count == 0)
			keys_remove(model, entry);
		keys_note_change(model, request->words[1].at, request->words[1].length);
	}
	answer_integer(model, count);
}

void
run_zremrangebyscore(struct request *request)
{
	struct entry *entry;
	struct range range;
	size_t first, end;
	if (!read_range(request, &request->words[2], &range) ||
	    !keys_find_of_type(request->model, &request->words[1], MODEL_ZSET, &entry))
		return;
	find_range(entry, &range, &first, &end);
	for (size_t i = first; i < end; i++)
		items_remove(entry, first);
	note_removal(request, entry, (int64_t)(end - first));
}

void
run_zrem(struct request *request)
{
	struct entry *entry;
	int64_t count = 0;
	if (!keys_find_of_type(request->model, &request->words[1], MODEL_ZSET, &entry))
		return;
	for (size_t i = 2; entry != NULL && i < request->count; i++) {
		const struct item *item =
		    items_find(entry, request->words[i].at, request->words[i].length);
		if (item == NULL)
			continue;
		items_remove(entry, (size_t)(item - entry->items));
		count++;
	}
	note_removal(request, entry, count);
}

/* -- one -------------------------------------------------------------------------------------- */

void
run_zcard(struct request *request)
{
	struct entry *entry;
	if (keys_find_of_type(request->model, &request->words[1], MODEL_ZSET, &entry))
		answer_integer(request->model, entry != NULL ? (int64_t)entry->count : 0);
}

/* NULL, and it was answered, when there is none. */
static const struct item *
find_member(struct request *request, struct entry **entry)
{
	const struct word *name = &request->words[2];
	if (!keys_find_of_type(request->model, &request->words[1], MODEL_ZSET, entry))
		return NULL;
	const struct item *item =
	    *entry != NULL ? items_find(*entry, name->at, name->length) : NULL;
	if (item == NULL)
		answer_nil(request->model);
	return item;
}

void
run_zscore(struct request *request)
{
	struct entry *entry;
	const struct item *item = find_member(request, &entry);
	if (item != NULL)
		answer_double(request->model, item->score);
}

void
run_zrank(struct request *request)
{
	struct entry *entry;
	const struct item *item = find_member(request, &entry);
	if (item != NULL)
		answer_integer(request->model, item - entry->items);
}
