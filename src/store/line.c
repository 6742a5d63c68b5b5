/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "store/line.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/values.h"
#include "store/redis_answer.h"

#define INVALIDATE "__redis__:invalidate"

/* What is awaited, one for each command sent. */
enum step {
	STEP_UNSUBSCRIBE,
	STEP_ID,
	STEP_NICE,      /* for tracking, outside of the transaction: may be refused */
	STEP_MULTI,     /* OK */
	STEP_SUBSCRIBE, /* QUEUED */
	STEP_TRACK,     /* QUEUED */
	STEP_REQUEST,   /* QUEUED */
	STEP_EXEC,
	STEP_TRACKING_EXEC,
	STEP_PLAIN, /* the answer itself */
};

void
line_init(struct line *line, struct link *link, const struct keys *keys, const char *token)
{
	memset(line, 0, sizeof *line);
	line->link = link;
	line->key = keys->lock;
	snprintf(line->channel, sizeof line->channel, "%s:%s", keys->queue, token);
}

void
line_reset(struct line *line)
{
	line->listens = false;
	line->tracks = false;
	line->step_count = 0;
	line->answered = false;
	line->refused = false;
	line->client_id = 0;
}

/* -- asking ----------------------------------------------------------------------------------- */

static void
await(struct line *line, enum step step)
{
	if (line->step_count == LINE_MOST_STEPS)
		return; /* not reached: a request waits for at most one other */
	line->steps[(line->first_step + line->step_count++) % LINE_MOST_STEPS] =
	    (unsigned char)step;
}

static void
append(struct line *line, enum step step, int argc, const char *const *argv)
{
	link_append(line->link, argc, argv);
	await(line, step);
}

static void
append_words(struct line *line, enum step step, const char *one, const char *two)
{
	const char *argv[] = {one, two};
	append(line, step, two == NULL ? 1 : 2, argv);
}

/* Read outside of the script, so that the key alone is followed, and not all that the script reads.
 * NOLOOP: what the script itself changes would be told in the middle of its answer. */
static void
append_tracking(struct line *line)
{
	char id[24];
	const char *on[] = {"CLIENT", "TRACKING", "ON", "REDIRECT", id, "OPTIN", "NOLOOP"};
	const char *caching[] = {"CLIENT", "CACHING", "YES"};
	snprintf(id, sizeof id, "%" PRId64, line->client_id);
	append(line, STEP_NICE, sizeof on / sizeof *on, on);
	append(line, STEP_NICE, sizeof caching / sizeof *caching, caching);
	append_words(line, STEP_NICE, "GET", line->key);
}

void
line_begin(struct line *line, bool join, bool track)
{
	if (line->listens)
		append_words(line, STEP_UNSUBSCRIBE, "UNSUBSCRIBE", line->channel);
	if (line->tracks)
		append_words(line, STEP_UNSUBSCRIBE, "UNSUBSCRIBE", INVALIDATE);
	line->listens = false;
	line->tracks = false;
	if (!join || line->no_push)
		return;
	if (line->client_id == 0 && !line->no_tracking)
		append_words(line, STEP_ID, "CLIENT", "ID");
	line->tracks = track && line->client_id != 0 && !line->no_tracking;
	if (line->tracks)
		append_tracking(line);
	append_words(line, STEP_MULTI, "MULTI", NULL);
	append_words(line, STEP_SUBSCRIBE, "SUBSCRIBE", line->channel);
	if (line->tracks)
		append_words(line, STEP_TRACK, "SUBSCRIBE", INVALIDATE);
	line->listens = true;
}

void
line_end(struct line *line, bool join)
{
	if (!join || line->no_push) {
		await(line, STEP_PLAIN);
		return;
	}
	await(line, STEP_REQUEST);
	append_words(line, line->tracks ? STEP_TRACKING_EXEC : STEP_EXEC, "EXEC", NULL);
}

/* -- answers ---------------------------------------------------------------------------------- */

static bool
is_text(const struct reply *reply, const char *text)
{
	return (reply->kind == REPLY_STRING || reply->kind == REPLY_STATUS) &&
	    strcmp(reply->text, text) == 0;
}

static bool
begins_with(const struct reply *reply, const char *word)
{
	return reply->kind == REPLY_ARRAY && reply->count == 3 && is_text(reply->items[0], word);
}

