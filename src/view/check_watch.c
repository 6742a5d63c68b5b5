/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "view/check_watch.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "store/redis_answer.h"

struct watching {
	struct visit *visit;
	int64_t id;           /* of the connection */
	bool is_refused;      /* the last command */
	struct problem error; /* the first refusal */
};

static bool
take_any(void *context, const struct reply *reply)
{
	struct watching *watching = context;
	watching->is_refused = reply->kind == REPLY_ERROR;
	if (watching->is_refused && watching->error.text[0] == '\0')
		answer_tell_error(reply->text, &watching->error);
	if (reply->kind == REPLY_INTEGER)
		watching->id = reply->integer;
	return true;
}

/* False: the server is lost. */
static bool
say(struct watching *watching, const char *const words[5])
{
	size_t count = 1;
	while (count < 5 && words[count] != NULL)
		count++;
	return visit_command(watching->visit, count, words, take_any, watching);
}

/* Subscribed to the key's name, as a holder is: any channel does. */
static bool
subscribe(struct watching *watching, const char *key)
{
	const char *const multi[5] = {"MULTI"}, *const get[5] = {"GET", key};
	const char *const subscribing[5] = {"SUBSCRIBE", key}, *const exec[5] = {"EXEC"};
	if (!say(watching, multi))
		return false;
	if (watching->is_refused)
		return true;
	return say(watching, get) && say(watching, subscribing) && say(watching, exec);
}

static bool
leave(struct watching *watching, const char *key)
{
	const char *const unsubscribe[5] = {"UNSUBSCRIBE", key};
	const char *const off[5] = {"CLIENT", "TRACKING", "OFF"};
	return say(watching, unsubscribe) && say(watching, off);
}

bool
check_watch_try(struct visit *visit, struct check_facts *facts, const char *key,
    bool (*change)(void *context), void *context)
{
	struct watching watching = {.visit = visit};
	char number[24];
	const char *const id[5] = {"CLIENT", "ID"};
	const char *const on[5] = {"CLIENT", "TRACKING", "ON", "REDIRECT", number};
	if (!say(&watching, id))
		return false;
	snprintf(number, sizeof number, "%" PRId64, watching.id);
	if (!say(&watching, on) || !subscribe(&watching, key))
		return false;
	if (watching.error.text[0] != '\0') {
		check_facts_take_trial(facts, FEATURE_WATCH, false, watching.error.text);
		return true;
	}
	visit_listen(visit, take_any, &watching);
	if (!change(context))
		return false;
	if (visit_hear(visit)) {
		check_facts_take_trial(facts, FEATURE_WATCH, true, "");
		return leave(&watching, key);
	}
	check_facts_take_trial(facts, FEATURE_WATCH, false, "the server does not tell of changes");
	return true; /* this connection is closed; the others are asked on */
}
