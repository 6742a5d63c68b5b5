/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* --status, --list and --break at a PostgreSQL server. */
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/message.h"
#include "exits.h"
#include "view/glob.h"
#include "view/picture.h"
#include "view/postgres_look.h"
#include "view/text.h"
#include "view/visit.h"

#define STATUS_FREE 1
#define BREAK_FREE 1
/* A session that has been told to end. */
#define END_LIMIT_MS 1500

static void
set_no_memory(struct postgres_look *look)
{
	problem_set_errno(&look->problem, NULL, ENOMEM);
	look->outcome = OUTCOME_UNKNOWN;
}

static int
explain(const struct postgres_look *look, const char *what, const char *name)
{
	char action[NAME_MAX_BYTES + 32];
	snprintf(action, sizeof action, name != NULL ? "%s '%s'" : "%s", what, name);
	return visit_explain_failure(look->settings, action, look->outcome, &look->problem);
}

static bool
look_at_name(struct postgres_look *look, const char *name, struct sight *sight)
{
	static struct keys keys;
	if (!keys_make(&keys, look->settings->prefix, name, &look->problem))
		return false;
	if (postgres_look_at(look, name, keys.lock, sight))
		return true;
	set_no_memory(look);
	return false;
}

static void
add_json(struct text *text, const struct sight *sight, const struct picture_result *result)
{
	text_add(text, text->used == 0 ? "[" : ",\n", text->used == 0 ? 1 : 2);
	picture_add_json(text, sight, result, NULL);
}

static void
end_json(struct text *text)
{
	text_add(text, text->used == 0 ? "[]\n" : "]\n", text->used == 0 ? 3 : 2);
}

int
postgres_view_status(const struct view_settings *settings, char *const *names)
{
	static struct postgres_look look;
	static struct sight sight;
	struct text text = {.bytes = NULL};
	int status = 0;
	bool is_there = postgres_look_begin(&look, settings) && postgres_look_read(&look);
	for (size_t i = 0; names[i] != NULL; i++) {
		if (!is_there || !look_at_name(&look, names[i], &sight)) {
			status = explain(&look, "look at", names[i]);
			break;
		}
		if (sight.state == SIGHT_FREE)
			status = STATUS_FREE;
		if (settings->json)
			add_json(&text, &sight, NULL);
		else
			picture_add_text(&text, &sight);
	}
	postgres_look_end(&look);
	if (status <= STATUS_FREE) {
		if (settings->json)
			end_json(&text);
		int failure = visit_print(settings, &text);
		status = failure != 0 ? failure : status;
	}
	sight_free(&sight);
	text_free(&text);
	return status;
}

/* -- --list ------------------------------------------------------------------------------------ */

static int
compare_keys(const void *one, const void *other)
{
	return strcmp(*(const char *const *)one, *(const char *const *)other);
}

/* The keys that sessions name, and have or wait for, in order and each once: those of locks under
 * the prefix that the pattern matches. */
static size_t
find_keys(const struct postgres_look *look, const char *pattern, const char **keys)
{
	static struct keys made;
	struct problem unused;
	struct postgres_numbers numbers;
	size_t count = 0, kept = 0, skip = strlen(look->settings->prefix);
	for (size_t i = 0; i < look->count; i++) {
		const struct postgres_row *row = &look->rows[i];
		if (row->key[0] == '\0' || strncmp(row->key, look->settings->prefix, skip) != 0 ||
		    fnmatch(pattern, row->key, 0) != 0 ||
		    !keys_make(&made, look->settings->prefix, row->key + skip, &unused))
			continue;
		postgres_numbers_make(&numbers, look->settings->url, row->key, 0);
		if (row->number == numbers.lock)
			keys[count++] = row->key;
	}
	qsort(keys, count, sizeof *keys, compare_keys);
	for (size_t i = 0; i < count; i++) {
		if (kept == 0 || strcmp(keys[i], keys[kept - 1]) != 0)
			keys[kept++] = keys[i];
	}
	return kept;
}

