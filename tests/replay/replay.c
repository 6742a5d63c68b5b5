/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/*
 * replay SOCKET CLOCK [STEPS [SEED]]: is the simulator's Redis (tests/sim/model) like the real one?
 *
 * Sends random commands, transactions and scripts, dlock's own too, from several clients to the
 * server at SOCKET and to the model, and compares every byte that each client is sent, and at the
 * end all keys. The server's clock is the file CLOCK (tests/tools/server_clock_preload.c), so that
 * both have the same time, to the microsecond. What is sent follows from the seed: one schedule has
 * some hundred steps, and a seed; each schedule begins with an empty server.
 *
 * Prints how often each script gave which answer, and ends with status 0; or with 1 and the step at
 * which server and model differ. `replay SOCKET CLOCK 1 SEED` is that schedule again.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../sim/model.h"
#include "../unit/tap.h"
#include "server.h"
#include "words.h"

#define ADMIN CLIENTS /* one more, who may do everything, and looks at the end */
#define STEPS_OF_SCHEDULE 300
#define BEGINNING INT64_C(1700000000000000)

struct end {
	int fd; /* to the server */
	struct model_client *client;
	bool any_order; /* of an answer that is still to come, perhaps: what it has queued */
	/* What the model has sent in this step. */
	size_t used;
	char bytes[MOST_BYTES];
};

static struct {
	const char *socket;
	int clock;
	uint64_t seed;
	struct model *model;
	struct end ends[CLIENTS + 1];
	struct schedule schedule;
	struct burst burst;
	char refused[64];
	uint64_t steps, commands, bytes, messages;
	int64_t step; /* of this schedule */
	int version;
	bool is_full, is_replica; /* are both */
	int which;                /* client sends */
} replay;

static void
deliver(void *context, const char *bytes, size_t length)
{
	struct end *end = context;
	if (end->used + length > sizeof end->bytes) {
		fprintf(stderr, "replay: an answer of more than %zu bytes\n", sizeof end->bytes);
		exit(2);
	}
	memcpy(end->bytes + end->used, bytes, length);
	end->used += length;
}

/* -- comparing -------------------------------------------------------------------------------- */

static void
tell_difference(int which, const char *real, size_t length)
{
	const struct end *end = &replay.ends[which];
	printf("seed %" PRIu64 ", step %" PRId64 ": client %d: server and model differ\n",
	    replay.seed, replay.step, which);
	server_print("sent", replay.burst.bytes, replay.burst.length);
	server_print("the server", real, length);
	server_print("the model", end->bytes, end->used);
	printf("seed %" PRIu64 ": server and model differ\n", replay.seed);
	/* For the next replay. */
	server_clear(replay.ends[ADMIN].fd);
	exit(1);
}

static int
compare_bytes(const void *one, const void *two)
{
	return (int)*(const unsigned char *)one - (int)*(const unsigned char *)two;
}

/* Reads as much as the model has sent, and compares. */
static void
compare(int which)
{
	static char real[MOST_BYTES];
	struct end *end = &replay.ends[which];
	size_t length = server_read(end->fd, real, end->used);
	if (replay.ends[replay.which].any_order && length == end->used &&
	    memcmp(real, end->bytes, length) != 0) {
		qsort(real, length, 1, compare_bytes);
		qsort(end->bytes, length, 1, compare_bytes);
	}
	if (length != end->used || memcmp(real, end->bytes, length) != 0) {
		length += server_read_now(end->fd, real + length, sizeof real - length);
		tell_difference(which, real, length);
	}
	replay.bytes += length;
	end->used = 0;
}

/* Does the server send anything that the model does not? */
static void
find_excess(void)
{
	static char real[MOST_BYTES];
	server_ask(replay.ends[ADMIN].fd, "PING");
	for (int i = 0; i < CLIENTS; i++) {
		size_t length = server_read_now(replay.ends[i].fd, real, sizeof real);
		if (length > 0)
			tell_difference(i, real, length);
	}
}

/* -- clients ---------------------------------------------------------------------------------- */

static void
close_end(int which)
{
	close(replay.ends[which].fd);
	model_disconnect(replay.ends[which].client);
	/* The server knows it when it has answered what came after. */
	server_ask(replay.ends[ADMIN].fd, "PING");
}

static void
reconnect(int which)
{
	close_end(which);
	replay.ends[which].fd = server_connect(replay.socket);
	replay.ends[which].client = model_connect(replay.model, &replay.ends[which]);
	replay.ends[which].used = 0;
	replay.ends[which].any_order = false;
	replay.schedule.ids[which] = model_client_id(replay.ends[which].client);
}

