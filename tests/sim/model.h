/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* A small Redis 7.0 in memory, for the simulator: of the commands that dlock and its scripts send,
 * with their answers byte for byte, and what other clients of a lock do. It runs the real scripts,
 * with Debian's liblua5.1. It does no I/O and knows no clock: the present is what model_set_time
 * said last.
 *
 *   struct model *model = model_new(&options);
 *   model_set_time(model, wall_us);
 *   struct model_client *client = model_connect(model, my_end);
 *   model_feed(client, bytes, length);      ->  options.deliver(my_end, bytes, length)
 *
 * tests/sim/replay.c plays random commands and scripts on it and on a real server, and compares.
 *
 * What it has not: RESP3, inline commands, blocking commands, WATCH, patterns in subscriptions,
 * lists, sets, streams, clusters, replication (model_copy is a replica that was promoted), saving.
 * Expired keys are gone for who looks, as in Redis; a message that one has gone is sent when
 * somebody looks, or by model_expire_due, never by itself.
 *
 * All models of a process share one interpreter and the compiled scripts: one thread alone may use
 * them. */
#ifndef DLOCK_TESTS_MODEL_H
#define DLOCK_TESTS_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct model;
struct model_client;

struct model_options {
	/* What the server sends to a client: answers and messages, in their order. `context` is
	 * that of model_connect. Called at the end of model_feed, model_evict, model_expire_due and
	 * model_flush, never in the middle of a command; it must not call the model back, and the
	 * bytes are gone afterwards. */
	void (*deliver)(void *context, const char *bytes, size_t length);
	int64_t first_client_id; /* 0: 1 */
	int version;          /* as 60216 for 6.2.16: what it has not is unknown then. 0: 7.0.15 */
	const char *password; /* NULL: none is needed. Not copied */
	/* Commands that an ACL takes from everybody, a blank before and after each, lower case, as
	 * " client|tracking publish ". NULL: none. Not copied. */
	const char *refused;
};

/* An empty server, at microsecond 0. Without memory the process ends: so everywhere here. */
struct model *
model_new(const struct model_options *options);
void
model_free(struct model *model);

/* As new, without clients (whose pointers are void), and cheaper than that. Its scripts are unknown
 * to EVALSHA again. */
void
model_reset(struct model *model);

/* Another server with the same keys, as of now: without the clients, and with no script known. What
 * a replica has when it is promoted; taken earlier, one that has not got the last writes. */
struct model *
model_copy(const struct model *model);

/* The same into a model that there is: its keys become those of `from`. Its clients stay. Also what
 * a crash leaves: a copy of before the writes that were lost. */
void
model_restore(struct model *model, const struct model *from);

/* The server's wall clock from now on, in microseconds; it may be set back, as real ones are. */
void
model_set_time(struct model *model, int64_t wall_us);

/* When the server was started, for INFO: by its wall clock, microseconds. model_new: 0. */
void
model_set_started(struct model *model, int64_t wall_us);

/* Whether its memory is full (maxmemory with noeviction). */
void
model_set_full(struct model *model, bool is_full);

/* Whether it is a replica: it refuses writes, and HELLO and INFO say so. */
void
model_set_replica(struct model *model, bool is_replica);

/* What WAIT answers: how many replicas have it. At once: the time that passes meanwhile is the
 * caller's. */
void
model_set_acknowledged(struct model *model, int64_t replicas);

/* Writes so far that changed something: grows with each, whoever sent it; not with what expired. */
uint64_t
model_writes(const struct model *model);

/* Commands so far, also of scripts, that were refused because the memory is full, or to a replica.
 */
uint64_t
model_refusals(const struct model *model);

/* -- clients ---------------------------------------------------------------------------------- */

/* `context` is for deliver. */
struct model_client *
model_connect(struct model *model, void *context);

/* What CLIENT ID says: clients are numbered as they come. */
int64_t
model_client_id(const struct model_client *client);

/* The server has noticed that the connection is gone: nothing is subscribed any more, what was
 * queued is forgotten. The pointer is void. */
void
model_disconnect(struct model_client *client);

/* Bytes of requests, in pieces as they come: what is complete is executed, answers are delivered.
 * False: the server has hung up (a protocol error, QUIT); the answer to that was delivered. Then
 * model_disconnect is all that may be called. */
bool
model_feed(struct model_client *client, const char *bytes, size_t length);

/* -- what the world does to it ---------------------------------------------------------------- */

/* Evicts a key, as a server without memory does, with the messages of that. False: there is none.
 */
bool
model_evict(struct model *model, const char *key);

/* Removes what has expired, as a server does in the background, with the messages of that. */
void
model_expire_due(struct model *model);

/* FLUSHALL from elsewhere. */
void
model_flush(struct model *model);

/* SCRIPT FLUSH from elsewhere, or what a restart does. False: it knew none. */
bool
model_forget_scripts(struct model *model);

/* -- looking, for what is always to be true: nothing of it changes anything -------------------- */

enum model_type {
	MODEL_STRING,
	MODEL_HASH,
	MODEL_ZSET,
};

struct model_key {
	const char *name; /* ends with a NUL that is not part of it, as all texts here */
	size_t length;
	enum model_type type;
	int64_t expires_ms; /* wall clock; -1: never */
	int db;
	const char *value; /* a string's */
	size_t value_length;
	size_t count;      /* of a hash's fields or a zset's members */
	const void *place; /* the model's own */
};

struct model_member {
	const char *name; /* of a field, a member */
	size_t length;
	double score;      /* of a member */
	const char *value; /* of a field */
	size_t value_length;
};

/* The keys that have not expired, in any order: *at is 0 at first. False: no more. Pointers are
 * good until the model is used again. */
bool
model_next_key(const struct model *model, size_t *at, struct model_key *key);

/* That key of database 0. False: there is none, or it has expired. */
bool
model_find_key(const struct model *model, const char *name, struct model_key *key);

/* The members of such a key in the order of their scores, the fields of a hash as they came. False:
 * no more. */
bool
model_next_member(const struct model *model, const struct model_key *key, size_t *at,
    struct model_member *member);

/* How many clients are connected; of them, how many are subscribed to that channel. */
size_t
model_count_clients(const struct model *model);
size_t
model_count_ears(const struct model *model, const char *channel);

/* -- what was reached ------------------------------------------------------------------------- */

/* Of all models of the process: each script that was run, by its hash, with each kind of answer it
 * has given: the first word of an array, "1", "0", "-1", "nil", the first word of an error with a -
 * before it. Unknown scripts too, so compare with the hashes of lua_scripts.h. */
void
model_tell_replies(void (*tell)(void *context, const char *sha1, const char *kind, uint64_t count),
    void *context);

#endif
