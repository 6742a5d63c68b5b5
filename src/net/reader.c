/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "net/reader.h"

#include <hiredis/hiredis.h>
#include <stdlib.h>
#include <string.h>

/* hiredis 1.0 made the count of an array's elements a size_t. */
#if HIREDIS_MAJOR < 1
typedef int array_count;
#else
typedef size_t array_count;
#endif

struct link_reader {
	redisReader *hiredis;
	size_t unanswered; /* bytes taken in since the last complete answer */
	char head[8];      /* the first of them; more than any stranger needs */
	size_t nodes_used;
	size_t slots_used;
	size_t text_used;
	struct reply nodes[LINK_MAX_ITEMS];
	const struct reply
	    *slots[LINK_MAX_ITEMS]; /* the items of all arrays, one after the other */
	char text[LINK_MAX_ANSWER + LINK_MAX_ITEMS];
};

/* NULL makes hiredis give up with an out-of-memory error. */
static struct reply *
take_node(const redisReadTask *task, enum reply_kind kind)
{
	struct link_reader *reader = task->privdata;
	if (reader->nodes_used == LINK_MAX_ITEMS)
		return NULL;
	struct reply *node = &reader->nodes[reader->nodes_used++];
	*node = (struct reply){.kind = kind};
	if (task->parent != NULL) {
		const struct reply *parent = task->parent->obj;
		reader->slots[(size_t)(parent->items - reader->slots) + (size_t)task->idx] = node;
	}
	return node;
}

static void *
create_string(const redisReadTask *task, char *text, size_t length)
{
	struct link_reader *reader = task->privdata;
	enum reply_kind kind = REPLY_STRING;
	if (task->type > REDIS_REPLY_ERROR) /* a kind that RESP2 does not have */
		return NULL;
	if (task->type == REDIS_REPLY_ERROR)
		kind = REPLY_ERROR;
	else if (task->type == REDIS_REPLY_STATUS)
		kind = REPLY_STATUS;
	if (length + 1 > sizeof reader->text - reader->text_used)
		return NULL;
	struct reply *node = take_node(task, kind);
	if (node == NULL)
		return NULL;
	char *copy = reader->text + reader->text_used;
	memcpy(copy, text, length);
	copy[length] = '\0';
	reader->text_used += length + 1;
	node->text = copy;
	node->length = length;
	return node;
}

static void *
create_array(const redisReadTask *task, array_count count)
{
	if (task->type != REDIS_REPLY_ARRAY || (size_t)count > LINK_MAX_ARRAY)
		return NULL;
	struct link_reader *reader = task->privdata;
	if ((size_t)count > LINK_MAX_ITEMS - reader->slots_used)
		return NULL;
	struct reply *node = take_node(task, REPLY_ARRAY);
	if (node == NULL)
		return NULL;
	node->count = (size_t)count;
	node->items = reader->slots + reader->slots_used;
	reader->slots_used += node->count;
	return node;
}

static void *
create_integer(const redisReadTask *task, long long value)
{
	struct reply *node = take_node(task, REPLY_INTEGER);
	if (node != NULL)
		node->integer = value;
	return node;
}

static void *
create_nil(const redisReadTask *task)
{
	return take_node(task, REPLY_NIL);
}

#if HIREDIS_MAJOR >= 1
/* RESP3, which nobody asked for: given up. Without these hiredis hands out a number as a pointer.
 */
static void *
create_double(const redisReadTask *task, double value, char *text, size_t length)
{
	(void)task, (void)value, (void)text, (void)length;
	return NULL;
}

static void *
create_bool(const redisReadTask *task, int value)
{
	(void)task, (void)value;
	return NULL;
}
#endif

/* The block is emptied as a whole. */
static void
free_object(void *object)
{
	(void)object;
}

static redisReplyObjectFunctions functions = {
    .createString = create_string,
    .createArray = create_array,
    .createInteger = create_integer,
    .createNil = create_nil,
    .freeObject = free_object,
#if HIREDIS_MAJOR >= 1
    .createDouble = create_double,
    .createBool = create_bool,
#endif
};

