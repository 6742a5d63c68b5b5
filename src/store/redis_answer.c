/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "store/redis_answer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/keys.h"
#include "base/values.h"

#define CLOCK_BELOW (INT64_C(1) << 53)

enum outcome
answer_classify_error(const char *text)
{
	/* From "can't run" on: how a refusal inside a script reads, Redis 6.0 to 7.0, and 7.2 and
	 * Valkey. */
	static const char *const denials[] = {
	    "NOAUTH",
	    "WRONGPASS",
	    "NOPERM",
	    "invalid password",
	    "without any password configured",
	    "Client sent AUTH, but no password is set",
	    "can't run this command",
	    "can't access at least one of the keys",
	    "No permissions to access a key",
	    "ACL failure in script",
	    "has no permissions",
	};
	for (size_t i = 0; i < sizeof denials / sizeof *denials; i++) {
		if (strstr(text, denials[i]) != NULL)
			return OUTCOME_DENIED;
	}
	return OUTCOME_REFUSED;
}

bool
answer_may_pass(const char *text)
{
	/* Not OOM: what fills a server's memory is rarely gone a moment later. */
	static const char *const passing[] = {
	    "LOADING ",
	    "BUSY ",
	    "READONLY ",
	    "MISCONF ",
	    "MASTERDOWN ",
	    "NOREPLICAS ",
	    "CLUSTERDOWN ",
	    "max number of clients",
	};
	for (size_t i = 0; i < sizeof passing / sizeof *passing; i++) {
		if (strstr(text, passing[i]) != NULL)
			return true;
	}
	return false;
}

bool
answer_is_word(const struct reply *reply, const char *word)
{
	return (reply->kind == REPLY_STRING || reply->kind == REPLY_STATUS) &&
	    reply->length == strlen(word) && memcmp(reply->text, word, reply->length) == 0;
}

bool
answer_is_ok(const struct reply *reply)
{
	return reply->kind == REPLY_STATUS && answer_is_word(reply, "OK");
}

/* The text without what only says where in a script of ours it came up: in front of it in Redis
 * 6, behind it in 7 and later. Its length in *length. */
static const char *
strip_script(const char *text, size_t *length)
{
	static const char head[] = "ERR Error running script", tail[] = " script: ";
	const char *inner = strncmp(text, head, sizeof head - 1) == 0 ? strstr(text, ": -") : NULL;
	if (inner != NULL)
		text = inner + 3;
	for (const char *end = text; (end = strstr(end, tail)) != NULL; end++) {
		const char *digest = end + sizeof tail - 1;
		const char *place = digest + strspn(digest, "0123456789abcdef");
		if (strncmp(place, ", on @user_script", 17) == 0) {
			*length = (size_t)(end - text);
			return text;
		}
	}
	*length = strlen(text);
	return text;
}

bool
answer_suggests_move(const char *text)
{
	static const char *const words[] = {"READONLY ", "LOADING ", "MASTERDOWN ", "NOREPLICAS ",
	    "CLUSTERDOWN "};
	size_t length;
	const char *told = strip_script(text, &length);
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		if (strncmp(told, words[i], strlen(words[i])) == 0)
			return true;
	}
	return false;
}

bool
answer_wants_text(const char *text)
{
	return strncmp(text, "NOSCRIPT", 8) == 0 || strstr(text, "evalsha") != NULL ||
	    strstr(text, "EVALSHA") != NULL;
}

void
answer_tell_error(const char *text, struct problem *problem)
{
	bool may_not = answer_classify_error(text) == OUTCOME_DENIED &&
	    (strstr(text, "permission") != NULL || strstr(text, "ACL failure") != NULL ||
		strstr(text, "can't run") != NULL || strstr(text, "can't access") != NULL);
	size_t length;
	/* A script that hands on the error of a command has the word twice, in Redis 7. */
	bool is_doubled = strncmp(text, "ERR ERR ", 8) == 0;
	const char *told = strip_script(text + (is_doubled ? 4 : 0), &length);
	problem_set(problem, "the server says: %.*s%s", (int)length, told,
	    may_not ? " (what a user needs is in dlock(1) under Access control)" : "");
	problem->is_passing = answer_may_pass(text);
}

