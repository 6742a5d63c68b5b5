/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* The table of commands; the checks that each must pass, in Redis's order; transactions. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "model_parts.h"

#define W IS_WRITE
#define R IS_READ
#define F DENIES_FULL
#define N NOT_IN_SCRIPT

static const struct command commands[] = {
    {"get", 2, R, run_get},
    {"set", -3, W | F, run_set},
    {"getrange", 4, R, run_getrange},
    {"incr", 2, W | F, run_incr},
    {"del", -2, W, run_del},
    {"exists", -2, R, run_exists},
    {"type", 2, R, run_type},
    {"pttl", 2, R, run_pttl},
    {"ttl", 2, R, run_ttl},
    {"expire", -3, W, run_expire},
    {"pexpire", -3, W, run_pexpire},
    {"pexpireat", -3, W, run_pexpireat},
    {"persist", 2, W, run_persist},
    {"scan", -2, R | NO_KEYS, run_scan},
    {"keys", 2, R | NO_KEYS, run_keys},
    {"dbsize", 1, R | NO_KEYS, run_dbsize},
    {"flushall", -1, W, run_flushall},
    {"flushdb", -1, W, run_flushdb},
    {"hset", -4, W | F, run_hset},
    {"hget", 3, R, run_hget},
    {"hmget", -3, R, run_hmget},
    {"hdel", -3, W, run_hdel},
    {"hlen", 2, R, run_hlen},
    {"hkeys", 2, R, run_hkeys},
    {"hgetall", 2, R, run_hgetall},
    {"zadd", -4, W | F, run_zadd},
    {"zrem", -3, W, run_zrem},
    {"zremrangebyscore", 4, W, run_zremrangebyscore},
    {"zrange", -4, R, run_zrange},
    {"zrangebyscore", -4, R, run_zrangebyscore},
    {"zcount", 4, R, run_zcount},
    {"zcard", 2, R, run_zcard},
    {"zscore", 3, R, run_zscore},
    {"zrank", 3, R, run_zrank},
    {"time", 1, 0, run_time},
    {"ping", -1, 0, run_ping},
    {"auth", -2, N | NO_AUTH, run_auth},
    {"hello", -1, N | NO_AUTH, run_hello},
    {"select", 2, 0, run_select},
    {"quit", -1, N | NO_AUTH, run_quit},
    {"info", -1, 0, run_info},
    {"role", 1, N, run_role},
    {"wait", 3, N, run_wait},
    {"client", -2, IS_CONTAINER, NULL},
    {"client|id", 2, N, run_client_id},
    {"client|setname", 3, N, run_client_setname},
    {"client|tracking", -3, N, run_client_tracking},
    {"client|caching", 3, N, run_client_caching},
    {"multi", 1, N | AT_ONCE, run_multi},
    {"exec", 1, N | AT_ONCE, run_exec},
    {"discard", 1, N | AT_ONCE, run_discard},
    {"subscribe", -2, N | LISTENING, run_subscribe},
    {"unsubscribe", -1, N | LISTENING, run_unsubscribe},
    {"ssubscribe", -2, N | LISTENING | FROM_SEVEN, run_ssubscribe},
    {"sunsubscribe", -1, N | LISTENING | FROM_SEVEN, run_sunsubscribe},
    {"publish", 3, 0, run_publish},
    {"spublish", 3, FROM_SEVEN, run_spublish},
    {"pubsub", -2, IS_CONTAINER, NULL},
    {"pubsub|numsub", -2, 0, run_pubsub_numsub},
    {"pubsub|shardnumsub", -2, FROM_SEVEN, run_pubsub_shardnumsub},
    {"eval", -3, N, run_eval},
    {"evalsha", -3, N, run_evalsha},
    {"script", -2, IS_CONTAINER, NULL},
    {"script|load", 3, N, run_script_load},
    {"script|exists", -3, N, run_script_exists},
    {"script|flush", -2, N, run_script_flush},
    {"cluster", -2, IS_CONTAINER, NULL},
    {"cluster|slots", 2, 0, run_cluster_slots},
};

#define COMMANDS (sizeof commands / sizeof *commands)
#define BUCKETS 256

/* -- finding ---------------------------------------------------------------------------------- */

static unsigned int
hash(const char *at, size_t length)
{
	unsigned int value = (unsigned int)length;
	for (size_t i = 0; i < length; i++)
		value = value * 31 + ((unsigned char)at[i] | 0x20u);
	return value % BUCKETS;
}

