/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "view/picture.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/message.h"
#include "base/values.h"

/* Wider names are printed, but the others are not moved for them. */
#define NAME_MAX_WIDTH 40

#define HELD_BY "held by "

/* -- phrases ---------------------------------------------------------------------------------- */

/* Appends to what is in `out`, as far as there is room. */
static void __attribute__((format(printf, 3, 4)))
append(char *out, size_t size, const char *format, ...)
{
	size_t used = strlen(out);
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(out + used, size - used, format, arguments);
	va_end(arguments);
}

static void
append_time(char *out, size_t size, const char *before, int64_t ms, const char *after)
{
	char time[32];
	value_print_duration(time, sizeof time, ms * NS_PER_MS);
	append(out, size, "%s%s%s", before, time, after);
}

static int64_t
age_ns(const struct sight *sight, int64_t since_us)
{
	return since_us > 0 && since_us <= sight->now_us ? (sight->now_us - since_us) * NS_PER_US
							 : -1;
}

const char *
picture_describe_party(const struct sight *sight, const struct party *party, char *out, size_t size)
{
	const struct identity *identity = &party->identity;
	const char *mode = identity->mode;
	out[0] = '\0';
	if (!party->known) {
		append(out, size, "an unknown client");
		if (sight->state == SIGHT_FOREIGN && strcmp(sight->type, "string") != 0)
			append(out, size, " (its key is of type %s)", sight->type);
		else
			append(out, size, " (token %s)", party->token);
		return out;
	}
	identity_describe(identity, age_ns(sight, party->since_us), out, size);
	if (identity->fence[0] != '\0')
		append(out, size, ", fence %s", identity->fence);
	if (party->role == PARTY_WAITING && mode[0] != '\0' && strcmp(mode, "exclusive") != 0)
		append(out, size, ", %s", mode);
	return out;
}

static void
append_expiry(const struct sight *sight, const struct party *party, char *out, size_t size)
{
	if (sight->by_session)
		return; /* its life needs no word */
	if (party->left_ms < 0)
		append(out, size, "; it has no expiry");
	else
		append_time(out, size, "; expires in ", party->left_ms, "");
}

/* Of one holder: what it does with the lock, and until when. */
static void
append_holding(const struct sight *sight, const struct party *party, char *out, size_t size)
{
	char who[PICTURE_SIZE], breaker[1024];
	picture_describe_party(sight, party, who, sizeof who);
	switch (party->role) {
	case PARTY_GRANTED:
		append(out, size, "granted to %s, which has not confirmed it yet", who);
		append_expiry(sight, party, out, size);
		break;
	case PARTY_HOLDING:
	case PARTY_FOREIGN:
		append(out, size, HELD_BY "%s", who);
		append_expiry(sight, party, out, size);
		break;
	case PARTY_DONE:
		append_time(out, size, "kept for another ", party->left_ms, "");
		append(out, size, ", its command has ended: %s", who);
		break;
	case PARTY_BROKEN:
		append(out, size, "broken");
		if (party->breaker_known) {
			identity_describe(&party->breaker, -1, breaker, sizeof breaker);
			append(out, size, " by %s", breaker);
		}
		append(out, size, ", held by %s", who);
		if (party->left_ms < 0)
			append(out, size, "; it has no expiry");
		else
			append_time(out, size, "; free in ", party->left_ms, " at the latest");
		break;
	case PARTY_WAITING:
		append(out, size, "%s", who);
		break;
	}
}

static bool
has_several(const struct sight *sight)
{
	return sight->state == SIGHT_SHARED || sight->state == SIGHT_SLOTS;
}

/* Who has it; of several, how many. */
static void
append_head(const struct sight *sight, char *out, size_t size)
{
	if (sight->state == SIGHT_FREE)
		append(out, size, "free");
	else if (sight->state == SIGHT_SPLIT)
		append(out, size, "no state of it has a majority of the nodes");
	else if (sight->state == SIGHT_SHARED)
		append(out, size, "shared by %" PRId64, sight->held);
	else if (sight->state == SIGHT_SLOTS)
		append(out, size, "%" PRId64 " of %d slots held", sight->held, sight->slots);
	else if (sight->holders > 0)
		append_holding(sight, &sight->parties[0], out, size);
	else
		append(out, size, HELD_BY "an unknown client (its key is of type %s)", sight->type);
}

static size_t
count_role(const struct sight *sight, enum party_role role)
{
	size_t count = 0;
	for (size_t i = 0; i < sight->holders; i++)
		count += sight->parties[i].role == role;
	return count;
}

