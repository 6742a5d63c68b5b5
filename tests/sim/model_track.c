/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* CLIENT TRACKING: who has read a key is told once that it has changed, or has gone. In RESP2 that
 * arrives as a message, at a client that is subscribed to something. */
#include <stdlib.h>
#include <string.h>

#include "model_parts.h"

#define EVERYTHING SIZE_MAX

static struct tracked *
find(const struct model *model, const char *name, size_t length)
{
	for (size_t i = 0; i < model->tracked_count; i++) {
		struct tracked *tracked = &model->tracked[i];
		if (words_equal(tracked->key.at, tracked->key.used, name, length))
			return tracked;
	}
	return NULL;
}

static struct tracked *
add(struct model *model, const struct word *key)
{
	if (model->tracked_count == model->tracked_room) {
		size_t room = model->tracked_room * 2 + 4;
		model->tracked = model_allocate(model->tracked, room * sizeof *model->tracked);
		memset(model->tracked + model->tracked_room, 0,
		    (room - model->tracked_room) * sizeof *model->tracked);
		model->tracked_room = room;
	}
	struct tracked *tracked = &model->tracked[model->tracked_count++];
	bytes_set(&tracked->key, key->at, key->length);
	tracked->count = 0;
	return tracked;
}

static void
add_reader(struct tracked *tracked, int64_t id)
{
	for (size_t i = 0; i < tracked->count; i++) {
		if (tracked->ids[i] == id)
			return;
	}
	if (tracked->count == tracked->room) {
		tracked->room = tracked->room * 2 + 4;
		tracked->ids = model_allocate(tracked->ids, tracked->room * sizeof *tracked->ids);
	}
	tracked->ids[tracked->count++] = id;
}

void
track_keys(struct model_client *client, const struct word *keys, size_t count)
{
	if ((client->opts_in && !client->is_caching) || (client->opts_out && client->is_caching))
		return;
	for (size_t i = 0; i < count; i++) {
		struct tracked *tracked = find(client->model, keys[i].at, keys[i].length);
		if (tracked == NULL)
			tracked = add(client->model, &keys[i]);
		add_reader(tracked, client->id);
	}
}

/* -- telling ---------------------------------------------------------------------------------- */

static void
tell(struct model_client *client, const char *name, size_t length)
{
	struct model_client *listener =
	    client->redirect != 0 ? model_find_client(client->model, client->redirect) : NULL;
	if (listener == NULL || !listener->listens)
		return;
	struct bytes *out = model_out(listener);
	channels_put_message(out, "message", CHANNEL_TRACKING, strlen(CHANNEL_TRACKING));
	if (length == EVERYTHING) {
		bytes_append(out, "$-1\r\n", 5);
	} else {
		put_header(out, '*', 1);
		put_bulk(out, name, length);
	}
}

static void
keep_back(struct model *model, const char *name, size_t length)
{
	bytes_append(&model->pending, (const char *)&length, sizeof length);
	if (length != EVERYTHING)
		bytes_append(&model->pending, name, length);
	model->pending_count++;
}

void
track_tell_change(struct model *model, const char *name, size_t length)
{
	struct tracked *tracked = find(model, name, length);
	if (tracked == NULL)
		return;
	for (size_t i = 0; i < tracked->count; i++) {
		struct model_client *reader = model_find_client(model, tracked->ids[i]);
		if (reader == NULL || !reader->tracks ||
		    (reader->no_loop && reader == model->current))
			continue;
		if (reader == model->current)
			keep_back(model, name, length);
		else
			tell(reader, name, length);
	}
	struct tracked told = *tracked;
	*tracked = model->tracked[--model->tracked_count];
	model->tracked[model->tracked_count] = told;
}

void
track_tell_flush(struct model *model)
{
	for (size_t i = 0; i < model->client_count; i++) {
		struct model_client *client = model->clients[i];
		if (client->tracks && client == model->current)
			keep_back(model, "", EVERYTHING);
		else if (client->tracks)
			tell(client, "", EVERYTHING);
	}
	track_forget_all(model);
}

