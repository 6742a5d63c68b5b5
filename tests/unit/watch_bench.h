/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* store/redis_watch on a bench: a watch, and a server that says what the test wants. */
#ifndef DLOCK_TESTS_WATCH_BENCH_H
#define DLOCK_TESTS_WATCH_BENCH_H

#include "peer.h"
#include "store/redis_watch.h"

#define LIMIT_MS 20000
#define TIME_ANSWER "*2\r\n$10\r\n1764000000\r\n$6\r\n123456\r\n"
#define SUBSCRIBED "*3\r\n$9\r\nsubscribe\r\n$8\r\nlock:job\r\n:1\r\n"
#define OURS "*2\r\n$8\r\nmy-token\r\n" SUBSCRIBED
#define STOLEN "*2\r\n$5\r\nother\r\n" SUBSCRIBED
#define GONE "*2\r\n$-1\r\n" SUBSCRIBED
#define NO_STRING "*2\r\n-WRONGTYPE Operation against a key\r\n" SUBSCRIBED
#define MEMBERS "lock:job#members{lock:job}"
#define PUSH "*3\r\n$7\r\nmessage\r\n$20\r\n__redis__:invalidate\r\n*1\r\n$8\r\nlock:job\r\n"
#define PUSH_OF_ALL "*3\r\n$7\r\nmessage\r\n$20\r\n__redis__:invalidate\r\n$-1\r\n"
#define LOOK "UNSUBSCRIBE lock:job; MULTI; GET lock:job; SUBSCRIBE lock:job; EXEC"

struct watcher {
	struct loop loop;
	struct peer peer;
	struct url url;
	struct keys keys;
	struct redis_settings settings;
	struct redis_watch *watch;

	/* What the server says; NULL: nothing. */
	const char *time, *id, *tracking, *unsubscribe, *multi, *get, *score, *subscribe, *exec;
	int looks;
	int alarms;
	bool alarmed;
};

extern struct watcher watcher;

/* Once; then around each case. All is friendly at first, and the lock exclusive. */
bool
watcher_open(void);
void
watcher_begin(void);
void
watcher_begin_with_mode(const char *mode);
void
watcher_end(void);

/* A renewal that was sent so long ago has just been confirmed; requests have `limit_ms`. */
void
watcher_renew(int sent_ms_ago, int limit_ms);

/* The first one, until the first look has been answered. */
void
watcher_begin_to_watch(void);

/* Turns the loop until there were so many looks; until that phase is reached. */
void
watcher_run_until_looks(int looks);
void
watcher_run_until_phase(enum watch_phase phase);

int
watcher_elapsed_ms(struct instant since);

#endif
