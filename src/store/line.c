/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "store/line.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/values.h"
#include "store/redis_answer.h"

/* In whose name the server tells whoever is subscribed to anything that a key has changed. */
#define INVALIDATE "__redis__:invalidate"

/* What is awaited, one for each command sent. */
enum step {
	STEP_UNSUBSCRIBE,
	STEP_ID,
	STEP_NICE,      /* for tracking, outside of the transaction: may be refused */
	STEP_MULTI,     /* OK */
	STEP_SUBSCRIBE, /* QUEUED */
	STEP_REQUEST,   /* QUEUED */
	STEP_EXEC,
	STEP_PLAIN, /* the answer itself */
	STEP_WAIT,
	STEP_ASIDE, /* to something else */
};

void
line_init(struct line *line, struct link *link, const struct keys *keys, const char *token)
{
	memset(line, 0, sizeof *line);
	line->link = link;
	line->key = keys->lock;
	snprintf(line->channel, sizeof line->channel, "%s:%s", keys->queue, token);
}

static void
begin_request(struct line *line)
{
	line->fate = LINE_FINE;
	line->queues = false;
	line->stuck = false;
}

void
line_reset(struct line *line)
{
	line->listens = false;
	line->follows = false;
	line->step_count = 0;
	line->subscribed = false;
	line->enters = false;
	line->client_id = 0;
	begin_request(line);
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

/* Read outside of the script, so that the key alone is followed, and not all that the script reads;
 * by EXISTS, whose answer is short whatever stands at the key.
 * NOLOOP: what the script itself changes would be told in the middle of its answer. */
static void
append_tracking(struct line *line, int64_t client_id)
{
	char id[24];
	const char *on[] = {"CLIENT", "TRACKING", "ON", "REDIRECT", id, "OPTIN", "NOLOOP"};
	const char *caching[] = {"CLIENT", "CACHING", "YES"};
	snprintf(id, sizeof id, "%" PRId64, client_id);
	append(line, STEP_NICE, sizeof on / sizeof *on, on);
	append(line, STEP_NICE, sizeof caching / sizeof *caching, caching);
	append_words(line, STEP_NICE, "EXISTS", line->key);
}

static void
leave_channel(struct line *line)
{
	if (line->listens || line->subscribed)
		append_words(line, STEP_UNSUBSCRIBE, "UNSUBSCRIBE", line->channel);
	line->listens = false;
	line->follows = false;
}

void
line_aside(struct line *line, int argc, const char *const *argv)
{
	leave_channel(line);
	append(line, STEP_WAIT, argc, argv);
}

void
line_wait(struct line *line, int64_t replicas, int64_t timeout_ms)
{
	char count[24], timeout[24];
	const char *argv[] = {"WAIT", count, timeout};
	snprintf(count, sizeof count, "%" PRId64, replicas);
	snprintf(timeout, sizeof timeout, "%" PRId64, timeout_ms);
	line_aside(line, 3, argv);
}

void
line_begin(struct line *line, bool join, bool track)
{
	leave_channel(line);
	if (!join || line->no_push)
		return;
	if (line->client_id == 0 && !line->no_tracking)
		append_words(line, STEP_ID, "CLIENT", "ID");
	line->follows = track && line->client_id != 0 && !line->no_tracking;
	if (line->follows)
		append_tracking(line, line->client_id);
	append_words(line, STEP_MULTI, "MULTI", NULL);
	line->enters = true;
	append_words(line, STEP_SUBSCRIBE, "SUBSCRIBE", line->channel);
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
	append_words(line, STEP_EXEC, "EXEC", NULL);
}

void
line_track_for(struct line *line, int64_t client_id)
{
	line->follows = !line->no_tracking;
	if (line->follows)
		append_tracking(line, client_id);
}

void
line_put_aside(struct line *line)
{
	await(line, STEP_ASIDE);
}

/* -- messages --------------------------------------------------------------------------------- */

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

enum line_event
line_read_message(const struct reply *text, int64_t *left_ms)
{
	struct problem ignored;
	if (text->kind != REPLY_STRING)
		return LINE_NOTHING;
	if (strcmp(text->text, "G") == 0)
		return LINE_GRANTED;
	if (strncmp(text->text, "H:", 2) != 0)
		return LINE_NOTHING;
	*left_ms = -1;
	if (strcmp(text->text, "H:-1") != 0 &&
	    !value_parse_count(text->text + 2, 0, INT64_MAX / NS_PER_MS, left_ms, &ignored))
		return LINE_NOTHING;
	return LINE_HEAD;
}

bool
line_is_change(const struct reply *reply)
{
	return begins_with(reply, "message") && is_text(reply->items[1], INVALIDATE);
}

static enum line_event
read_message(const struct line *line, const struct reply *reply, int64_t *left_ms)
{
	if (line_is_change(reply))
		return LINE_CHANGED;
	if (!is_text(reply->items[1], line->channel))
		return LINE_NOTHING;
	return line_read_message(reply->items[2], left_ms);
}

/* -- errors ----------------------------------------------------------------------------------- */

/* The server will not have it, now or later: a user without the right, or a proxy that lacks the
 * command. Else it says with a word of its own why not now (LOADING, BUSY, ...). */
static bool
is_refusal(const struct reply *reply)
{
	return answer_classify_error(reply->text) == OUTCOME_DENIED ||
	    strncmp(reply->text, "ERR ", 4) == 0 ||
	    strstr(reply->text, "unknown command") != NULL ||
	    strstr(reply->text, "nknown subcommand") != NULL;
}

void
line_give_up_push(struct line *line, const char *why)
{
	line->no_push = true;
	problem_set(&line->why_no_push, "%s", why);
}

void
line_note_end(struct line *line, const struct problem *why)
{
	if (!line->enters || ++line->breaks < 2)
		return;
	line->no_push = true;
	problem_set(&line->why_no_push, "the connection has ended twice at MULTI: %s", why->text);
}

static void
give_up_refused(struct line *line, const struct reply *reply)
{
	line->no_push = true;
	answer_tell_error(reply->text, &line->why_no_push);
}

/* The first error decides, the others follow from it. It is the request's answer when that has come
 * to its end: until then it may turn out that the request was executed. */
static void
note_failure(struct line *line, const struct reply *reply)
{
	if (line->fate != LINE_FINE)
		return;
	line->fate = LINE_FAILED;
	snprintf(line->failure_text, sizeof line->failure_text, "%s", reply->text);
	line->failure = (struct reply){
	    .kind = REPLY_ERROR,
	    .text = line->failure_text,
	    .length = strlen(line->failure_text),
	};
}

/* Subscribed as we are, the server lets us do nothing else. (A user who lacks the right, or any
 * while a slow script runs: it answers BUSY, and goes on refusing when the script has ended.) */
static void
note_stuck(struct line *line, const struct reply *reply)
{
	if (!line->subscribed)
		return;
	line->stuck = true;
	if (is_refusal(reply))
		give_up_refused(line, reply);
	else
		note_failure(line, reply);
}

static void
note_error(struct line *line, enum step step, const struct reply *reply)
{
	bool refused = line->fate == LINE_FINE && !line->stuck && is_refusal(reply);
	if (refused && step != STEP_REQUEST) {
		give_up_refused(line, reply);
		line->fate = LINE_REFUSED;
	} else {
		note_failure(line, reply);
	}
}

/* Of what is for tracking. */
static void
note_nicety(struct line *line, const struct reply *reply)
{
	line->follows = false;
	if (!line->stuck && is_refusal(reply))
		line->no_tracking = true;
}

/* -- answers ---------------------------------------------------------------------------------- */

bool
line_is_silent(const struct line *line)
{
	return line->step_count == 0 && !line->subscribed;
}

static bool
is_unsubscribed(struct line *line, const struct reply *reply)
{
	if (!begins_with(reply, "unsubscribe") || reply->items[2]->kind != REPLY_INTEGER ||
	    !is_text(reply->items[1], line->channel))
		return false;
	line->subscribed = reply->items[2]->integer > 0;
	return true;
}

/* The request is over. While stuck nothing but an error can be its answer. */
static enum line_event
end_request(struct line *line, const struct reply *reply, const struct reply **answer)
{
	bool failed = line->fate == LINE_FAILED, stuck = line->stuck;
	begin_request(line);
	if ((failed || stuck) && reply->kind != REPLY_ERROR)
		return LINE_UNASKED;
	*answer = failed ? &line->failure : reply;
	return stuck ? LINE_STUCK : LINE_ANSWER;
}

static void
await_first(struct line *line, enum step step)
{
	line->first_step = (line->first_step + LINE_MOST_STEPS - 1) % LINE_MOST_STEPS;
	line->steps[line->first_step] = (unsigned char)step;
	line->step_count++;
}

static enum line_event
read_exec(struct line *line, const struct reply *reply, const struct reply **answer)
{
	enum line_fate fate = line->fate;
	if (fate == LINE_FINE && reply->kind == REPLY_ARRAY) {
		if (reply->count != 2)
			return LINE_UNASKED;
		line->subscribed = begins_with(reply->items[0], "subscribe");
		/* Below 6.2 the server does not know that it is our script that changes the key (it
		 * expires as the script reads it, say): it tells us in the middle of EXEC's answer,
		 * in the place of the script's, which comes by itself then. */
		if (line->follows && line_is_change(reply->items[1])) {
			await_first(line, STEP_PLAIN);
			return LINE_NOTHING;
		}
		return end_request(line, reply->items[1], answer);
	}
	if (reply->kind == REPLY_ERROR && !line->subscribed)
		line->listens = false;
	if (fate == LINE_FINE && reply->kind != REPLY_ERROR)
		return LINE_UNASKED;
	if (fate == LINE_FINE || fate == LINE_FAILED)
		return end_request(line, reply, answer);
	begin_request(line);
	return fate == LINE_REFUSED ? LINE_AGAIN : LINE_NOTHING;
}

/* What is queued, if the server knows how to. If not, it is executed at once. */
static enum line_event
read_queued(struct line *line, enum step step, const struct reply *reply,
    const struct reply **answer)
{
	if (reply->kind == REPLY_ERROR) {
		note_error(line, step, reply);
		return LINE_NOTHING;
	}
	if (line->queues)
		return is_text(reply, "QUEUED") ? LINE_NOTHING : LINE_UNASKED;
	if (step != STEP_REQUEST) {
		line->subscribed = line->subscribed || begins_with(reply, "subscribe");
		return LINE_NOTHING;
	}
	if (line->stuck)
		return LINE_UNASKED;
	line->fate = LINE_ANSWERED;
	*answer = reply;
	return LINE_ANSWER;
}

static enum line_event
read_step(struct line *line, enum step step, const struct reply *reply, const struct reply **answer)
{
	bool error = reply->kind == REPLY_ERROR;
	switch (step) {
	case STEP_UNSUBSCRIBE:
		if (error)
			note_stuck(line, reply);
		return error || is_unsubscribed(line, reply) ? LINE_NOTHING : LINE_UNASKED;
	case STEP_ID:
		if (error)
			note_nicety(line, reply);
		else if (reply->kind == REPLY_INTEGER && reply->integer > 0)
			line->client_id = reply->integer;
		else
			line->no_tracking = true;
		return LINE_NOTHING;
	case STEP_NICE:
		if (error)
			note_nicety(line, reply);
		return LINE_NOTHING;
	case STEP_MULTI:
		line->enters = false;
		line->breaks = 0;
		line->queues = is_text(reply, "OK");
		if (error)
			note_error(line, step, reply);
		return error || (line->queues && !line->stuck) ? LINE_NOTHING : LINE_UNASKED;
	case STEP_SUBSCRIBE:
	case STEP_REQUEST:
		return read_queued(line, step, reply, answer);
	case STEP_EXEC:
		return read_exec(line, reply, answer);
	case STEP_PLAIN:
		return end_request(line, reply, answer);
	case STEP_WAIT:
		*answer = reply;
		return LINE_WAITED;
	case STEP_ASIDE:
		*answer = reply;
		return LINE_ASIDE;
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