static enum line_event
read_message(const struct line *line, const struct reply *reply, int64_t *left_ms)
{
	const struct reply *what = reply->items[2];
	struct problem ignored;
	if (is_text(reply->items[1], INVALIDATE))
		return LINE_CHANGED;
	if (!is_text(reply->items[1], line->channel) || what->kind != REPLY_STRING)
		return LINE_NOTHING;
	if (strcmp(what->text, "G") == 0)
		return LINE_GRANTED;
	if (strncmp(what->text, "H:", 2) != 0)
		return LINE_NOTHING;
	*left_ms = -1;
	if (what->text[2] != '-' &&
	    !value_parse_count(what->text + 2, 0, INT64_MAX / NS_PER_MS, left_ms, &ignored))
		return LINE_NOTHING;
	return LINE_HEAD;
}

/* The server will not have it: a user without the right, or a proxy that lacks the command.
 * Anything else (LOADING, BUSY, ...) is an answer to the request. */
static bool
is_refusal(const struct reply *reply)
{
	return answer_classify_error(reply->text) == OUTCOME_DENIED ||
	    strstr(reply->text, "unknown command") != NULL ||
	    strstr(reply->text, "nknown subcommand") != NULL;
}

void
line_give_up_push(struct line *line, const char *why)
{
	line->no_push = true;
	problem_set(&line->why_no_push, "%s", why);
}

/* An error in the transaction, before EXEC. */
static enum line_event
read_error(struct line *line, enum step step, const struct reply *reply,
    const struct reply **answer)
{
	if (line->answered || line->refused)
		return LINE_NOTHING; /* what follows from the first one */
	if (step == STEP_TRACK && is_refusal(reply)) {
		line->no_tracking = true;
		line->refused = true;
		return LINE_NOTHING;
	}
	if (step != STEP_REQUEST && is_refusal(reply)) {
		line->no_push = true;
		answer_tell_error(reply->text, &line->why_no_push);
		line->refused = true;
		return LINE_NOTHING;
	}
	line->answered = true;
	*answer = reply;
	return LINE_ANSWER;
}

static enum line_event
read_exec(struct line *line, size_t count, const struct reply *reply, const struct reply **answer)
{
	bool answered = line->answered, refused = line->refused;
	line->answered = false;
	line->refused = false;
	if (answered)
		return LINE_NOTHING;
	if (refused)
		return LINE_AGAIN;
	*answer = reply;
	if (reply->kind == REPLY_ERROR)
		return LINE_ANSWER;
	if (reply->kind != REPLY_ARRAY || reply->count != count)
		return LINE_UNASKED;
	*answer = reply->items[count - 1];
	return LINE_ANSWER;
}

static enum line_event
read_step(struct line *line, enum step step, const struct reply *reply, const struct reply **answer)
{
	bool error = reply->kind == REPLY_ERROR;
	switch (step) {
	case STEP_UNSUBSCRIBE:
		return error || begins_with(reply, "unsubscribe") ? LINE_NOTHING : LINE_UNASKED;
	case STEP_ID:
		if (reply->kind == REPLY_INTEGER && reply->integer > 0)
			line->client_id = reply->integer;
		else
			line->no_tracking = true;
		return LINE_NOTHING;
	case STEP_NICE:
		line->no_tracking = line->no_tracking || error;
		return LINE_NOTHING;
	case STEP_MULTI:
	case STEP_SUBSCRIBE:
	case STEP_TRACK:
	case STEP_REQUEST:
		if (error)
			return read_error(line, step, reply, answer);
		/* After a refusal what was to be queued may have been executed at once. */
		if (line->refused || line->answered ||
		    is_text(reply, step == STEP_MULTI ? "OK" : "QUEUED"))
			return LINE_NOTHING;
		return LINE_UNASKED;
	case STEP_EXEC:
		return read_exec(line, 2, reply, answer);
	case STEP_TRACKING_EXEC:
		return read_exec(line, 3, reply, answer);
	case STEP_PLAIN:
		*answer = reply;
		return LINE_ANSWER;
	}
	return LINE_UNASKED;
}

enum line_event
line_read(struct line *line, const struct reply *reply, const struct reply **answer,
    int64_t *left_ms)
{
	if (begins_with(reply, "message"))
		return read_message(line, reply, left_ms);
	if (line->step_count == 0)
		return LINE_UNASKED;
	enum step step = (enum step)line->steps[line->first_step];
	line->first_step = (line->first_step + 1) % LINE_MOST_STEPS;
	line->step_count--;
	return read_step(line, step, reply, answer);
}
