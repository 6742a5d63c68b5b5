/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "view/sight.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/values.h"
#include "lock/store.h"

#define SLOTS_MARKER "dlock!slots:"
/* Beyond it Lua's doubles, of which scores are made, are no whole numbers. */
#define SCORE_BELOW (INT64_C(1) << 53)

/* -- parties ---------------------------------------------------------------------------------- */

void
sight_begin(struct sight *sight, const char *name, const char *key)
{
	struct party *parties = sight->parties;
	size_t room = sight->room;
	*sight = (struct sight){.parties = parties, .room = room, .left_ms = -1};
	snprintf(sight->name, sizeof sight->name, "%s", name);
	snprintf(sight->key, sizeof sight->key, "%s", key);
}

void
sight_free(struct sight *sight)
{
	free(sight->parties);
	*sight = (struct sight){.left_ms = -1};
}

struct party *
sight_add_party(struct sight *sight)
{
	if (sight->count == sight->room) {
		size_t room = sight->room == 0 ? 8 : 2 * sight->room;
		struct party *parties = room > SIGHT_MAX_PARTIES
		    ? NULL
		    : realloc(sight->parties, room * sizeof *parties);
		if (parties == NULL) {
			sight->no_memory = true;
			return NULL;
		}
		sight->parties = parties;
		sight->room = room;
	}
	struct party *party = &sight->parties[sight->count++];
	*party = (struct party){.slot = -1, .left_ms = -1};
	return party;
}

/* Has this holder been added by an earlier page? */
static bool
is_there(const struct sight *sight, const char *token)
{
	for (size_t i = 0; i < sight->holders; i++) {
		if (strcmp(sight->parties[i].token, token) == 0)
			return true;
	}
	return false;
}

/* The token behind a marker; the role that the marker gives. */
static const char *
split_name(const char *name, enum party_role *role)
{
	*role = PARTY_HOLDING;
	if (strncmp(name, DONE_MARKER, strlen(DONE_MARKER)) == 0) {
		*role = PARTY_DONE;
		return name + strlen(DONE_MARKER);
	}
	if (strncmp(name, BROKEN_MARKER, strlen(BROKEN_MARKER)) == 0) {
		*role = PARTY_BROKEN;
		return name + strlen(BROKEN_MARKER);
	}
	return name;
}

/* What is left of an expiry; -1: there is none. In nanoseconds, too, it is a number. */
static int64_t
read_left(int64_t ms)
{
	if (ms < 0)
		return -1;
	return ms < INT64_MAX / NS_PER_MS ? ms : INT64_MAX / NS_PER_MS;
}

bool
sight_read_clock(const struct slice *slice, int64_t *us)
{
	return slice_number(slice, us) && *us > 0 && *us < SCORE_BELOW;
}

/* "1764000000123.0029296875": milliseconds, and the slot in 1024ths. */
static bool
read_score(const struct slice *slice, int64_t *ms, int *slot)
{
	char digits[40];
	char *end;
	slice_copy(slice, digits, sizeof digits);
	double score = strtod(digits, &end);
	if (end == digits || digits[strspn(digits, "0123456789.")] != '\0' || *end != '\0' ||
	    !(score >= 0) || !(score < (double)SCORE_BELOW))
		return false;
	*ms = (int64_t)score;
	*slot = (int)((score - (double)*ms) * 1024);
	return true;
}

static void
read_record(const struct slice *slice, bool *known, struct identity *identity)
{
	*known = slice->at != slice->end;
	identity_read(identity, slice->at, (size_t)(slice->end - slice->at));
}

/* What a holder or a waiter is, whose record has been read. */
static void
judge_party(struct party *party, enum party_role role)
{
	party->role = role;
	if (!party->known && role != PARTY_WAITING)
		party->role = role == PARTY_HOLDING ? PARTY_FOREIGN : role;
	/* It was a waiter's record: when it began to wait is not since when it holds the lock. */
	if (party->known && role == PARTY_HOLDING && party->identity.fence[0] == '\0')
		party->role = PARTY_GRANTED;
	if (party->role != PARTY_GRANTED)
		party->since_us = party->identity.since_us;
}

