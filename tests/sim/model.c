/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* The model as a whole, its clients, and the bytes that they send. */
#include "model.h"

#include <stdlib.h>
#include <string.h>

#include "model_parts.h"

#define MOST_BULK (1 << 20)
#define MOST_WORDS 4096

/* -- the model -------------------------------------------------------------------------------- */

static void
begin(struct model *model)
{
	static uint64_t runs;
	model->now_us = model->now_ms = model->started_us = 0;
	model->is_full = model->is_replica = false;
	model->acknowledged = 0;
	model->writes = model->refusals = 0;
	model->run_number = ++runs;
	model->next_id = model->options.first_client_id > 0 ? model->options.first_client_id : 1;
	scripts_forget(model);
}

struct model *
model_new(const struct model_options *options)
{
	struct model *model = model_allocate(NULL, sizeof *model);
	*model = (struct model){.options = *options};
	if (model->options.version == 0)
		model->options.version = 70015;
	begin(model);
	return model;
}

void
model_reset(struct model *model)
{
	while (model->client_count > 0)
		model_disconnect(model->clients[model->client_count - 1]);
	keys_remove_all(model, -1);
	track_forget_all(model);
	begin(model);
}

void
model_free(struct model *model)
{
	if (model == NULL)
		return;
	model_reset(model);
	keys_free_all(model);
	track_free_all(model);
	free(model->clients);
	free(model->dirty);
	free(model->known.at);
	free(model->pending.at);
	free(model);
}

void
model_restore(struct model *model, const struct model *from)
{
	keys_copy_all(model, from);
	model->writes = from->writes;
}

struct model *
model_copy(const struct model *model)
{
	struct model *copy = model_new(&model->options);
	copy->options.password = NULL;
	copy->options.refused = NULL;
	model_set_time(copy, model->now_us);
	model_restore(copy, model);
	return copy;
}

void
model_set_time(struct model *model, int64_t wall_us)
{
	model->now_us = wall_us;
	model->now_ms = wall_us / 1000;
}

void
model_set_started(struct model *model, int64_t wall_us)
{
	model->started_us = wall_us;
}

void
model_set_full(struct model *model, bool is_full)
{
	model->is_full = is_full;
}

void
model_set_replica(struct model *model, bool is_replica)
{
	model->is_replica = is_replica;
}

void
model_set_acknowledged(struct model *model, int64_t replicas)
{
	model->acknowledged = replicas;
}

uint64_t
model_writes(const struct model *model)
{
	return model->writes;
}

uint64_t
model_refusals(const struct model *model)
{
	return model->refusals;
}

/* -- clients ---------------------------------------------------------------------------------- */

struct model_client *
model_connect(struct model *model, void *context)
{
	struct model_client *client = model_allocate(NULL, sizeof *client);
	*client = (struct model_client){
	    .model = model,
	    .context = context,
	    .id = model->next_id++,
	    .is_in = model->options.password == NULL,
	};
	if (model->client_count == model->client_room) {
		model->client_room = model->client_room * 2 + 4;
		model->clients =
		    model_allocate(model->clients, model->client_room * sizeof(void *));
		/* Each is dirty at most once. */
		model->dirty = model_allocate(model->dirty, model->client_room * sizeof(void *));
	}
	model->clients[model->client_count++] = client;
	return client;
}

int64_t
model_client_id(const struct model_client *client)
{
	return client->id;
}

static void
remove_from(struct model_client **list, size_t *count, const struct model_client *client)
{
	for (size_t i = 0; i < *count; i++) {
		if (list[i] != client)
			continue;
		for (--*count; i < *count; i++)
			list[i] = list[i + 1];
		return;
	}
}

void
model_disconnect(struct model_client *client)
{
	struct model *model = client->model;
	remove_from(model->clients, &model->client_count, client);
	remove_from(model->dirty, &model->dirty_count, client);
	for (int which = 0; which < 2; which++) {
		for (size_t i = 0; i < client->channel_room[which]; i++)
			free(client->channels[which][i].at);
		free(client->channels[which]);
	}
	free(client->in.at);
	free(client->out.at);
	free(client->name.at);
	free(client->queue);
	free(client->queue_text.at);
	free(client->queue_words);
	free(client);
}

struct model_client *
model_find_client(const struct model *model, int64_t id)
{
	for (size_t i = 0; i < model->client_count; i++) {
		if (model->clients[i]->id == id)
			return model->clients[i];
	}
	return NULL;
}

size_t
model_count_clients(const struct model *model)
{
	return model->client_count;
}

size_t
model_count_ears(const struct model *model, const char *channel)
{
	size_t length = strlen(channel);
	return channels_count_ears(model, channel, length, 0) +
	    channels_count_ears(model, channel, length, 1);
}

