/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "store/redlock_answer.h"

#include <stdio.h>
#include <string.h>

#include "base/values.h"
#include "store/redis_answer.h"

static void
set_failed(struct redlock_answer *answer, enum outcome outcome, const char *why)
{
	answer->word = WORD_FAILED;
	answer->outcome = outcome;
	problem_set(&answer->problem, "%s", why);
}

static void
set_garbled(struct redlock_answer *answer)
{
	set_failed(answer, OUTCOME_UNKNOWN, "the server's answer makes no sense");
}

/* NUMBER:TOKEN, or nothing. One that has no greater is none of ours. */
static bool
read_number(const struct reply *reply, int64_t *number)
{
	char digits[24];
	struct problem ignored;
	const char *colon;
	*number = 0;
	if (reply->length == 0)
		return true;
	colon = memchr(reply->text, ':', reply->length);
	if (colon == NULL || (size_t)(colon - reply->text) >= sizeof digits)
		return false;
	snprintf(digits, sizeof digits, "%.*s", (int)(colon - reply->text), reply->text);
	return value_parse_count(digits, 1, INT64_MAX - 2, number, &ignored);
}

static void
read_count(const struct reply *reply, struct redlock_answer *answer)
{
	if (reply->kind != REPLY_INTEGER || reply->integer < -1 || reply->integer > 1)
		set_garbled(answer);
	else
		answer->word = reply->integer == 1 ? WORD_YES
		    : reply->integer == 0          ? WORD_GONE
						   : WORD_ANOTHERS;
}

/* Each question has its own words; another one is no answer to it. */
static enum quorum_word
find_word(const struct reply *reply, enum quorum_ask ask)
{
	static const struct {
		const char *text;
		enum quorum_word word;
		unsigned int asks;
	} words[] = {
	    {"TAKEN", WORD_TAKEN, 1U << ASK_TAKE | 1U << ASK_RETAKE},
	    {"OWNED", WORD_OWNED, 1U << ASK_TAKE | 1U << ASK_RETAKE},
	    {"BUSY", WORD_BUSY, 1U << ASK_TAKE | 1U << ASK_RETAKE | 1U << ASK_LOOK},
	    {"FREE", WORD_FREE, 1U << ASK_LOOK},
	    {"LOW", WORD_LOW, 1U << ASK_RETAKE | 1U << ASK_ACCEPT},
	    {"ACCEPTED", WORD_ACCEPTED, 1U << ASK_ACCEPT},
	    {"GONE", WORD_GONE, 1U << ASK_ACCEPT},
	};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		if ((words[i].asks & 1U << ask) != 0 && answer_is_word(reply, words[i].text))
			return words[i].word;
	}
	return WORD_FAILED;
}

void
redlock_answer_read(const struct reply *reply, enum quorum_ask ask, struct redlock_answer *answer)
{
	*answer = (struct redlock_answer){.word = WORD_FAILED, .outcome = OUTCOME_UNKNOWN};
	if (reply->kind == REPLY_ERROR) {
		answer->outcome = answer_classify_error(reply->text);
		answer_tell_error(reply->text, &answer->problem);
		return;
	}
	if (ask == ASK_RENEW || ask == ASK_GIVE) {
		read_count(reply, answer);
		return;
	}
	if (reply->kind != REPLY_ARRAY || reply->count < 3 ||
	    !answer_read_clock(reply->items[2], &answer->clock_us)) {
		answer->clock_us = 0;
		set_garbled(answer);
		return;
	}
	if (answer_is_word(reply->items[0], "LATE")) {
		set_failed(answer, OUTCOME_UNKNOWN,
		    "the request was too long on its way, or the server's clock was set");
		return;
	}
	answer->word = find_word(reply->items[0], ask);
	if (answer->word == WORD_FAILED)
		set_garbled(answer);
	else if (answer->word == WORD_BUSY &&
	    (reply->count != 5 || !answer_read_holder(reply, answer->clock_us, &answer->holder)))
		set_garbled(answer);
	else if (answer->word != WORD_BUSY && reply->items[1]->kind != REPLY_STRING)
		set_garbled(answer);
	else if (answer->word != WORD_BUSY && !read_number(reply->items[1], &answer->number))
		set_failed(answer, OUTCOME_REFUSED,
		    "the last fencing number there (rfence) is none: somebody else has written it");
}

/* The value of "name:" at the start of a line, without its end. False: there is none, or it does
 * not fit. */
static bool
find_field(const char *info, const char *name, char *out, size_t size)
{
	size_t length = strlen(name);
	for (const char *line = info; line != NULL && *line != '\0';) {
		if (strncmp(line, name, length) == 0 && line[length] == ':') {
			size_t value = strcspn(line + length + 1, "\r\n");
			if (value >= size)
				return false;
			memcpy(out, line + length + 1, value);
			out[value] = '\0';
			return true;
		}
		line = strchr(line, '\n');
		line = line != NULL ? line + 1 : NULL;
	}
	return false;
}

void
redlock_facts_read(struct redlock_facts *facts, const char *info)
{
	char text[48];
	struct problem ignored;
	find_field(info, "run_id", facts->run_id, sizeof facts->run_id);
	find_field(info, "master_replid", facts->replid, sizeof facts->replid);
	if (find_field(info, "role", text, sizeof text))
		facts->is_replica = strcmp(text, "master") != 0;
	/* It counts from the beginning of the second in which it was started, and so tells up to a
	 * second too much. */
	if (find_field(info, "uptime_in_seconds", text, sizeof text) &&
	    value_parse_count(text, 0, INT64_MAX / NS_PER_S, &facts->uptime_s, &ignored) &&
	    facts->uptime_s > 0)
		facts->uptime_s--;
}
