/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* The bench of store/redis (redis_bench.h) with a server that knows what a waiter's connection
 * needs: transactions, subscriptions, tracking. It does as Redis 7 does, but for what a test wants
 * otherwise. */
#ifndef DLOCK_TESTS_LINE_BENCH_H
#define DLOCK_TESTS_LINE_BENCH_H

#include "redis_bench.h"

#define OWN "lock:job#queue{lock:job}:my-token"
#define INVALIDATE "__redis__:invalidate"
#define LINE_BENCH_WORDS 4

#define MESSAGE(channel, text) "*3\r\n$7\r\nmessage\r\n$" channel "\r\n" text
#define TO_OWN(length, text) MESSAGE("33\r\n" OWN, "$" length "\r\n" text "\r\n")
#define CHANGED MESSAGE("20\r\n" INVALIDATE, "*1\r\n$8\r\nlock:job\r\n")

/* The log of a request that stands in line; what comes before it when it is first; refusals. */
#define JOIN "MULTI, SUBSCRIBE own, EVAL wait, EXEC"
#define TRACKING "CLIENT TRACKING, CLIENT CACHING, EXISTS lock:job, "
#define UNKNOWN_COMMAND "-ERR unknown command\r\n"
#define NOPERM "-NOPERM this user has no permissions to run the command\r\n"

struct line_bench {
	/* What is said to a command of this name in the log: in place of what Redis would say. What
	 * begins with - was not done. "" is silence. */
	struct {
		const char *name, *answer;
	} says[LINE_BENCH_WORDS];
	const char *ahead; /* is said before the answer to the next EVAL or EXEC */

	/* The names of the commands since the last look: EVAL wait, UNSUBSCRIBE own, CLIENT ID. */
	char log[2048];

	/* Of the connection. */
	int connection;
	bool queues, dirty;
	bool own;         /* is subscribed to */
	const char *eval; /* what the EVAL in the transaction will say */
};

extern struct line_bench line_bench;

/* As bench_begin, with this server and a request that waits. */
void
line_bench_begin(void);

/* Says otherwise than Redis from now on; NULL: as Redis again. */
void
line_bench_say(const char *name, const char *answer);

/* Asks, checks the outcome, and that these commands, no more, were sent for it. */
void
line_bench_ask(enum store_verb verb, enum outcome outcome, const char *log);

/* What the last answer said of our place. */
void
line_bench_check_place(int64_t rank, bool told, bool followed);

/* Checks the commands, and forgets them. */
void
line_bench_check_log(const char *log);

#endif
