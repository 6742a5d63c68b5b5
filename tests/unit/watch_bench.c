/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "watch_bench.h"

#include <string.h>

#include "tap.h"

struct watcher watcher;

static const char *
answer_command(struct peer *peer, const struct peer_command *command)
{
	static const struct {
		const char *line;
		const char **answer;
	} rows[] = {
	    {"TIME", &watcher.time},
	    {"CLIENT ID", &watcher.id},
	    {"CLIENT TRACKING ON REDIRECT 7", &watcher.tracking},
	    {"UNSUBSCRIBE lock:job", &watcher.unsubscribe},
	    {"MULTI", &watcher.multi},
	    {"GET lock:job", &watcher.get},
	    {"ZSCORE " MEMBERS " my-token", &watcher.score},
	    {"SUBSCRIBE lock:job", &watcher.subscribe},
	    {"EXEC", &watcher.exec},
	};
	CHECK(peer == &watcher.peer);
	if (strcmp(command->line, "CLIENT SETNAME dlock") == 0)
		return "+OK\r\n";
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		if (strcmp(command->line, rows[i].line) == 0) {
			watcher.looks += rows[i].answer == &watcher.exec;
			return *rows[i].answer;
		}
	}
	CHECK_TEXT(command->line, "a command that is expected");
	return NULL;
}

static void
note_alarm(void *context, struct instant now)
{
	CHECK(context == &watcher);
	CHECK(now.ns > 0);
	watcher.alarms++;
	watcher.alarmed = true;
}

void
watcher_begin_with_mode(const char *mode)
{
	struct problem problem;
	struct loop loop = watcher.loop;
	memset(&watcher, 0, sizeof watcher);
	watcher.loop = loop;
	watcher.time = TIME_ANSWER;
	watcher.id = ":7\r\n";
	watcher.tracking = watcher.multi = "+OK\r\n";
	watcher.get = watcher.score = watcher.subscribe = "+QUEUED\r\n";
	watcher.unsubscribe = "*3\r\n$11\r\nunsubscribe\r\n$8\r\nlock:job\r\n:0\r\n";
	watcher.exec = OURS;
	CHECK(peer_open(&watcher.peer, &watcher.loop));
	watcher.peer.answer = answer_command;
	watcher.url.scheme = URL_UNIX;
	memcpy(watcher.url.path, watcher.peer.path, strlen(watcher.peer.path) + 1);
	CHECK(keys_make(&watcher.keys, "lock:", "job", &problem));
	watcher.settings = (struct redis_settings){
	    .url = &watcher.url,
	    .server = "unix:///x",
	    .keys = &watcher.keys,
	    .token = "my-token",
	    .mode = mode,
	};
	watcher.watch = redis_watch_new(&watcher.loop, &watcher.settings, note_alarm, &watcher);
	CHECK(watcher.watch != NULL);
}

void
watcher_begin(void)
{
	watcher_begin_with_mode("exclusive");
}

void
watcher_end(void)
{
	redis_watch_free(watcher.watch);
	peer_close(&watcher.peer);
	CHECK(watcher.loop.watches == NULL);
	CHECK(watcher.loop.timers == NULL);
}

void
watcher_renew(int sent_ms_ago, int limit_ms)
{
	const struct store_request request = {.verb = STORE_RENEW,
	    .connect_limit_ns = limit_ms * NS_PER_MS,
	    .answer_limit_ns = limit_ms * NS_PER_MS};
	const struct store_answer answer = {.outcome = OUTCOME_OK,
	    .sent_at = instant_plus(clock_now(), -sent_ms_ago * NS_PER_MS)};
	redis_watch_asked(watcher.watch, &request);
	redis_watch_answered(watcher.watch, &request, &answer);
}

void
watcher_run_until_looks(int looks)
{
	for (int i = 0; i < LIMIT_MS && watcher.looks < looks; i++)
		peer_run(&watcher.loop, 1);
	/* The answer is on its way. */
	peer_run(&watcher.loop, 3);
	CHECK_INT(watcher.looks, looks);
}

void
watcher_run_until_phase(enum watch_phase phase)
{
	for (int i = 0; i < LIMIT_MS && watcher.watch->phase != phase; i++)
		peer_run(&watcher.loop, 1);
	CHECK_INT(watcher.watch->phase, phase);
}

void
watcher_begin_to_watch(void)
{
	watcher_renew(1, LIMIT_MS);
	watcher_run_until_looks(1);
}

int
watcher_elapsed_ms(struct instant since)
{
	return (int)ms_from_ns(instant_between(since, clock_now()));
}

bool
watcher_open(void)
{
	return loop_open(&watcher.loop) == 0;
}
