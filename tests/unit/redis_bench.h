/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* store/redis on a bench: a store, a server that says what the test wants, and what lock.c would be
 * told. */
#ifndef DLOCK_TESTS_REDIS_BENCH_H
#define DLOCK_TESTS_REDIS_BENCH_H

#include "peer.h"
#include "store/redis.h"

#define LIMIT_MS 20000
#define TIME_ANSWER "*2\r\n$10\r\n1764000000\r\n$6\r\n123456\r\n"
#define NOW_TEXT "$16\r\n1764000000200000\r\n"
#define GRANTED "*4\r\n$7\r\nGRANTED\r\n$16\r\n1764000000123457\r\n" NOW_TEXT ":2\r\n"
/* From a server whose clock is 500 s ahead of what it said at login. */
#define LATE "*3\r\n$4\r\nLATE\r\n:0\r\n$16\r\n1764000500000000\r\n"
#define OWNED "*4\r\n$5\r\nOWNED\r\n$16\r\n1764000000123458\r\n" NOW_TEXT ":0\r\n"
/* To the short script, of the same clock. */
#define UNUSUAL "*3\r\n$7\r\nUNUSUAL\r\n:0\r\n$16\r\n1764000500000000\r\n"
/* To SCRIPT EXISTS: acquire, confirm, release. */
#define KNOWN(acquire, confirm, release) "*3\r\n:" acquire "\r\n:" confirm "\r\n:" release "\r\n"
#define FREE "*3\r\n$4\r\nFREE\r\n:0\r\n" NOW_TEXT
#define WAITING(rank, told)                                                                        \
	"*8\r\n$4\r\nBUSY\r\n:1200\r\n" NOW_TEXT "$3\r\nabc\r\n$0\r\n\r\n:" rank                   \
	"\r\n$16\r\n1764000000000001\r\n:" told "\r\n"
#define BUSY                                                                                       \
	"*8\r\n$4\r\nBUSY\r\n:1200\r\n" NOW_TEXT "$3\r\nabc\r\n$0\r\n\r\n:-1\r\n$1\r\n0\r\n:0\r\n"

struct redis_bench {
	struct loop loop;
	struct peer peer;
	struct url url;
	struct keys keys;
	struct redis_settings settings;
	struct store *store;

	/* What the server says; NULL: nothing. */
	const char *auth, *select, *setname, *exists, *time;
	const char *eval, *first_eval; /* to the first script, if that is another */
	const char *replicas;          /* to WAIT */

	/* Of what is asked. */
	bool wait, follow, confirm, undo;
	int64_t ticket;

	/* What came. */
	int evals;
	int ways[64];                 /* how many connections there had been at each */
	char words[PEER_WORDS][4096]; /* of the last script */
	int word_count;
	char first_not_after[32];
	struct store_answer told;
	int answers, disturbances, woken;
	enum wake wake; /* the last one */
	int64_t wake_left_ns;
	bool answered, disturbed;
};

extern struct redis_bench bench;

/* Once; then around each case. All is friendly at first. */
bool
bench_open(void);
void
bench_begin(void);
void
bench_end(void);

/* The server: what it says to a command of the login, and to EVAL. */
const char *
bench_answer_command(struct peer *peer, const struct peer_command *command);

/* After bench_begin: logs in with this source's password; NULL: with none. */
void
bench_use_password(struct secret_source *source);

/* What a login that begins so, and what follows it, is in the peer's log; valid until the next
 * call. */
const char *
bench_login_log(const char *begin, const char *next);

/* Starts a request with these limits, in ms; one that does not end by its limits; one that may be
 * sent until `not_later`. */
void
bench_start_bounded(enum store_verb verb, int64_t connect_ms, int64_t answer_ms);
void
bench_start(enum store_verb verb);
void
bench_start_not_later(enum store_verb verb, struct instant not_later);

/* Turns the loop until there is an answer, and checks its outcome. */
void
bench_check_answer(enum outcome outcome);

/* Both. */
void
bench_ask(enum store_verb verb, enum outcome outcome);

/* Turns the loop until the server has got that many scripts. */
void
bench_run_until_evals(int evals);

#endif