void
track_tell_pending(struct model *model)
{
	const char *at = model->pending.at;
	size_t length;
	for (; model->pending_count > 0; model->pending_count--) {
		memcpy(&length, at, sizeof length);
		at += sizeof length;
		if (model->current != NULL)
			tell(model->current, at, length);
		at += length != EVERYTHING ? length : 0;
	}
	model->pending.used = 0;
}

void
track_forget_all(struct model *model)
{
	model->tracked_count = 0;
}

void
track_free_all(struct model *model)
{
	for (size_t i = 0; i < model->tracked_room; i++) {
		free(model->tracked[i].key.at);
		free(model->tracked[i].ids);
	}
	free(model->tracked);
}

/* -- commands --------------------------------------------------------------------------------- */

struct wish {
	bool opts_in, opts_out, no_loop;
	int64_t redirect;
};

/* False, and an error was answered. */
static bool
read_redirect(struct request *request, const struct word *word, struct wish *wish)
{
	if (wish->redirect != 0)
		answer_error(request->model,
		    "ERR A client can only redirect to a single other client");
	else if (!word_read_integer(word, &wish->redirect))
		answer_error(request->model, "ERR value is not an integer or out of range");
	else if (model_find_client(request->model, wish->redirect) == NULL)
		answer_error(request->model,
		    "ERR The client ID you want redirect to does not exist");
	else
		return true;
	return false;
}

static bool
read_wish(struct request *request, struct wish *wish)
{
	for (size_t i = 3; i < request->count; i++) {
		const struct word *word = &request->words[i];
		if (word_is_like(word, "redirect") && i + 1 < request->count) {
			if (!read_redirect(request, &request->words[++i], wish))
				return false;
		} else if (word_is_like(word, "optin")) {
			wish->opts_in = true;
		} else if (word_is_like(word, "optout")) {
			wish->opts_out = true;
		} else if (word_is_like(word, "noloop")) {
			wish->no_loop = true;
		} else {
			/* BCAST and PREFIX are not for us. */
			answer_error(request->model, "ERR syntax error");
			return false;
		}
	}
	return true;
}

void
run_client_tracking(struct request *request)
{
	struct model_client *client = request->client;
	struct model *model = request->model;
	struct wish wish = {0};
	if (!read_wish(request, &wish))
		return;
	if (word_is_like(&request->words[2], "off")) {
		client->tracks = client->opts_in = client->opts_out = client->no_loop = false;
		client->is_caching = false;
	} else if (!word_is_like(&request->words[2], "on")) {
		answer_error(model, "ERR syntax error");
		return;
	} else if (wish.opts_in && wish.opts_out) {
		answer_error(model, "ERR You can't specify both OPTIN mode and OPTOUT mode");
		return;
	} else if ((wish.opts_in && client->opts_out) || (wish.opts_out && client->opts_in)) {
		answer_error(model,
		    "ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this "
		    "client, and then re-enabling it with a different mode.");
		return;
	} else {
		client->tracks = true;
		client->opts_in = wish.opts_in;
		client->opts_out = wish.opts_out;
		client->no_loop = wish.no_loop;
		client->redirect = wish.redirect;
	}
	answer_ok(model);
}

void
run_client_caching(struct request *request)
{
	struct model_client *client = request->client;
	struct model *model = request->model;
	const struct word *word = &request->words[2];
	if (!client->tracks) {
		answer_error(model,
		    "ERR CLIENT CACHING can be called only when the client is in tracking mode "
		    "with OPTIN or OPTOUT mode enabled");
	} else if (word_is_like(word, "yes") && !client->opts_in) {
		answer_error(model,
		    "ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.");
	} else if (word_is_like(word, "no") && !client->opts_out) {
		answer_error(model,
		    "ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.");
	} else if (!word_is_like(word, "yes") && !word_is_like(word, "no")) {
		answer_error(model, "ERR syntax error");
	} else {
		client->is_caching = true;
		answer_ok(model);
	}
}
