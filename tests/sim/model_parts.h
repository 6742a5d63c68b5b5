/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What the files of the model share: for them alone. */
#ifndef DLOCK_TESTS_MODEL_PARTS_H
#define DLOCK_TESTS_MODEL_PARTS_H

#include <lua5.1/lua.h>

#include "model.h"

#define CHANNEL_TRACKING "__redis__:invalidate"

/* -- bytes ------------------------------------------------------------------------------------ */

/* An argument; in a script, and in a pipeline, no NUL follows it. */
struct word {
	const char *at;
	size_t length;
};

struct bytes {
	char *at;
	size_t used, room;
};

/* malloc and realloc that end the process when there is no memory. */
void *
model_allocate(void *old, size_t size);

/* Room for `more` bytes behind those used, and for a NUL. */
void
bytes_reserve(struct bytes *bytes, size_t more);
void
bytes_append(struct bytes *bytes, const char *at, size_t length);
void
bytes_set(struct bytes *bytes, const char *at, size_t length);

bool
word_is(const struct word *word, const char *text);
/* Whatever the case; `text` in lower case. */
bool
word_is_like(const struct word *word, const char *text);
bool
words_equal(const char *one, size_t one_length, const char *two, size_t two_length);

/* As Redis reads numbers: no blanks, no +, no zeros in front. */
bool
word_read_integer(const struct word *word, int64_t *number);
/* As strtod does, all of it, no blank before it. */
bool
word_read_double(const struct word *word, double *number);

/* "%.17g", and inf as Redis has it: its length. `out` has 40 bytes. */
size_t
write_double(char *out, double number);
/* Decimal digits: their number. `out` has 24 bytes. */
size_t
write_integer(char *out, int64_t number);

/* -- keys ------------------------------------------------------------------------------------- */

/* A field of a hash, or a member of a zset; in one block of memory with its value. */
struct item {
	char *name; /* then a NUL, the value, a NUL */
	uint32_t length, value_length;
	uint32_t room; /* of the block */
	double score;
};

struct entry {
	int db;
	enum model_type type;
	int64_t expires_ms; /* -1: never */
	struct bytes name;
	struct bytes value; /* a string's */
	struct item *items; /* a zset's in order */
	size_t count, room;
};

/* -- clients ---------------------------------------------------------------------------------- */

/* Of one command in a transaction. */
#define MOST_QUEUED_WORDS 64

struct place {
	size_t at, length;
};

struct queued {
	const struct command *command;
	size_t first, count; /* words */
};

struct model_client {
	struct model *model;
	void *context;
	int64_t id;
	int db;
	bool is_closed;
	bool is_in; /* logged in */
	struct bytes in, out;
	struct bytes name;
	bool is_dirty; /* among the model's dirty clients */
	/* MULTI */
	bool queues, queue_is_bad;
	struct queued *queue;
	size_t queue_count, queue_room;
	struct bytes queue_text;
	struct place *queue_words;
	size_t queue_word_count, queue_word_room;
	/* subscriptions: plain ones, sharded ones */
	struct bytes *channels[2];
	size_t channel_count[2], channel_room[2];
	bool listens; /* CLIENT_PUBSUB */
	/* tracking */
	bool tracks, opts_in, opts_out, no_loop, is_caching;
	int64_t redirect;
};

/* -- the model -------------------------------------------------------------------------------- */

enum command_flag {
	IS_WRITE = 1,
	IS_READ = 2,
	DENIES_FULL = 4,
	NOT_IN_SCRIPT = 8,
	NO_AUTH = 16,
	FROM_SEVEN = 32, /* unknown before Redis 7 */
	IS_CONTAINER = 64,
	NO_KEYS = 128,
	AT_ONCE = 256,   /* is not queued */
	LISTENING = 512, /* may be sent by who is subscribed */
};

struct request {
	struct model *model;
	struct model_client *client; /* who asks; of a script, who runs it */
	const struct command *command;
	const struct word *words;
	size_t count;
};

struct command {
	const char *name; /* of a subcommand: client|id */
	int arity;        /* as Redis has it: negative, at least so many */
	unsigned int flags;
	void (*run)(struct request *request);
};

struct tracked {
	struct bytes key; /* keys of all databases are one here, as in Redis */
	int64_t *ids;
	size_t count, room;
};

/* Where the answers of a command in a script go: on Lua's stack. */
struct frame {
	size_t left;
	int next;
};
#define MOST_FRAMES 4

struct model {
	struct model_options options;
	int64_t now_us, now_ms, started_us;
	bool is_full, is_replica;
	int64_t acknowledged;
	uint64_t writes;
	uint64_t refusals;   /* for its memory, or as a replica */
	uint64_t run_number; /* differs with each start */
	int64_t next_id;

	struct entry *entries;
	size_t count, room;

	struct model_client **clients;
	size_t client_count, client_room;
	struct model_client **dirty;
	size_t dirty_count, dirty_room;

	struct tracked *tracked;
	size_t tracked_count, tracked_room;
	/* Invalidations for the client whose command runs: told when it has ended. A length of
	 * SIZE_MAX: of all keys. */
	struct bytes pending;
	size_t pending_count;

	struct bytes known; /* 1: a script that EVALSHA finds, by its number among all */

	/* While a command runs. */
	struct model_client *current; /* whose command it is; NULL: the world's */
	int db;                       /* a script's own */
	lua_State *lua;               /* in a script: answers go there */
	const struct word *script_keys;
	size_t script_key_count;
	bool script_wrote;
	bool failed; /* the command's answer is an error */
	struct frame frames[MOST_FRAMES];
	int frame_count;
};

