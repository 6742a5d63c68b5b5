/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Channels: plain ones (0), and those that belong to a slot (1). */
#include <string.h>

#include "model_parts.h"

static struct bytes *
find(const struct model_client *client, int which, const char *at, size_t length)
{
	for (size_t i = 0; i < client->channel_count[which]; i++) {
		struct bytes *channel = &client->channels[which][i];
		if (words_equal(channel->at, channel->used, at, length))
			return channel;
	}
	return NULL;
}

static void
put_membership(struct model_client *client, const char *word, const struct word *channel, int which)
{
	struct bytes *out = model_out(client);
	put_header(out, '*', 3);
	put_bulk(out, word, strlen(word));
	if (channel != NULL)
		put_bulk(out, channel->at, channel->length);
	else
		bytes_append(out, "$-1\r\n", 5);
	put_header(out, ':', (int64_t)client->channel_count[which]);
}

static void
subscribe(struct request *request, int which)
{
	struct model_client *client = request->client;
	for (size_t i = 1; i < request->count; i++) {
		const struct word *word = &request->words[i];
		if (find(client, which, word->at, word->length) == NULL) {
			size_t count = client->channel_count[which]++;
			if (count == client->channel_room[which]) {
				size_t room = count * 2 + 2;
				client->channels[which] = model_allocate(client->channels[which],
				    room * sizeof(struct bytes));
				memset(client->channels[which] + count, 0,
				    (room - count) * sizeof(struct bytes));
				client->channel_room[which] = room;
			}
			bytes_set(&client->channels[which][count], word->at, word->length);
		}
		put_membership(client, which ? "ssubscribe" : "subscribe", word, which);
	}
	client->listens = true;
}

static void
leave(struct model_client *client, int which, const struct word *word)
{
	struct bytes *channel = find(client, which, word->at, word->length);
	if (channel == NULL)
		return;
	struct bytes left = *channel;
	struct bytes *last = &client->channels[which][--client->channel_count[which]];
	memmove(channel, channel + 1, (size_t)((char *)last - (char *)channel));
	*last = left;
}

static void
unsubscribe(struct request *request, int which)
{
	struct model_client *client = request->client;
	const char *name = which ? "sunsubscribe" : "unsubscribe";
	for (size_t i = 1; i < request->count; i++) {
		leave(client, which, &request->words[i]);
		put_membership(client, name, &request->words[i], which);
	}
	if (request->count == 1 && client->channel_count[which] == 0)
		put_membership(client, name, NULL, which);
	while (request->count == 1 && client->channel_count[which] > 0) {
		/* It is kept behind the last one. */
		const struct bytes *channel =
		    &client->channels[which][client->channel_count[which] - 1];
		struct word word = {channel->at, channel->used};
		leave(client, which, &word);
		put_membership(client, name, &word, which);
	}
	if (client->channel_count[0] + client->channel_count[1] == 0)
		client->listens = false;
}

void
channels_leave_all(struct model_client *client)
{
	client->channel_count[0] = client->channel_count[1] = 0;
	client->listens = false;
}

void
run_subscribe(struct request *request)
{
	subscribe(request, 0);
}

void
run_ssubscribe(struct request *request)
{
	/* In a transaction. */
	if (request->client->queues)
		answer_error(request->model,
		    "ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client");
	else
		subscribe(request, 1);
}

void
run_unsubscribe(struct request *request)
{
	unsubscribe(request, 0);
}

void
run_sunsubscribe(struct request *request)
{
	unsubscribe(request, 1);
}

/* -- messages --------------------------------------------------------------------------------- */

/* What is said follows. */
void
channels_put_message(struct bytes *out, const char *word, const char *channel, size_t length)
{
	put_header(out, '*', 3);
	put_bulk(out, word, strlen(word));
	put_bulk(out, channel, length);
}

size_t
channels_count_ears(const struct model *model, const char *at, size_t length, int which)
{
	size_t count = 0;
	for (size_t i = 0; i < model->client_count; i++)
		count += find(model->clients[i], which, at, length) != NULL;
	return count;
}

static void
publish(struct request *request, int which)
{
	struct model *model = request->model;
	const struct word *channel = &request->words[1], *text = &request->words[2];
	int64_t count = 0;
	for (size_t i = 0; i < model->client_count; i++) {
		if (find(model->clients[i], which, channel->at, channel->length) == NULL)
			continue;
		struct bytes *out = model_out(model->clients[i]);
		channels_put_message(out, which ? "smessage" : "message", channel->at,
		    channel->length);
		put_bulk(out, text->at, text->length);
		count++;
	}
	answer_integer(model, count);
}

void
run_publish(struct request *request)
{
	publish(request, 0);
}

void
run_spublish(struct request *request)
{
	publish(request, 1);
}

static void
answer_counts(struct request *request, int which)
{
	struct model *model = request->model;
	answer_array(model, (request->count - 2) * 2);
	for (size_t i = 2; i < request->count; i++) {
		const struct word *word = &request->words[i];
		answer_text(model, word->at, word->length);
		answer_integer(model,
		    (int64_t)channels_count_ears(model, word->at, word->length, which));
	}
}

void
run_pubsub_numsub(struct request *request)
{
	answer_counts(request, 0);
}

void
run_pubsub_shardnumsub(struct request *request)
{
	answer_counts(request, 1);
}