/* A whole number in an integer or in digits; false when it is neither. */
static bool
read_number(const struct reply *reply, int64_t *number)
{
	struct problem ignored;
	if (reply->kind == REPLY_INTEGER) {
		*number = reply->integer;
		return true;
	}
	return reply->kind == REPLY_STRING && strlen(reply->text) == reply->length &&
	    value_parse_count(reply->text, 0, INT64_MAX, number, &ignored);
}

/* False: the answer was an error, and is told. */
static bool
no_error(const struct reply *reply, struct store_answer *answer)
{
	if (reply->kind != REPLY_ERROR)
		return true;
	answer->outcome = answer_classify_error(reply->text);
	answer_tell_error(reply->text, &answer->problem);
	return false;
}

/* An answer that no server with our script in hand gives: what it did is anybody's guess. */
static void
set_garbled(struct store_answer *answer)
{
	answer->outcome = OUTCOME_UNKNOWN;
	problem_set(&answer->problem, "the server's answer makes no sense");
}

bool
answer_read_holder(const struct reply *reply, int64_t now_us, struct holder *holder)
{
	int64_t pttl = reply->items[1]->integer;
	const struct reply *token = reply->items[3];
	const struct reply *record = reply->items[4];
	if (reply->items[1]->kind != REPLY_INTEGER || token->kind != REPLY_STRING ||
	    record->kind != REPLY_STRING)
		return false;
	memset(holder, 0, sizeof *holder);
	holder->finished = strncmp(token->text, DONE_MARKER, strlen(DONE_MARKER)) == 0;
	holder->broken = strncmp(token->text, BROKEN_MARKER, strlen(BROKEN_MARKER)) == 0;
	strncpy(holder->token, token->text, sizeof holder->token - 1);
	holder->left_ns = pttl < 0         ? -1
	    : pttl < INT64_MAX / NS_PER_MS ? pttl * NS_PER_MS
					   : INT64_MAX;
	holder->held_ns = -1;
	holder->known = record->length > 0;
	if (holder->known) {
		identity_read(&holder->identity, record->text, record->length);
		int64_t since = holder->identity.since_us;
		if (since > 0 && since <= now_us)
			holder->held_ns = (now_us - since) * NS_PER_US;
	}
	return true;
}

bool
answer_read_clock(const struct reply *reply, int64_t *server_us)
{
	return read_number(reply, server_us) && *server_us > 0 && *server_us < CLOCK_BELOW;
}

static bool
read_fence(const struct reply *reply, char *fence, size_t size)
{
	int64_t number;
	struct problem ignored;
	if (reply->kind != REPLY_STRING || reply->length >= size ||
	    strlen(reply->text) != reply->length ||
	    !value_parse_count(reply->text, 1, INT64_MAX, &number, &ignored))
		return false;
	memcpy(fence, reply->text, reply->length + 1);
	return true;
}

static bool
read_slot(const struct reply *reply, int *slot)
{
	if (reply->count != 4 || reply->items[3]->kind != REPLY_INTEGER ||
	    reply->items[3]->integer < 0 || reply->items[3]->integer >= SLOTS_MOST)
		return false;
	*slot = (int)reply->items[3]->integer;
	return true;
}

static bool
read_place(const struct reply *reply, struct place *place)
{
	const struct reply *rank = reply->items[5], *told = reply->items[7];
	int64_t number;
	place->rank = rank->integer;
	place->told = told->integer != 0;
	if (rank->kind != REPLY_INTEGER || rank->integer < -1 || told->kind != REPLY_INTEGER ||
	    !read_number(reply->items[6], &number) || number < 0)
		return false;
	if (place->rank >= 0)
		place->ticket = number;
	else
		place->waiting = number;
	return true;
}

/* All who use a lock must agree on the number of its slots. */
static void
tell_slots(const struct reply *reply, struct store_answer *answer)
{
	answer->outcome = OUTCOME_REFUSED;
	answer->for_good = true;
	problem_set(&answer->problem,
	    "it has %" PRId64 " slot%s there, not %" PRId64
	    ": all who use it must give the same --slots",
	    reply->items[1]->integer, reply->items[1]->integer == 1 ? "" : "s",
	    reply->items[3]->integer);
}