/* Of several holders: how many of them will not go on. Of very many not all are known. */
static void
append_marked(const struct sight *sight, char *out, size_t size)
{
	size_t broken = count_role(sight, PARTY_BROKEN), done = count_role(sight, PARTY_DONE);
	const char *least = (int64_t)sight->holders < sight->held ? " or more" : "";
	if (broken > 0)
		append(out, size, " (%zu%s broken%s", broken, least, done > 0 ? ", " : ")");
	if (done > 0)
		append(out, size, "%s%zu%s done)", broken > 0 ? "" : " (", done, least);
}

/* Until when; how many wait. */
static void
append_tail(const struct sight *sight, char *out, size_t size)
{
	if (has_several(sight) && sight->left_ms >= 0)
		append_time(out, size, "; the last expires in ", sight->left_ms, "");
	else if (sight->holders == 0 && sight->state != SIGHT_FREE && sight->left_ms >= 0)
		append_time(out, size, "; expires in ", sight->left_ms, "");
	else if (sight->holders == 0 && sight->state != SIGHT_FREE && sight->state != SIGHT_SPLIT)
		append(out, size, "; it has no expiry");
	if (sight->waiting > 0)
		append(out, size, "; %" PRId64 " waiting", sight->waiting);
}

/* -- text ------------------------------------------------------------------------------------- */

void
picture_add_text(struct text *text, const struct sight *sight)
{
	char line[NAME_MAX_BYTES + PICTURE_SIZE], what[PICTURE_SIZE];
	bool has_lines = sight->count > sight->holders || has_several(sight);
	snprintf(line, sizeof line, "%s: ", sight->name);
	append_head(sight, line, sizeof line);
	append_tail(sight, line, sizeof line);
	append(line, sizeof line, "%s", has_lines ? ":" : "");
	text_add_line(text, line);
	for (size_t i = 0; i < sight->holders && has_several(sight); i++) {
		const struct party *party = &sight->parties[i];
		strcpy(line, "  ");
		if (party->slot >= 0)
			append(line, sizeof line, "slot %d: ", party->slot);
		append_holding(sight, party, line, sizeof line);
		text_add_line(text, line);
	}
	for (size_t i = sight->holders; i < sight->count; i++) {
		snprintf(line, sizeof line, "  %zu. %s", i - sight->holders + 1,
		    picture_describe_party(sight, &sight->parties[i], what, sizeof what));
		text_add_line(text, line);
	}
}

int
picture_width(const char *name)
{
	char printed[4 * NAME_MAX_BYTES + 1];
	int width = 0;
	message_escape(printed, sizeof printed, name);
	for (const char *at = printed; *at != '\0'; at++)
		width += ((unsigned char)*at & 0xc0) != 0x80; /* characters, not bytes */
	return width > NAME_MAX_WIDTH ? NAME_MAX_WIDTH : width;
}

void
picture_add_name(struct text *text, const char *name, int width)
{
	char *room = text_reserve(text, 4 * NAME_MAX_BYTES + NAME_MAX_WIDTH + 1);
	if (room == NULL)
		return;
	int padding = width - picture_width(name);
	size_t length = message_escape(room, 4 * NAME_MAX_BYTES + 1, name);
	if (padding > 0) {
		memset(room + length, ' ', (size_t)padding);
		length += (size_t)padding;
	}
	text->used += length;
}

void
picture_add_row(struct text *text, const struct sight *sight, const char *remark)
{
	char line[2 * PICTURE_SIZE] = "", what[PICTURE_SIZE] = "";
	append_head(sight, what, sizeof what);
	bool is_held_by = strncmp(what, HELD_BY, strlen(HELD_BY)) == 0; /* the state says so */
	snprintf(line, sizeof line, "  %-7s  %s", sight_name_state(sight->state),
	    what + (is_held_by ? strlen(HELD_BY) : 0));
	if (has_several(sight))
		append_marked(sight, line, sizeof line);
	if (has_several(sight) && sight->holders > 0)
		append(line, sizeof line, ": %s",
		    picture_describe_party(sight, &sight->parties[0], what, sizeof what));
	if (has_several(sight) && sight->held > 1)
		append(line, sizeof line, ", and %" PRId64 " more", sight->held - 1);
	append_tail(sight, line, sizeof line);
	append(line, sizeof line, "%s", remark);
	text_add_line(text, line);
}