static bool
add_rows(struct postgres_look *look, const char *pattern, struct text *text)
{
	static struct sight sight;
	size_t skip = strlen(look->settings->prefix);
	const char **keys = malloc((look->count + 1) * sizeof *keys);
	bool is_good = keys != NULL;
	size_t count = is_good ? find_keys(look, pattern, keys) : 0;
	int width = 0;
	for (size_t i = 0; i < count; i++) {
		int wide = picture_width(keys[i] + skip);
		width = wide > width ? wide : width;
	}
	for (size_t i = 0; i < count && is_good; i++) {
		is_good = postgres_look_at(look, keys[i] + skip, keys[i], &sight);
		if (look->settings->json) {
			add_json(text, &sight, NULL);
		} else {
			picture_add_name(text, keys[i] + skip, width);
			picture_add_row(text, &sight, "");
		}
	}
	sight_free(&sight);
	free(keys);
	if (!is_good)
		set_no_memory(look);
	return is_good;
}

int
postgres_view_list(const struct view_settings *settings, const char *glob)
{
	static struct postgres_look look;
	struct text text = {.bytes = NULL};
	char pattern[GLOB_PATTERN_SIZE];
	int status = 0;
	if (!glob_make_pattern(pattern, settings->prefix, glob)) {
		message_error("--list: GLOB must have at most %d bytes, and the prefix %d",
		    GLOB_MAX_BYTES, PREFIX_MAX_BYTES);
		return EXIT_USAGE;
	}
	bool is_complete = postgres_look_begin(&look, settings) && postgres_look_read(&look) &&
	    add_rows(&look, pattern, &text);
	if (!is_complete)
		status = explain(&look, "list the locks", NULL);
	postgres_look_end(&look);
	if (is_complete) {
		if (settings->json)
			end_json(&text);
		status = visit_print(settings, &text);
	}
	text_free(&text);
	return status;
}

/* -- --break ----------------------------------------------------------------------------------- */

struct breaking {
	struct postgres_look look;
	const char *name;
	struct sight taken;
	bool is_gone; /* the session that was told to end */
	int64_t ended;
};

static bool
take_end(void *context, const struct pq_answer *answer)
{
	struct breaking *breaking = context;
	breaking->is_gone = answer->rows == 0 || strcmp(pq_answer_text(answer, 0, 0), "t") == 0;
	breaking->ended += answer->rows;
	return true;
}

/* Which right it is that is missing. */
static void
explain_denial(struct breaking *breaking, const struct postgres_row *row)
{
	struct problem why = breaking->look.problem;
	if (breaking->look.outcome == OUTCOME_DENIED)
		problem_set(&breaking->look.problem,
		    "%.200s: ending a session of role %s needs that role, pg_signal_backend (GRANT "
		    "pg_signal_backend TO ...), or for a superuser's a superuser",
		    why.text, row->user[0] != '\0' ? row->user : "?");
}

/* Ends a session, if it is still the one that has it. */
static bool
end_session(struct breaking *breaking, const struct postgres_row *row, int64_t number)
{
	char statement[1024], lock[POSTGRES_CONDITION];
	snprintf(statement, sizeof statement,
	    "SELECT pg_terminate_backend(l.pid, %d) FROM pg_locks l WHERE %s AND l.pid = %" PRId64,
	    END_LIMIT_MS, postgres_write_condition(lock, "l", number), row->backend);
	if (!postgres_look_ask(&breaking->look, statement, take_end, breaking)) {
		explain_denial(breaking, row);
		return false;
	}
	if (!breaking->is_gone) {
		problem_set(&breaking->look.problem,
		    "its session (backend %" PRId64 ") has been told to end, and has not yet",
		    row->backend);
		breaking->look.outcome = OUTCOME_UNKNOWN;
	}
	return breaking->is_gone;
}