/* -- a step ----------------------------------------------------------------------------------- */

static void
set_time(int64_t now_us)
{
	replay.schedule.now_us = now_us;
	server_set_clock(replay.clock, now_us);
	model_set_time(replay.model, now_us);
}

static void
play_burst(int which)
{
	struct end *end = &replay.ends[which];
	replay.which = which;
	end->any_order = end->any_order || replay.burst.any_order;
	server_send(end->fd, replay.burst.bytes, replay.burst.length);
	bool is_open = model_feed(end->client, replay.burst.bytes, replay.burst.length);
	for (int i = 0; i <= CLIENTS; i++) {
		if (i != which && i != ADMIN && replay.ends[i].used > 0) {
			replay.messages++;
			replay.schedule.is_woken[i] = true;
		}
		if (i == which || replay.ends[i].used > 0)
			compare(i);
	}
	replay.commands += replay.burst.commands;
	end->any_order = end->any_order && !replay.burst.ends_transaction;
	if (is_open)
		return;
	if (!server_hangs_up(end->fd))
		tell_difference(which, "it does not hang up", 19);
	reconnect(which);
}

static int64_t
below(int64_t most)
{
	return tap_random_below(&replay.schedule.random, most);
}

static void
set_full(bool is_full)
{
	server_ask(replay.ends[ADMIN].fd,
	    is_full ? "CONFIG SET maxmemory 1" : "CONFIG SET maxmemory 0");
	model_set_full(replay.model, is_full);
	replay.is_full = is_full;
}

static void
set_replica(bool is_replica)
{
	server_ask(replay.ends[ADMIN].fd,
	    is_replica ? "REPLICAOF 127.0.0.1 1" : "REPLICAOF NO ONE");
	/* A server that has not been one before makes a client of its own. */
	if (is_replica && !replay.is_replica)
		model_disconnect(model_connect(replay.model, NULL));
	model_set_replica(replay.model, is_replica);
	replay.is_replica = is_replica;
}

static void
make_usable(void)
{
	if (replay.is_full)
		set_full(false);
	if (replay.is_replica)
		set_replica(false);
}

/* What happens to a server beside what its clients send. */
static void
play_event(void)
{
	switch (below(6)) {
	case 0:
	case 1:
		reconnect((int)below(CLIENTS));
		break;
	case 2:
		set_full(true);
		break;
	case 3:
		set_replica(true);
		break;
	case 4:
		make_usable();
		break;
	case 5:
		server_ask(replay.ends[ADMIN].fd, "SCRIPT FLUSH");
		model_forget_scripts(replay.model);
		break;
	}
}

static void
play_step(void)
{
	static const int64_t leaps_us[] = {0, 0, 0, 1, 999, 1000, 300000, 1500000, 3100000,
	    20000000, 160000000, -1000000, -7};
	bool is_calm = replay.schedule.is_calm;
	set_time(replay.schedule.now_us + leaps_us[below(is_calm ? 8 : COUNT_OF(leaps_us))]);
	if (below(is_calm ? 100 : 40) == 0)
		play_event();
	else if (is_calm && below(10) == 0)
		make_usable();
	int which = (int)below(CLIENTS);
	for (int i = 0; i < CLIENTS; i++) {
		if (replay.schedule.is_woken[i] && below(2) > 0)
			which = i;
	}
	burst_make(&replay.burst, &replay.schedule, which);
	play_burst(which);
	replay.steps++;
	if (replay.step % 16 == 0)
		find_excess();
}

/* -- a schedule ------------------------------------------------------------------------------- */

/* Some have a server with a password, or one that refuses a command. */
static void
choose_server(struct model_options *options)
{
	static const char *const commands[] = {"publish", "subscribe", "client|tracking", "evalsha",
	    "pubsub|numsub", "zadd", "exists", "client|id"};
	char text[96];
	int admin = replay.ends[ADMIN].fd;
	replay.schedule.password = NULL;
	if (below(8) == 0) {
		replay.schedule.password = options->password = "secret";
		server_ask(admin, "CONFIG SET requirepass secret");
	}
	if (below(5) == 0) {
		const char *command = commands[below(COUNT_OF(commands))];
		snprintf(text, sizeof text, "ACL SETUSER default -%s", command);
		server_ask(admin, text);
		snprintf(replay.refused, sizeof replay.refused, " %s ", command);
		options->refused = replay.refused;
	}
}

