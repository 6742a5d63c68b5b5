/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "store/redis_look.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "store/redis_answer.h"

#define CHANNEL_OF_PUSHES "__redis__:invalidate"

void
look_init(struct look *look, struct link *link, const struct redis_settings *settings)
{
	memset(look, 0, sizeof *look);
	look->link = link;
	look->settings = settings;
	look->is_member = strcmp(settings->mode, "exclusive") != 0;
	snprintf(look->value, sizeof look->value, "%s%s", look->is_member ? "dlock!" : "",
	    look->is_member ? settings->mode : settings->token);
}

/* Any channel serves: the server tells whoever is subscribed to something, in the name of
 * __redis__:invalidate. This one needs no right that a pattern for locks would not give. */
static const char *
channel(const struct look *look)
{
	return look->settings->keys->lock;
}

static void
append(struct look *look, int argc, const char *const *argv)
{
	link_append(look->link, argc, argv);
	look->awaited++;
}

static bool
send_look(struct look *look)
{
	const struct keys *keys = look->settings->keys;
	const char *unsubscribe[] = {"UNSUBSCRIBE", channel(look)};
	const char *multi[] = {"MULTI"};
	const char *get[] = {"GET", keys->lock};
	const char *score[] = {"ZSCORE", keys->members, look->settings->token};
	/* After the reading: GET drops a key that has expired, and that is told of. In the middle
	 * of EXEC's answer it would break it. */
	const char *subscribe[] = {"SUBSCRIBE", channel(look)};
	const char *exec[] = {"EXEC"};
	look->problem.text[0] = '\0';
	append(look, 2, unsubscribe);
	append(look, 1, multi);
	append(look, 2, get);
	if (look->is_member)
		append(look, 3, score);
	append(look, 2, subscribe);
	append(look, 1, exec);
	return link_flush(look->link);
}

bool
look_first(struct look *look)
{
	const char *id[] = {"CLIENT", "ID"};
	look->numbered = false;
	link_append(look->link, 2, id);
	return link_flush(look->link);
}

bool
look_again(struct look *look)
{
	look->awaited = 0;
	return send_look(look);
}

/* The answer to CLIENT ID has come. */
static enum look_result
send_first(struct look *look, const struct reply *id)
{
	char number[24];
	const char *tracking[] = {"CLIENT", "TRACKING", "ON", "REDIRECT", number};
	if (id->kind == REPLY_ERROR) {
		answer_tell_error(id->text, &look->problem);
		return LOOK_REFUSED;
	}
	if (id->kind != REPLY_INTEGER) {
		problem_set(&look->problem, "the server's answer to CLIENT ID makes no sense");
		return LOOK_FAILED;
	}
	snprintf(number, sizeof number, "%" PRId64, id->integer);
	look->numbered = true;
	look->awaited = 0;
	append(look, 5, tracking);
	if (send_look(look))
		return LOOK_PART;
	problem_set(&look->problem, "cannot write a request");
	return LOOK_FAILED;
}

static bool
is_text(const struct reply *reply, const char *text)
{
	return reply->kind == REPLY_STRING && reply->length == strlen(text) &&
	    memcmp(reply->text, text, reply->length) == 0;
}

bool
look_is_push(const struct look *look, const struct reply *reply)
{
	return reply->kind == REPLY_ARRAY && reply->count == 3 &&
	    is_text(reply->items[0], "message") &&
	    (is_text(reply->items[1], CHANNEL_OF_PUSHES) ||
		is_text(reply->items[1], channel(look)));
}

/* A server that has just been started, or is in the middle of something; or the slot is elsewhere,
 * or on its way, and where that is the next renewal learns. */
static bool
is_passing(const char *text)
{
	static const char *const words[] = {"LOADING", "BUSY", "MASTERDOWN", "MOVED ", "ASK ",
	    "TRYAGAIN", "CLUSTERDOWN"};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		if (strncmp(text, words[i], strlen(words[i])) == 0)
			return true;
	}
	return false;
}

static enum look_result
judge(struct look *look, const struct reply *exec)
{
	size_t count = look->is_member ? 3 : 2;
	if (exec->kind != REPLY_ARRAY || exec->count != count ||
	    exec->items[count - 1]->kind != REPLY_ARRAY) {
		problem_set(&look->problem, "the server's answer to EXEC makes no sense");
		return LOOK_FAILED;
	}
	bool is_ours = is_text(exec->items[0], look->value) &&
	    (!look->is_member || exec->items[1]->kind == REPLY_STRING);
	return is_ours ? LOOK_OURS : LOOK_DOUBTFUL;
}

enum look_result
look_read(struct look *look, const struct reply *reply)
{
	if (!look->numbered)
		return send_first(look, reply);
	/* The first error is the reason of those that follow, EXEC's among them. */
	if (reply->kind == REPLY_ERROR && look->problem.text[0] == '\0') {
		answer_tell_error(reply->text, &look->problem);
		if (is_passing(reply->text))
			return LOOK_FAILED;
	}
	if (--look->awaited > 0)
		return LOOK_PART;
	return look->problem.text[0] != '\0' ? LOOK_REFUSED : judge(look, reply);
}