static bool
is_meant(const struct breaking *breaking, const struct postgres_row *row)
{
	const char *token = breaking->look.settings->token;
	return token == NULL || strcmp(token, row->token) == 0;
}

static void
tell_of_holder(const struct breaking *breaking, const struct postgres_row *row)
{
	char who[PICTURE_SIZE];
	struct sight *taken = (struct sight *)&breaking->taken;
	for (size_t i = 0; i < taken->holders; i++) {
		if (strcmp(taken->parties[i].token, row->token) != 0)
			continue;
		picture_describe_party(taken, &taken->parties[i], who, sizeof who);
		if (row->is_known)
			message_notice("broke '%s', held by %s: its session was ended, so that its "
				       "command is killed at once, and it is free",
			    breaking->name, who);
		else
			message_notice("freed '%s' at once, held by %s, which may go on as if it "
				       "still had it when another gets the lock",
			    breaking->name, who);
		return;
	}
}

/* *status: what there is to say is said. False: something has failed. */
static bool
break_holders(struct breaking *breaking, int64_t number, const char **result, int *status)
{
	const struct postgres_look *look = &breaking->look;
	int64_t meant = 0;
	for (size_t i = 0; i < look->count; i++) {
		const struct postgres_row *row = &look->rows[i];
		if (row->number != number || !is_meant(breaking, row))
			continue;
		meant++;
		if (!row->is_known && !look->settings->force) {
			message_error(
			    "'%s' is held by an unknown client (%s), which dlock cannot tell "
			    "to stop: --force ends its session at once, whatever it is doing",
			    breaking->name, row->token);
			*result = "foreign";
			*status = EXIT_CONFLICT;
			return true;
		}
	}
	*result = look->settings->force ? "freed" : "broken";
	for (size_t i = 0; i < look->count; i++) {
		const struct postgres_row *row = &look->rows[i];
		if (row->number != number || !is_meant(breaking, row))
			continue;
		if (!end_session(breaking, row, number))
			return false;
		tell_of_holder(breaking, row);
	}
	if (meant > 0)
		return true;
	*status = BREAK_FREE;
	*result = breaking->taken.holders > 0 ? "no-such-token" : "free";
	if (breaking->taken.holders > 0)
		message_notice("'%s' is not held by token '%s'", breaking->name,
		    look->settings->token);
	else
		message_notice("'%s' is free: there is nothing to break", breaking->name);
	return true;
}

/* As it is now. */
static int
report(struct breaking *breaking, const char *word)
{
	static struct sight now;
	struct text text = {.bytes = NULL};
	const struct picture_result result = {.word = word,
	    .taken = &breaking->taken,
	    .count = breaking->ended};
	if (!postgres_look_read(&breaking->look) ||
	    !look_at_name(&breaking->look, breaking->name, &now))
		return explain(&breaking->look, "look at", breaking->name);
	add_json(&text, &now, &result);
	end_json(&text);
	int status = visit_print(breaking->look.settings, &text);
	text_free(&text);
	sight_free(&now);
	return status;
}

int
postgres_view_break(const struct view_settings *settings, const char *name)
{
	static struct breaking breaking;
	static struct keys keys;
	struct postgres_numbers numbers;
	const char *result = "free";
	int status = 0;
	breaking.name = name;
	if (!keys_make(&keys, settings->prefix, name, &breaking.look.problem))
		return EXIT_USAGE;
	postgres_numbers_make(&numbers, settings->url, keys.lock, 0);
	if (!postgres_look_begin(&breaking.look, settings) || !postgres_look_read(&breaking.look) ||
	    !look_at_name(&breaking.look, name, &breaking.taken) ||
	    !break_holders(&breaking, numbers.lock, &result, &status)) {
		status = explain(&breaking.look, "break", name);
	} else if (settings->json) {
		int failure = report(&breaking, result);
		status = failure != 0 ? failure : status;
	}
	postgres_look_end(&breaking.look);
	sight_free(&breaking.taken);
	return status;
}