/* -- what is sent ----------------------------------------------------------------------------- */

struct bytes *
model_out(struct model_client *client)
{
	if (!client->is_dirty) {
		client->is_dirty = true;
		client->model->dirty[client->model->dirty_count++] = client;
	}
	return &client->out;
}

void
model_deliver(struct model *model)
{
	for (size_t i = 0; i < model->dirty_count; i++) {
		struct model_client *client = model->dirty[i];
		client->is_dirty = false;
		if (model->options.deliver != NULL && client->out.used > 0)
			model->options.deliver(client->context, client->out.at, client->out.used);
		client->out.used = 0;
	}
	model->dirty_count = 0;
}

/* -- what comes ------------------------------------------------------------------------------- */

enum parsing {
	PARSED,
	INCOMPLETE,
	MALFORMED,
};

/* The line after `kind`, a number. */
static enum parsing
parse_number(const char *bytes, size_t length, size_t *at, int64_t *number)
{
	const char *end = length > *at ? memchr(bytes + *at, '\r', length - *at) : NULL;
	if (end == NULL || (size_t)(end - bytes) + 1 >= length)
		return length - *at > 64 ? MALFORMED : INCOMPLETE;
	struct word word = {bytes + *at, (size_t)(end - bytes) - *at};
	*at += word.length + 2;
	return word_read_integer(&word, number) ? PARSED : MALFORMED;
}

struct parsed {
	struct word *words;
	size_t count, room;
	const char *complaint;
};

static enum parsing
parse_words(struct parsed *parsed, const struct model_client *client, const char *bytes,
    size_t length, size_t *at)
{
	int64_t count, size;
	if (length == 0)
		return INCOMPLETE;
	parsed->complaint = "ERR Protocol error: invalid multibulk length";
	if (bytes[(*at)++] != '*')
		return MALFORMED;
	enum parsing state = parse_number(bytes, length, at, &count);
	if (state == PARSED && (count > MOST_WORDS || (count > 10 && !client->is_in))) {
		if (!client->is_in)
			parsed->complaint = "ERR Protocol error: unauthenticated multibulk length";
		state = MALFORMED;
	}
	if (state == PARSED && count > (int64_t)parsed->room) {
		parsed->room = (size_t)count * 2;
		parsed->words = model_allocate(parsed->words, parsed->room * sizeof *parsed->words);
	}
	parsed->count = state == PARSED && count > 0 ? (size_t)count : 0;
	for (size_t i = 0; state == PARSED && i < parsed->count; i++) {
		if (*at >= length)
			return INCOMPLETE;
		parsed->complaint = "ERR Protocol error: expected '$'";
		if (bytes[(*at)++] != '$')
			return MALFORMED;
		parsed->complaint = "ERR Protocol error: invalid bulk length";
		state = parse_number(bytes, length, at, &size);
		if (state == PARSED && size > 16384 && !client->is_in) {
			parsed->complaint = "ERR Protocol error: unauthenticated bulk length";
			return MALFORMED;
		}
		if (state == PARSED && (size < 0 || size > MOST_BULK))
			return MALFORMED;
		if (state != PARSED)
			return state;
		if ((uint64_t)size + 2 > length - *at)
			return INCOMPLETE;
		parsed->words[i] = (struct word){bytes + *at, (size_t)size};
		*at += (size_t)size + 2;
	}
	return state;
}

/* Executes what is complete: how many bytes that was. */
static size_t
take_requests(struct model_client *client, const char *bytes, size_t length)
{
	static struct parsed parsed; /* its room is kept */
	size_t done = 0;
	while (!client->is_closed && done < length) {
		size_t used = 0;
		enum parsing state =
		    parse_words(&parsed, client, bytes + done, length - done, &used);
		if (state == INCOMPLETE)
			break;
		if (state == MALFORMED) {
			client->model->current = client;
			answer_error(client->model, "%s", parsed.complaint);
			client->model->current = NULL;
			client->is_closed = true;
			break;
		}
		if (parsed.count > 0)
			dispatch(client, parsed.words, parsed.count);
		done += used;
	}
	return done;
}

bool
model_feed(struct model_client *client, const char *bytes, size_t length)
{
	struct model *model = client->model;
	struct bytes *in = &client->in;
	if (in->used == 0) {
		size_t done = take_requests(client, bytes, length);
		bytes_append(in, bytes + done, length - done);
	} else {
		bytes_append(in, bytes, length);
		size_t done = take_requests(client, in->at, in->used);
		memmove(in->at, in->at + done, in->used - done);
		in->used -= done;
	}
	model_deliver(model);
	return !client->is_closed;
}
