/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "redis_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/redis_request.h"
#include "tap.h"

struct redis_bench bench;

const char *
bench_answer_command(struct peer *peer, const struct peer_command *command)
{
	CHECK(peer == &bench.peer);
	if (strcmp(command->words[0], "AUTH") == 0)
		return bench.auth;
	if (strcmp(command->words[0], "SELECT") == 0)
		return bench.select;
	if (strcmp(command->words[0], "CLIENT") == 0)
		return bench.setname;
	if (strcmp(command->words[0], "TIME") == 0)
		return bench.time;
	if (strcmp(command->words[0], "SCRIPT") == 0)
		return bench.exists;
	if (strcmp(command->words[0], "WAIT") == 0)
		return bench.replicas;
	if (strcmp(command->words[0], "EVALSHA") != 0)
		CHECK_TEXT(command->words[0], "EVAL");
	bench.word_count = command->count;
	for (int i = 0; i < command->count; i++)
		snprintf(bench.words[i], sizeof bench.words[i], "%s", command->words[i]);
	if (bench.evals < (int)COUNT_OF(bench.ways))
		bench.ways[bench.evals] = peer->connections;
	if (bench.evals++ == 0)
		snprintf(bench.first_not_after, sizeof bench.first_not_after, "%.31s",
		    bench.words[13]);
	return bench.evals == 1 && bench.first_eval != NULL ? bench.first_eval : bench.eval;
}

const char *
bench_login_log(const char *begin, const char *next)
{
	static char log[400];
	const char *const *hashes = redis_request_hashes();
	snprintf(log, sizeof log, "%sCLIENT SETNAME dlock; SCRIPT EXISTS %s %s %s; TIME%s", begin,
	    hashes[0], hashes[1], hashes[2], next);
	return log;
}

static void
note_answered(void *context, const struct store_answer *answer)
{
	CHECK(context == &bench);
	bench.told = *answer;
	bench.answered = true;
	bench.answers++;
}

static void
note_disturbed(void *context, struct instant now)
{
	CHECK(context == &bench);
	CHECK(now.ns > 0);
	bench.disturbed = true;
	bench.disturbances++;
}

static void
note_woken(void *context, enum wake wake, int64_t left_ns, struct instant now)
{
	CHECK(context == &bench);
	CHECK(now.ns > 0);
	bench.wake = wake;
	bench.wake_left_ns = left_ns;
	bench.woken++;
}

bool
bench_open(void)
{
	return loop_open(&bench.loop) == 0;
}

static void
open_store(void)
{
	static const struct store_events events = {.answered = note_answered,
	    .disturbed = note_disturbed,
	    .woken = note_woken};
	bench.store = redis_store_new(&bench.loop, &bench.settings);
	bench.store->events = &events;
	bench.store->context = &bench;
}

void
bench_use_password(struct secret_source *source)
{
	redis_store_free(bench.store);
	bench.settings.secret = source;
	open_store();
}

void
bench_begin(void)
{
	struct problem problem;
	struct loop loop = bench.loop;
	memset(&bench, 0, sizeof bench);
	bench.loop = loop;
	bench.auth = bench.select = bench.setname = "+OK\r\n";
	bench.exists = KNOWN("0", "0", "0");
	bench.time = TIME_ANSWER;
	bench.eval = GRANTED;
	CHECK(peer_open(&bench.peer, &bench.loop));
	bench.peer.answer = bench_answer_command;
	bench.url.scheme = URL_UNIX;
	memcpy(bench.url.path, bench.peer.path, strlen(bench.peer.path) + 1);
	CHECK(keys_make(&bench.keys, "lock:", "job", &problem));
	bench.settings = (struct redis_settings){
	    .url = &bench.url,
	    .server = "unix:///x",
	    .keys = &bench.keys,
	    .token = "my-token",
	    .record = "host=me\n",
	    .mode = "exclusive",
	    .max_waiters = -1,
	    .min_fence = 41,
	    .fence_mode = FENCE_CLOCK,
	};
	open_store();
}

void
bench_end(void)
{
	redis_store_free(bench.store);
	peer_close(&bench.peer);
	/* Nothing of it is left in the loop. */
	CHECK(bench.loop.watches == NULL);
	CHECK(bench.loop.timers == NULL);
}

static void
start(enum store_verb verb, int64_t connect_ms, int64_t answer_ms, struct instant not_later)
{
	const struct store_request request = {
	    .verb = verb,
	    .connect_limit_ns = connect_ms * NS_PER_MS,
	    .answer_limit_ns = answer_ms * NS_PER_MS,
	    .not_later = not_later,
	    .ttl_ns = 30 * NS_PER_S,
	    .rest_ns = 7 * NS_PER_S,
	    .wait = bench.wait && verb == STORE_ACQUIRE,
	    .ticket = bench.ticket,
	    .follow = bench.follow,
	    .confirm = bench.confirm,
	    .undo = bench.undo,
	};
	int before = bench.answers;
	bench.answered = false;
	bench.store->operations->start(bench.store, &request);
	/* Never from within the call. */
	CHECK_INT(bench.answers, before);
}

void
bench_start_bounded(enum store_verb verb, int64_t connect_ms, int64_t answer_ms)
{
	start(verb, connect_ms, answer_ms, INSTANT_NEVER);
}

void
bench_start(enum store_verb verb)
{
	start(verb, LIMIT_MS, LIMIT_MS, INSTANT_NEVER);
}

void
bench_start_not_later(enum store_verb verb, struct instant not_later)
{
	start(verb, LIMIT_MS, LIMIT_MS, not_later);
}

void
bench_check_answer(enum outcome outcome)
{
	if (CHECK(peer_run_until(&bench.loop, &bench.answered, LIMIT_MS)))
		CHECK_INT(bench.told.outcome, outcome);
}

void
bench_ask(enum store_verb verb, enum outcome outcome)
{
	bench_start(verb);
	bench_check_answer(outcome);
}

void
bench_run_until_evals(int evals)
{
	for (int i = 0; i < LIMIT_MS && bench.evals < evals; i++)
		peer_run(&bench.loop, 1);
	CHECK_INT(bench.evals, evals);
}