/* -- model.c ---------------------------------------------------------------------------------- */

/* What a client is sent. */
struct bytes *
model_out(struct model_client *client);
void
model_deliver(struct model *model);
struct model_client *
model_find_client(const struct model *model, int64_t id);

/* -- model_dispatch.c ------------------------------------------------------------------------- */

/* Of a command with subcommands: that one; *is_container is set. NULL: there is none. */
const struct command *
command_find(const struct model *model, const struct word *words, size_t count, bool *is_container);
bool
command_is_refused(const struct model *model, const struct command *command);
/* From a client: all checks, then it is executed or queued. */
void
dispatch(struct model_client *client, const struct word *words, size_t count);
/* Executes it, and notes what was read. */
void
command_call(struct request *request);

/* -- model_answer.c --------------------------------------------------------------------------- */

void
answer_status(struct model *model, const char *text);
void
answer_error(struct model *model, const char *format, ...) __attribute__((format(printf, 2, 3)));
void
answer_integer(struct model *model, int64_t number);
void
answer_text(struct model *model, const char *at, size_t length);
void
answer_words(struct model *model, const char *text);
void
answer_double(struct model *model, double number);
void
answer_nil(struct model *model);
/* Its items follow. */
void
answer_array(struct model *model, size_t count);
void
answer_ok(struct model *model);

void
put_bulk(struct bytes *out, const char *at, size_t length);
void
put_header(struct bytes *out, char kind, int64_t number);

/* -- model_keys.c ----------------------------------------------------------------------------- */

/* The entry, if there is one that has not expired; what has expired is removed. Good until the next
 * one is made or removed. */
struct entry *
keys_find(struct model *model, const struct word *name);
/* The same, of that type: true and NULL when there is none; false when WRONGTYPE was answered. */
bool
keys_find_of_type(struct model *model, const struct word *name, enum model_type type,
    struct entry **entry);
/* There is none yet. */
struct entry *
keys_add(struct model *model, const struct word *name, enum model_type type);
void
keys_remove(struct model *model, struct entry *entry);
/* Removes what is in it, and makes it that type. */
void
keys_empty(struct entry *entry, enum model_type type);
void
keys_remove_all(struct model *model, int db); /* -1: of all databases */
void
keys_copy_all(struct model *to, const struct model *from);
void
keys_free_all(struct model *model);

/* A write has changed it: counted, and told to those who track it. */
void
keys_note_change(struct model *model, const char *name, size_t length);

/* -- model_items.c ---------------------------------------------------------------------------- */

struct item *
items_find(struct entry *entry, const char *name, size_t length);
void
item_set(struct item *item, const char *name, size_t length, const char *value, size_t value_length,
    double score);
struct item *
items_insert(struct entry *entry, size_t at);
void
items_remove(struct entry *entry, size_t at);
/* Where a member with that score belongs. */
size_t
items_place(const struct entry *entry, double score, const char *name, size_t length);

/* -- model_track.c ---------------------------------------------------------------------------- */

/* `client` has read these keys. */
void
track_keys(struct model_client *client, const struct word *keys, size_t count);
void
track_tell_change(struct model *model, const char *name, size_t length);
void
track_tell_flush(struct model *model);
/* The command of the client is over: tells it what was kept back. */
void
track_tell_pending(struct model *model);
void
track_forget_all(struct model *model);
void
track_free_all(struct model *model);

/* -- model_channels.c ------------------------------------------------------------------------- */

void
channels_leave_all(struct model_client *client);
size_t
channels_count_ears(const struct model *model, const char *at, size_t length, int which);
void
channels_put_message(struct bytes *out, const char *word, const char *channel, size_t length);

/* -- model_script.c --------------------------------------------------------------------------- */

void
scripts_forget(struct model *model);

/* -- the commands ----------------------------------------------------------------------------- */

#define COMMAND(name) void run_##name(struct request *request)
COMMAND(set);
COMMAND(get);
COMMAND(getrange);
COMMAND(incr);
COMMAND(del);
COMMAND(exists);
COMMAND(type);
COMMAND(pttl);
COMMAND(ttl);
COMMAND(expire);
COMMAND(pexpire);
COMMAND(pexpireat);
COMMAND(persist);
COMMAND(scan);
COMMAND(keys);
COMMAND(dbsize);
COMMAND(flushall);
COMMAND(flushdb);
COMMAND(hset);
COMMAND(hget);
COMMAND(hmget);
COMMAND(hdel);
COMMAND(hlen);
COMMAND(hkeys);
COMMAND(hgetall);
COMMAND(zadd);
COMMAND(zrem);
COMMAND(zremrangebyscore);
COMMAND(zrange);
COMMAND(zrangebyscore);
COMMAND(zcount);
COMMAND(zcard);
COMMAND(zscore);
COMMAND(zrank);
COMMAND(time);
COMMAND(ping);
COMMAND(auth);
COMMAND(hello);
COMMAND(select);
COMMAND(quit);
COMMAND(info);
COMMAND(role);
COMMAND(wait);
COMMAND(client_id);
COMMAND(client_setname);
COMMAND(client_tracking);
COMMAND(client_caching);
COMMAND(multi);
COMMAND(exec);
COMMAND(discard);
COMMAND(subscribe);
COMMAND(unsubscribe);
COMMAND(ssubscribe);
COMMAND(sunsubscribe);
COMMAND(publish);
COMMAND(spublish);
COMMAND(pubsub_numsub);
COMMAND(pubsub_shardnumsub);
COMMAND(eval);
COMMAND(evalsha);
COMMAND(script_load);
COMMAND(script_exists);
COMMAND(script_flush);
COMMAND(cluster_slots);

#endif