static const struct command *
look_up(const struct model *model, const struct word *word)
{
	static unsigned char first[BUCKETS], next[COMMANDS];
	if (first[hash(commands[0].name, strlen(commands[0].name))] == 0) {
		for (size_t i = COMMANDS; i-- > 0;) {
			unsigned int bucket = hash(commands[i].name, strlen(commands[i].name));
			next[i] = first[bucket];
			first[bucket] = (unsigned char)(i + 1);
		}
	}
	for (size_t i = first[hash(word->at, word->length)]; i > 0; i = next[i - 1]) {
		const struct command *command = &commands[i - 1];
		if (word_is_like(word, command->name))
			return (command->flags & FROM_SEVEN) && model->options.version < 70000
			    ? NULL
			    : command;
	}
	return NULL;
}

const struct command *
command_find(const struct model *model, const struct word *words, size_t count, bool *is_container)
{
	char name[64];
	const struct command *command = NULL;
	*is_container = false;
	if (words[0].length < sizeof name && memchr(words[0].at, '|', words[0].length) == NULL)
		command = look_up(model, &words[0]);
	if (command == NULL || !(command->flags & IS_CONTAINER) || count == 1)
		return command;
	*is_container = true;
	if (words[0].length + words[1].length + 2 > sizeof name)
		return NULL;
	size_t used = words[0].length;
	memcpy(name, words[0].at, used);
	name[used++] = '|';
	memcpy(name + used, words[1].at, words[1].length);
	struct word both = {name, used + words[1].length};
	return look_up(model, &both);
}

bool
command_is_refused(const struct model *model, const struct command *command)
{
	char blank_name[72];
	if (model->options.refused == NULL)
		return false;
	snprintf(blank_name, sizeof blank_name, " %s ", command->name);
	return strstr(model->options.refused, blank_name) != NULL;
}

/* -- executing -------------------------------------------------------------------------------- */

/* Of a command with one key that is its first argument, or several that follow each other. */
static void
note_reading(struct request *request)
{
	struct model *model = request->model;
	struct model_client *client = request->client;
	if (!client->tracks || !(request->command->flags & IS_READ))
		return;
	/* A script's keys are all that it has declared. */
	if (model->lua != NULL)
		track_keys(client, model->script_keys, model->script_key_count);
	else if (request->command->run == run_exists)
		track_keys(client, request->words + 1, request->count - 1);
	else if (!(request->command->flags & NO_KEYS))
		track_keys(client, request->words + 1, 1);
}

void
command_call(struct request *request)
{
	request->command->run(request);
	note_reading(request);
}

static void
forget_queue(struct model_client *client)
{
	client->queues = client->queue_is_bad = false;
	client->queue_count = client->queue_word_count = 0;
	client->queue_text.used = 0;
}

static void
reject(struct model_client *client, const struct command *command, const char *why)
{
	if (client->queues)
		client->queue_is_bad = true;
	if (command != NULL && command->run == run_exec) {
		forget_queue(client);
		answer_error(client->model, "EXECABORT Transaction discarded because of: %s",
		    why + (strncmp(why, "ERR ", 4) == 0 ? 4 : 0));
	} else {
		answer_error(client->model, "%s", why);
	}
}

static void
explain_unknown(const struct word *words, size_t count, bool is_container, char *why, size_t size)
{
	if (is_container) {
		char name[64];
		snprintf(name, sizeof name, "%.*s", (int)words[0].length, words[0].at);
		for (char *c = name; *c != '\0'; c++)
			*c = (char)toupper((unsigned char)*c);
		snprintf(why, size, "ERR unknown subcommand '%.*s'. Try %s HELP.",
		    (int)(words[1].length > 128 ? 128 : words[1].length), words[1].at, name);
		return;
	}
	size_t used =
	    (size_t)snprintf(why, size, "ERR unknown command '%.*s', with args beginning with: ",
		(int)(words[0].length > 128 ? 128 : words[0].length), words[0].at);
	size_t begin = used;
	for (size_t i = 1; i < count && used - begin < 128; i++) {
		size_t most = 128 - (used - begin);
		size_t length = words[i].length < most ? words[i].length : most;
		used +=
		    (size_t)snprintf(why + used, size - used, "'%.*s' ", (int)length, words[i].at);
	}
}