/* Adds a holder. */
static bool
add_holder(struct sight *sight, const struct slice *name, const struct slice *score,
    const struct slice *record, const struct slice *breaker)
{
	char text[128];
	enum party_role role;
	slice_copy(name, text, sizeof text);
	const char *token = split_name(text, &role);
	if (is_there(sight, token))
		return true;
	struct party *party = sight_add_party(sight);
	if (party == NULL)
		return false;
	snprintf(party->token, sizeof party->token, "%s", token);
	int64_t ms;
	int slot;
	party->left_ms = sight->left_ms;
	if (read_score(score, &ms, &slot)) {
		int64_t now_ms = sight->now_us / 1000;
		party->left_ms = ms > now_ms ? read_left(ms - now_ms) : 0;
		if (sight->slots > 0)
			party->slot = slot;
	}
	read_record(record, &party->known, &party->identity);
	read_record(breaker, &party->breaker_known, &party->breaker);
	judge_party(party, role);
	if (sight->state == SIGHT_HELD && party->role == PARTY_FOREIGN)
		sight->state = SIGHT_FOREIGN;
	sight->holders = sight->count;
	return true;
}

static bool
add_waiter(struct sight *sight, const struct slice *token, const struct slice *record)
{
	struct party *party = sight_add_party(sight);
	if (party == NULL)
		return false;
	slice_copy(token, party->token, sizeof party->token);
	read_record(record, &party->known, &party->identity);
	judge_party(party, PARTY_WAITING);
	return true;
}

/* -- answers ---------------------------------------------------------------------------------- */

static bool
add_entries(struct sight *sight, struct slice entries)
{
	struct slice role, name, score, record, breaker;
	while (entries.at != entries.end) {
		if (!slice_take(&entries, &role) || !slice_take(&entries, &name) ||
		    !slice_take(&entries, &score) || !slice_take(&entries, &record) ||
		    !slice_take(&entries, &breaker))
			return false;
		/* Holders come before waiters. */
		if (slice_is(&role, "h") && sight->holders == sight->count) {
			if (!add_holder(sight, &name, &score, &record, &breaker))
				return false;
		} else if (!slice_is(&role, "w") || !add_waiter(sight, &name, &record)) {
			return false;
		}
	}
	return true;
}

/* What the key says. Who stands there, and whether anybody does, is added later. */
static void
judge_key(struct sight *sight)
{
	const char *type = sight->type, *value = sight->value;
	int64_t slots = 0;
	struct problem ignored;
	enum party_role role;
	split_name(value, &role);
	if (strcmp(type, "none") == 0) {
		sight->state = SIGHT_FREE;
	} else if (strcmp(type, "string") != 0) {
		sight->state = SIGHT_FOREIGN;
	} else if (strcmp(value, "dlock!shared") == 0) {
		sight->state = SIGHT_SHARED;
	} else if (strncmp(value, SLOTS_MARKER, strlen(SLOTS_MARKER)) == 0 &&
	    value_parse_count(value + strlen(SLOTS_MARKER), 1, SLOTS_MOST, &slots, &ignored)) {
		sight->state = SIGHT_SLOTS;
		sight->slots = (int)slots;
	} else if (role == PARTY_DONE) {
		sight->state = SIGHT_DONE;
	} else if (role == PARTY_BROKEN) {
		sight->state = SIGHT_BROKEN;
	} else {
		sight->state = SIGHT_HELD;
	}
}

/* By slot, else by age. (The server has them in the order of their expiry.) */
static int
compare_holders(const void *one, const void *other)
{
	const struct party *first = one, *second = other;
	if (first->slot != second->slot)
		return first->slot < second->slot ? -1 : 1;
	if (first->since_us != second->since_us)
		return first->since_us < second->since_us ? -1 : 1;
	return strcmp(first->token, second->token);
}

/* Of a shared lock, and of slots, the marker's own time means little: it is free when the last of
 * its members has expired, and if there is none, already. */
static void
judge_members(struct sight *sight)
{
	if (sight->state != SIGHT_SHARED && sight->state != SIGHT_SLOTS)
		return;
	if (sight->holders == 0) {
		sight->state = SIGHT_FREE;
		sight->left_ms = -1;
		return;
	}
	sight->left_ms = 0;
	for (size_t i = 0; i < sight->holders; i++) {
		if (sight->parties[i].left_ms > sight->left_ms)
			sight->left_ms = sight->parties[i].left_ms;
	}
}