struct link_reader *
reader_new(void)
{
	struct link_reader *reader = malloc(sizeof *reader);
	if (reader == NULL)
		return NULL;
	reader->hiredis = NULL;
	if (reader_reset(reader) != 0) {
		free(reader);
		return NULL;
	}
	return reader;
}

void
reader_free(struct link_reader *reader)
{
	if (reader == NULL)
		return;
	redisReaderFree(reader->hiredis);
	free(reader);
}

int
reader_reset(struct link_reader *reader)
{
	if (reader->hiredis != NULL)
		redisReaderFree(reader->hiredis);
	reader->hiredis = redisReaderCreateWithFunctions(&functions);
	if (reader->hiredis == NULL)
		return -1;
	reader->hiredis->privdata = reader;
	reader->unanswered = 0;
	reader->nodes_used = 0;
	reader->slots_used = 0;
	reader->text_used = 0;
	return 0;
}

/* Of what follows the bytes already there. */
static void
keep_head(struct link_reader *reader, const char *bytes, size_t length)
{
	for (size_t i = 0; i < length && reader->unanswered + i < sizeof reader->head; i++)
		reader->head[reader->unanswered + i] = bytes[i];
	reader->unanswered += length;
}

int
reader_feed(struct link_reader *reader, const char *bytes, size_t length, struct problem *why)
{
	keep_head(reader, bytes, length);
	if (reader->unanswered > LINK_MAX_ANSWER) {
		problem_set(why, "the server's answer is longer than %d bytes", LINK_MAX_ANSWER);
		return -1;
	}
	if (redisReaderFeed(reader->hiredis, bytes, length) != REDIS_OK) {
		problem_set(why, "%s", reader->hiredis->errstr);
		return -1;
	}
	return 0;
}

/* Who answers that is no Redis, by how it begins; else what hiredis says. */
static void
explain(const struct link_reader *reader, struct problem *why)
{
	static const struct {
		const char *head;
		const char *who;
	} strangers[] = {
	    {"HTTP/", "a web server answers there"},
	    {"SSH-", "an SSH server answers there"},
	    {"\x15\x03", "it speaks TLS, so write rediss:// or --tls"},
	};
	for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++) {
		size_t length = strlen(strangers[i].head);
		if (reader->unanswered >= length &&
		    memcmp(reader->head, strangers[i].head, length) == 0) {
			problem_set(why, "the server is no Redis: %s", strangers[i].who);
			return;
		}
	}
	problem_set(why, "the server's answer is no Redis protocol, or too large (%s)",
	    reader->hiredis->errstr);
}

int
reader_next(struct link_reader *reader, const struct reply **reply, struct problem *why)
{
	void *object = NULL;
	/* An answer half received keeps its nodes; only a complete one was given out before. */
	if (reader->hiredis->ridx < 0) {
		reader->nodes_used = 0;
		reader->slots_used = 0;
		reader->text_used = 0;
	}
	if (redisReaderGetReply(reader->hiredis, &object) != REDIS_OK) {
		explain(reader, why);
		return -1;
	}
	if (object == NULL)
		return 0;
	reader->unanswered = 0;
	keep_head(reader, reader->hiredis->buf + reader->hiredis->pos,
	    reader->hiredis->len - reader->hiredis->pos);
	*reply = object;
	return 1;
}

bool
reader_has_more(const struct link_reader *reader)
{
	return reader->unanswered > 0;
}

long
reader_format(char *out, size_t size, int argc, const char *const *argv)
{
	char *command = NULL;
	/* hiredis takes the pointers as non-const; it only reads. */
	union {
		const char *const *given;
		const char **wanted;
	} arguments = {.given = argv};
	long long length =
	    (long long)redisFormatCommandArgv(&command, argc, arguments.wanted, NULL);
	if (length < 0)
		return -1;
	if ((unsigned long long)length <= size)
		memcpy(out, command, (size_t)length);
	explicit_bzero(command, (size_t)length); /* it may have a password in it */
	redisFreeCommand(command);
	return (unsigned long long)length <= size ? (long)length : -1;
}