static void
begin_schedule(void)
{
	struct model_options options = {.deliver = deliver, .version = replay.version};
	replay.schedule.random = replay.seed * 0x9e3779b97f4a7c15u | 1;
	replay.schedule.is_calm = below(3) > 0;
	replay.schedule.lock = below(3);
	replay.ends[ADMIN].fd = server_connect(replay.socket);
	server_clear(replay.ends[ADMIN].fd);
	/* The admin is here already: in the model he takes the number of this question's client. */
	options.first_client_id = server_last_id(replay.socket);
	choose_server(&options);
	replay.is_full = replay.is_replica = false;
	replay.model = model_new(&options);
	set_time(BEGINNING + below(1000000000));
	replay.ends[ADMIN].client = model_connect(replay.model, &replay.ends[ADMIN]);
	for (int i = 0; i < CLIENTS; i++) {
		replay.ends[i].fd = server_connect(replay.socket);
		replay.ends[i].client = model_connect(replay.model, &replay.ends[i]);
		replay.ends[i].used = 0;
		replay.ends[i].any_order = false;
		replay.schedule.ids[i] = model_client_id(replay.ends[i].client);
		/* One after the other. */
		server_ask(replay.ends[ADMIN].fd, "PING");
	}
}

/* To both, as the admin. */
static void
ask_both(const char *command, const char *key, const char *more, const char *last, bool any_order)
{
	const char *words[] = {command, key, more, last, NULL};
	if (replay.schedule.password != NULL) {
		const char *auth[] = {"AUTH", "secret", NULL};
		burst_of(&replay.burst, auth);
		play_burst(ADMIN);
	}
	burst_of(&replay.burst, words);
	replay.burst.any_order = any_order;
	play_burst(ADMIN);
}

/* Everything that is left, as both have it. */
static void
compare_keys(void)
{
	static const char *const databases[] = {"0", "1", "2", "3", "4", "5"};
	char names[256][128];
	int dbs[256];
	size_t count = 0, at = 0;
	struct model_key key;
	while (count < COUNT_OF(names) && model_next_key(replay.model, &at, &key)) {
		snprintf(names[count], sizeof *names, "%s", key.name);
		dbs[count++] = key.db;
	}
	for (size_t db = 0; db < COUNT_OF(databases); db++) {
		ask_both("SELECT", databases[db], NULL, NULL, false);
		ask_both("KEYS", "*", NULL, NULL, true);
		for (size_t i = 0; i < count; i++) {
			if (dbs[i] != (int)db)
				continue;
			ask_both("TYPE", names[i], NULL, NULL, false);
			ask_both("PTTL", names[i], NULL, NULL, false);
			ask_both("GET", names[i], NULL, NULL, false);
			ask_both("HGETALL", names[i], NULL, NULL, true);
			ask_both("ZRANGEBYSCORE", names[i], "-inf", "+inf", false);
			ask_both("ZRANGE", names[i], "0", "-1", false);
		}
	}
}

static void
end_schedule(void)
{
	find_excess();
	compare_keys();
	for (int i = 0; i < CLIENTS; i++)
		close(replay.ends[i].fd);
	server_clear(replay.ends[ADMIN].fd);
	close(replay.ends[ADMIN].fd);
	model_free(replay.model);
}

/* -- the end ---------------------------------------------------------------------------------- */

static void
tell_reply(void *context, const char *sha1, const char *kind, uint64_t count)
{
	const char *name = script_name(sha1);
	(void)context;
	if (name != NULL)
		printf("%s %s=%" PRIu64 "\n", name, kind, count);
}

int
main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: replay SOCKET CLOCK [STEPS [SEED]]\n");
		return 2;
	}
	uint64_t steps = argc > 3 ? strtoull(argv[3], NULL, 10) : 3000;
	replay.socket = argv[1];
	replay.clock = server_open_clock(argv[2]);
	replay.version = server_version(replay.socket);
	for (replay.seed = argc > 4 ? strtoull(argv[4], NULL, 10) : 1; replay.steps < steps;
	     replay.seed++) {
		begin_schedule();
		for (replay.step = 1; replay.step <= STEPS_OF_SCHEDULE; replay.step++)
			play_step();
		end_schedule();
	}
	model_tell_replies(tell_reply, NULL);
	printf("%" PRIu64 " steps, %" PRIu64 " commands, %" PRIu64 " bytes, %" PRIu64
	       " messages to others: all the same\n",
	    replay.steps, replay.commands, replay.bytes, replay.messages);
	return 0;
}