/* Each verb has its own words; another one is no answer to it. */
static bool
read_word(const struct reply *reply, enum store_verb verb, int64_t server_us,
    struct store_answer *answer)
{
	const struct reply *word = reply->items[0];
	bool granted = verb == STORE_ACQUIRE && answer_is_word(word, "GRANTED");
	bool owned =
	    (verb == STORE_ACQUIRE || verb == STORE_TOUCH) && answer_is_word(word, "OWNED");

	if (granted || owned) {
		answer->outcome = OUTCOME_OK;
		return read_slot(reply, &answer->slot) &&
		    read_fence(reply->items[1], answer->fence, sizeof answer->fence);
	}
	answer->place.full = verb == STORE_ACQUIRE && answer_is_word(word, "FULL");
	if ((answer_is_word(word, "BUSY") || answer->place.full) && reply->count == 8) {
		answer->outcome = verb == STORE_TOUCH ? OUTCOME_LOST : OUTCOME_HELD;
		return answer_read_holder(reply, server_us, &answer->holder) &&
		    read_place(reply, &answer->place);
	}
	if (verb == STORE_ACQUIRE && answer_is_word(word, "SLOTS") && reply->count == 4 &&
	    reply->items[1]->kind == REPLY_INTEGER && reply->items[3]->kind == REPLY_INTEGER) {
		tell_slots(reply, answer);
		return true;
	}
	if (verb != STORE_ACQUIRE && answer_is_word(word, "FREE")) {
		answer->outcome = verb == STORE_TOUCH ? OUTCOME_LOST : OUTCOME_OK;
		answer->gone = true;
		return true;
	}
	return false;
}

bool
answer_read_acquire(const struct reply *reply, enum store_verb verb, struct store_answer *answer,
    int64_t *server_us)
{
	*server_us = 0;
	if (!no_error(reply, answer))
		return true;
	if (reply->kind != REPLY_ARRAY || reply->count < 3 ||
	    !answer_read_clock(reply->items[2], server_us)) {
		*server_us = 0;
		set_garbled(answer);
		return true;
	}
	if (verb == STORE_ACQUIRE &&
	    (answer_is_word(reply->items[0], "LATE") || answer_is_word(reply->items[0], "UNUSUAL")))
		return false;
	if (!read_word(reply, verb, *server_us, answer))
		set_garbled(answer);
	return true;
}

void
answer_read_number(const struct reply *reply, struct store_answer *answer)
{
	if (!no_error(reply, answer))
		return;
	if (reply->kind != REPLY_INTEGER || reply->integer < -1 || reply->integer > 1) {
		set_garbled(answer);
		return;
	}
	answer->outcome = reply->integer == 1 ? OUTCOME_OK : OUTCOME_LOST;
	answer->gone = reply->integer == 0;
}

int64_t
answer_read_time(const struct reply *reply)
{
	int64_t seconds, us;
	if (reply->kind != REPLY_ARRAY || reply->count != 2 ||
	    !read_number(reply->items[0], &seconds) || !read_number(reply->items[1], &us) ||
	    seconds < 1 || seconds >= CLOCK_BELOW / 1000000 || us < 0 || us >= 1000000)
		return 0;
	return seconds * 1000000 + us;
}

bool
answer_read_role(const struct reply *reply, char *role, size_t size)
{
	if (reply->kind != REPLY_ARRAY)
		return false;
	for (size_t i = 0; i + 1 < reply->count; i += 2) {
		const struct reply *value = reply->items[i + 1];
		if (!answer_is_word(reply->items[i], "role") || value->kind != REPLY_STRING)
			continue;
		if (value->length == 0 || value->length >= size ||
		    strspn(value->text, "abcdefghijklmnopqrstuvwxyz-") != value->length)
			return false;
		memcpy(role, value->text, value->length + 1);
		return true;
	}
	return false;
}