/* The seven parts that describe.lua gives. */
static bool
add_description(struct sight *sight, const struct slice parts[7])
{
	int64_t pttl, held, waiting;
	bool first = sight->next[0] == '\0';
	if (!slice_number(&parts[2], &pttl) || !slice_number(&parts[3], &held) ||
	    !slice_number(&parts[4], &waiting) ||
	    (size_t)(parts[5].end - parts[5].at) >= sizeof sight->next)
		return false;
	if (first) {
		slice_copy(&parts[0], sight->type, sizeof sight->type);
		slice_copy(&parts[1], sight->value, sizeof sight->value);
		sight->left_ms = read_left(pttl);
		judge_key(sight);
	}
	sight->held = held;
	sight->waiting = waiting;
	slice_copy(&parts[5], sight->next, sizeof sight->next);
	if (!add_entries(sight, parts[6]))
		return false;
	if (sight->next[0] == '\0') {
		sight->held = (int64_t)sight->holders;
		sight->waiting = (int64_t)(sight->count - sight->holders);
		if (sight->holders > 1)
			qsort(sight->parties, sight->holders, sizeof *sight->parties,
			    compare_holders);
	}
	judge_members(sight);
	return true;
}

bool
sight_add_page(struct sight *sight, const struct reply *reply)
{
	struct slice parts[8];
	if (reply->kind != REPLY_ARRAY || reply->count != 8)
		return false;
	for (size_t i = 0; i < 8; i++) {
		if (reply->items[i]->kind != REPLY_STRING && reply->items[i]->kind != REPLY_STATUS)
			return false;
		parts[i] = slice_of_reply(reply->items[i]);
	}
	return sight_read_clock(&parts[0], &sight->now_us) && add_description(sight, parts + 1);
}

bool
sight_add_surveyed(struct sight *sight, struct slice *locks, int64_t now_us)
{
	struct slice parts[7];
	for (size_t i = 0; i < 7; i++) {
		if (!slice_take(locks, &parts[i]))
			return false;
	}
	sight->now_us = now_us;
	return add_description(sight, parts);
}

static bool
read_result(const struct reply *reply, enum sight_result *result)
{
	static const char *const words[] = {
	    [RESULT_BROKEN] = "BROKEN",
	    [RESULT_FREED] = "FREED",
	    [RESULT_ALREADY] = "ALREADY",
	    [RESULT_NOTOKEN] = "NOTOKEN",
	    [RESULT_FREE] = "FREE",
	    [RESULT_FOREIGN] = "FOREIGN",
	    [RESULT_LATE] = "LATE",
	};
	struct slice word = slice_of_reply(reply);
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		if (slice_is(&word, words[i])) {
			*result = (enum sight_result)i;
			return true;
		}
	}
	return false;
}

bool
sight_add_break(struct sight *sight, const struct reply *reply, enum sight_result *result,
    int64_t *count)
{
	static const enum reply_kind kinds[7] = {REPLY_STRING, REPLY_STRING, REPLY_INTEGER,
	    REPLY_INTEGER, REPLY_STRING, REPLY_STRING, REPLY_STRING};
	struct slice parts[7], name, score, record, breaker;
	if (reply->kind != REPLY_ARRAY || reply->count != 7)
		return false;
	for (size_t i = 0; i < 7; i++) {
		if (reply->items[i]->kind != kinds[i])
			return false;
		if (kinds[i] == REPLY_STRING)
			parts[i] = slice_of_reply(reply->items[i]);
	}
	if (!read_result(reply->items[0], result) || !sight_read_clock(&parts[1], &sight->now_us))
		return false;
	sight->left_ms = read_left(reply->items[2]->integer);
	*count = reply->items[3]->integer;
	slice_copy(&parts[4], sight->type, sizeof sight->type);
	slice_copy(&parts[5], sight->value, sizeof sight->value);
	judge_key(sight);
	if (*result == RESULT_FOREIGN)
		sight->state = SIGHT_FOREIGN;
	while (parts[6].at != parts[6].end) {
		if (!slice_take(&parts[6], &name) || !slice_take(&parts[6], &score) ||
		    !slice_take(&parts[6], &record) || !slice_take(&parts[6], &breaker) ||
		    !add_holder(sight, &name, &score, &record, &breaker))
			return false;
	}
	return true;
}

const char *
sight_name_state(enum sight_state state)
{
	static const char *const names[] = {
	    [SIGHT_FREE] = "free",
	    [SIGHT_HELD] = "held",
	    [SIGHT_SHARED] = "shared",
	    [SIGHT_SLOTS] = "slots",
	    [SIGHT_DONE] = "done",
	    [SIGHT_BROKEN] = "broken",
	    [SIGHT_FOREIGN] = "foreign",
	    [SIGHT_SPLIT] = "split",
	};
	return names[state];
}