/* What the command needs of the server and of its client's state: NULL, or why not. */
static const char *
find_obstacle(const struct model_client *client, const struct command *command, char *why,
    size_t size)
{
	struct model *model = client->model;
	unsigned int flags = command->flags;
	if (command->run == run_exec) {
		for (size_t i = 0; i < client->queue_count; i++)
			flags |= client->queue[i].command->flags & (IS_WRITE | DENIES_FULL);
	}
	if (!client->is_in && !(flags & NO_AUTH))
		return "NOAUTH Authentication required.";
	if (command_is_refused(model, command)) {
		snprintf(why, size, "NOPERM this user has no permissions to run the '%s' command",
		    command->name);
		return why;
	}
	bool fills = (flags & DENIES_FULL) ||
	    (client->queues && command->run != run_exec && command->run != run_discard &&
		command->run != run_quit);
	/* A replica leaves that to its master. */
	if (model->is_full && !model->is_replica && fills) {
		model->refusals++;
		return "OOM command not allowed when used memory > 'maxmemory'.";
	}
	if (model->is_replica && (flags & IS_WRITE)) {
		model->refusals++;
		return "READONLY You can't write against a read only replica.";
	}
	if (client->listens && !(flags & LISTENING) && command->run != run_ping &&
	    command->run != run_quit) {
		snprintf(why, size,
		    "ERR Can't execute '%s': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / "
		    "RESET are allowed in this context",
		    command->name);
		return why;
	}
	return NULL;
}

/* -- transactions ----------------------------------------------------------------------------- */

static void
queue(struct model_client *client, const struct command *command, const struct word *words,
    size_t count)
{
	if (client->queue_is_bad)
		return;
	if (client->queue_count == client->queue_room) {
		client->queue_room = client->queue_room * 2 + 4;
		client->queue =
		    model_allocate(client->queue, client->queue_room * sizeof *client->queue);
	}
	if (client->queue_word_count + count > client->queue_word_room) {
		client->queue_word_room = (client->queue_word_count + count) * 2;
		client->queue_words = model_allocate(client->queue_words,
		    client->queue_word_room * sizeof *client->queue_words);
	}
	client->queue[client->queue_count++] =
	    (struct queued){command, client->queue_word_count, count};
	for (size_t i = 0; i < count; i++) {
		client->queue_words[client->queue_word_count++] =
		    (struct place){client->queue_text.used, words[i].length};
		bytes_append(&client->queue_text, words[i].at, words[i].length);
	}
}

void
run_multi(struct request *request)
{
	if (request->client->queues) {
		answer_error(request->model, "ERR MULTI calls can not be nested");
		return;
	}
	request->client->queues = true;
	answer_ok(request->model);
}

void
run_discard(struct request *request)
{
	if (!request->client->queues) {
		answer_error(request->model, "ERR DISCARD without MULTI");
		return;
	}
	forget_queue(request->client);
	answer_ok(request->model);
}

void
run_exec(struct request *request)
{
	struct model_client *client = request->client;
	struct model *model = request->model;
	struct word words[MOST_QUEUED_WORDS];
	if (!client->queues) {
		answer_error(model, "ERR EXEC without MULTI");
		return;
	}
	if (client->queue_is_bad) {
		forget_queue(client);
		answer_error(model, "EXECABORT Transaction discarded because of previous errors.");
		return;
	}
	answer_array(model, client->queue_count);
	for (size_t i = 0; i < client->queue_count; i++) {
		const struct queued *queued = &client->queue[i];
		for (size_t k = 0; k < queued->count; k++) {
			const struct place *place = &client->queue_words[queued->first + k];
			words[k] = (struct word){client->queue_text.at + place->at, place->length};
		}
		struct request inner = {model, client, queued->command, words, queued->count};
		command_call(&inner);
	}
	forget_queue(client);
}

/* -- from a client ---------------------------------------------------------------------------- */

static void
execute(struct model_client *client, const struct command *command, const struct word *words,
    size_t count)
{
	struct model *model = client->model;
	struct request request = {model, client, command, words, count};
	model->failed = false;
	command_call(&request);
	if (model->pending_count > 0)
		track_tell_pending(model);
}

void
dispatch(struct model_client *client, const struct word *words, size_t count)
{
	struct model *model = client->model;
	char why[512];
	bool is_container;
	const struct command *command = command_find(model, words, count, &is_container);
	const char *obstacle = why;
	model->current = client;
	model->db = client->db;
	if (command == NULL)
		explain_unknown(words, count, is_container, why, sizeof why);
	else if (command->arity > 0 ? count != (size_t)command->arity
				    : count < (size_t)-command->arity)
		snprintf(why, sizeof why, "ERR wrong number of arguments for '%s' command",
		    command->name);
	else if (count > MOST_QUEUED_WORDS && client->queues)
		snprintf(why, sizeof why, "ERR too many words for the model's transactions");
	else
		obstacle = find_obstacle(client, command, why, sizeof why);
	if (obstacle != NULL) {
		reject(client, command, obstacle);
	} else if (client->queues && !(command->flags & AT_ONCE) && command->run != run_quit) {
		queue(client, command, words, count);
		answer_status(model, "QUEUED");
	} else {
		execute(client, command, words, count);
	}
	/* It is for the next command, or transaction. */
	if (!client->queues && (command == NULL || strncmp(command->name, "client|", 7) != 0))
		client->is_caching = false;
	model->current = NULL;
}
