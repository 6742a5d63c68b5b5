/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* store/redis: what it promises lock.c (lock/store.h), against a server that answers on command. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redis_bench.h"
#include "tap.h"

/* -- login ------------------------------------------------------------------------------------ */

static void
test_login(void)
{
	static const struct {
		const char *user, *password;
		int db;
		const char *begin;
	} rows[] = {
	    {"", NULL, 0, ""},
	    {"", "pw", 0, "AUTH pw; "},
	    {"ann", "pw", 0, "AUTH ann pw; "},
	    {"ann", "", 0, "AUTH ann ; "},
	    {"", "pw", 3, "AUTH pw; SELECT 3; "},
	    {"", NULL, 3, "SELECT 3; "},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		tap_case("login and then the script: %s", rows[i].begin);
		bench_begin();
		strcpy(bench.url.user, rows[i].user);
		struct kept_secret kept;
		if (rows[i].password != NULL &&
		    CHECK(secret_keep(&kept, rows[i].password, NULL) == 0))
			bench_use_password(&kept.source);
		bench.url.db = rows[i].db;
		bench_ask(STORE_ACQUIRE, OUTCOME_OK);
		const char *log = bench_login_log(rows[i].begin, "; EVAL");
		bench.peer.log[strlen(log)] = '\0';
		CHECK_TEXT(bench.peer.log, log);
		CHECK_INT(bench.answers, 1);
		bench_end();
	}
	tap_case("no script is sent before the login is answered");
	bench_begin();
	bench.time = NULL;
	bench_start(STORE_ACQUIRE);
	peer_run(&bench.loop, 30);
	CHECK_TEXT(bench.peer.log, bench_login_log("", ""));
	CHECK_INT(bench.answers, 0);
	peer_say(&bench.peer, TIME_ANSWER, 0);
	bench_check_answer(OUTCOME_OK);
	CHECK_INT(bench.evals, 1);
	bench_end();
}

static void
test_refused_logins(void)
{
	static const struct {
		const char *what;
		const char **step, *answer;
		enum outcome outcome;
	} rows[] = {
	    {"wrong password", &bench.auth, "-WRONGPASS invalid username-password pair\r\n",
		OUTCOME_DENIED},
	    {"no password wanted", &bench.auth, "-ERR Client sent AUTH, but no password is set\r\n",
		OUTCOME_DENIED},
	    {"no login", &bench.time, "-NOAUTH Authentication required.\r\n", OUTCOME_DENIED},
	    {"wrong db", &bench.select, "-ERR DB index is out of range\r\n", OUTCOME_REFUSED},
	    {"loading", &bench.time, "-LOADING Redis is loading the dataset in memory\r\n",
		OUTCOME_REFUSED},
	    {"garbage for TIME", &bench.time, "+OK\r\n", OUTCOME_REFUSED},
	    {"another status for AUTH", &bench.auth, "+PONG\r\n", OUTCOME_REFUSED},
	    {"a number for AUTH", &bench.auth, ":1\r\n", OUTCOME_REFUSED},
	    {"nil for SELECT", &bench.select, "$-1\r\n", OUTCOME_REFUSED},
	    {"an array for SELECT", &bench.select, "*1\r\n+OK\r\n", OUTCOME_REFUSED},
	    {"a string for SCRIPT EXISTS", &bench.exists, "$2\r\nOK\r\n", OUTCOME_REFUSED},
	    {"too few for SCRIPT EXISTS", &bench.exists, "*2\r\n:1\r\n:1\r\n", OUTCOME_REFUSED},
	    {"words for SCRIPT EXISTS", &bench.exists, "*3\r\n:1\r\n:1\r\n+OK\r\n",
		OUTCOME_REFUSED},
	    {"a string for CLIENT SETNAME", &bench.setname, "$2\r\nOK\r\n", OUTCOME_REFUSED},
	    {"more than OK for AUTH", &bench.auth, "+OKAY\r\n", OUTCOME_REFUSED},
	    {"no protocol", &bench.auth, "HTTP/1.1 400 Bad Request\r\n", OUTCOME_REFUSED},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		tap_case("a login that fails: %s", rows[i].what);
		bench_begin();
		strcpy(bench.url.user, "ann");
		struct kept_secret kept;
		CHECK(secret_keep(&kept, "hush", "the test") == 0);
		bench_use_password(&kept.source);
		bench.url.db = 3;
		*rows[i].step = rows[i].answer;
		bench_ask(STORE_ACQUIRE, rows[i].outcome);
		CHECK_INT(bench.evals, 0);
		CHECK(bench.told.problem.text[0] != '\0');
		CHECK_HAS_NOT(bench.told.problem.text, "hush");
		/* And it is closed: the next one begins anew. */
		peer_run(&bench.loop, 10);
		CHECK(bench.peer.fd < 0);
		bench_end();
	}
	tap_case("a refused CLIENT SETNAME does not matter");
	bench_begin();
	bench.setname =
	    "-NOPERM this user has no permissions to run the 'client|setname' command\r\n";
	bench_ask(STORE_ACQUIRE, OUTCOME_OK);
	bench_end();

	tap_case(
	    "a server that has too many clients says so and hangs up: refused, not unreachable");
	bench_begin();
	bench.setname = NULL;
	bench.exists = NULL;
	bench.time = NULL;
	bench_start(STORE_ACQUIRE);
	while (bench.peer.log[0] == '\0')
		peer_run(&bench.loop, 1);
	peer_say(&bench.peer, "-ERR max number of clients reached\r\n", 0);
	peer_hang_up(&bench.peer);
	bench_check_answer(OUTCOME_REFUSED);
	CHECK_HAS(bench.told.problem.text, "max number of clients");
	bench_end();
}

/* -- scripts ---------------------------------------------------------------------------------- */

static void
check_word(int at, const char *wanted)
{
	tap_note("argument %d", at);
	CHECK_TEXT(bench.words[at], wanted);
}

static void
test_scripts(void)
{
	tap_case("an acquire says all that the script needs, and its answer all that lock.c needs");
	bench_begin();
	struct instant before = clock_now();
	bench_start_bounded(STORE_ACQUIRE, LIMIT_MS, 10000);
	bench_check_answer(OUTCOME_OK);
	static const char *const acquire[] = {"5", "lock:job", "lock:job#fence{lock:job}",
	    "lock:job#info{lock:job}", "lock:job#queue{lock:job}", "lock:job#members{lock:job}",
	    "my-token", "30000", "try", "42", "clock"};
	CHECK_INT(bench.word_count, 20);
	for (int i = 0; i < (int)COUNT_OF(acquire); i++)
		check_word(i + 2, acquire[i]);
	static const char *const behind[] = {"host=me\n", "exclusive", "0", "-1", "", ""};
	for (int i = 0; i < (int)COUNT_OF(behind); i++)
		check_word(i + 14, behind[i]);
	tap_note("%s", "");
	/* Not after: the server's time at login, what has passed since, and the limit, 10 s. */
	int64_t not_after = strtoll(bench.words[13], NULL, 10);
	CHECK(not_after >= INT64_C(1764000010123456) && not_after < INT64_C(1764000019123456));
	CHECK_TEXT(bench.told.fence, "1764000000123457");
	CHECK_INT(bench.told.slot, 2);
	CHECK(bench.told.sent_at.ns >= before.ns &&
	    bench.told.sent_at.ns <= bench.told.received_at.ns);
	CHECK(bench.told.received_at.ns <= clock_now().ns);

	tap_case("the next request goes on the same connection");
	bench.eval = ":1\r\n";
	bench_ask(STORE_RENEW, OUTCOME_OK);
	CHECK_INT(bench.word_count, 6);
	check_word(2, "1");
	check_word(3, "lock:job");
	check_word(4, "my-token");
	check_word(5, "30000");
	bench_ask(STORE_RELEASE, OUTCOME_OK);
	CHECK_INT(bench.word_count, 10);
	for (int i = 0; i < 7; i++)
		check_word(i + 2, acquire[i]);
	check_word(9, "7000");
	tap_note("%s", "");
	bench.eval = BUSY;
	bench_ask(STORE_LOOK, OUTCOME_HELD);
	CHECK_TEXT(bench.words[10], "look");
	CHECK_TEXT(bench.told.holder.token, "abc");
	bench_ask(STORE_TOUCH, OUTCOME_LOST);
	CHECK_TEXT(bench.words[10], "touch");
	CHECK(!bench.told.gone);
	bench.eval = FREE;
	bench_ask(STORE_TOUCH, OUTCOME_LOST);
	CHECK(bench.told.gone);
	CHECK_INT(bench.peer.connections, 1);
	CHECK_INT(bench.disturbances, 0);
	bench_end();

	tap_case("what belongs to waiting and to sharing is said, too");
	bench_begin();
	bench.settings.mode = "slots:4";
	bench.settings.max_waiters = 12;
	bench.settings.fence_mode = FENCE_COUNTER;
	bench.ticket = 1764000000000009;
	bench_ask(STORE_ACQUIRE, OUTCOME_OK);
	CHECK_TEXT(bench.words[10], "try");
	CHECK_TEXT(bench.words[12], "counter");
	CHECK_TEXT(bench.words[15], "slots:4");
	CHECK_TEXT(bench.words[16], "1764000000000009");
	CHECK_TEXT(bench.words[17], "12");
	CHECK_TEXT(bench.words[18], "");

	tap_case("one of several is renewed as a member");
	bench.eval = ":1\r\n";
	bench_ask(STORE_RENEW, OUTCOME_OK);
	static const char *const member[] = {"2", "lock:job", "lock:job#members{lock:job}",
	    "my-token", "30000", "dlock!slots:4"};
	CHECK_INT(bench.word_count, 8);
	for (int i = 0; i < (int)COUNT_OF(member); i++)
		check_word(i + 2, member[i]);
	tap_note("%s", "");
	bench_end();

	static const struct {
		const char *token;
		bool ours;
	} broken[] = {
	    {"$21\r\ndlock!broken:my-token\r\n", true},
	    {"$19\r\ndlock!done:my-token\r\n", false},
	    {"$8\r\nmy-token\r\n", false},
	    {"$24\r\ndlock!broken:not-my-toke\r\n", false},
	    {"$21\r\ndlock!broken:My-token\r\n", false},
	};
	for (size_t i = 0; i < COUNT_OF(broken); i++) {
		char answer[200];
		tap_case("whose broken lock it is: row %zu", i + 1);
		bench_begin();
		snprintf(answer, sizeof answer,
		    "*8\r\n$4\r\nBUSY\r\n:1200\r\n" NOW_TEXT "%s$0\r\n\r\n:-1\r\n$1\r\n0\r\n:0\r\n",
		    broken[i].token);
		bench.eval = answer;
		bench_ask(STORE_LOOK, OUTCOME_HELD);
		CHECK_INT(bench.told.holder.ours, broken[i].ours);
		bench_end();
	}

	tap_case("LATE is sent again with a new not-after");
	bench_begin();
	bench.first_eval = LATE;
	bench_ask(STORE_ACQUIRE, OUTCOME_OK);
	int64_t first = strtoll(bench.first_not_after, NULL, 10);
	CHECK_INT(bench.evals, 2);
	/* From the time in the answer, not from that at login. */
	int64_t later = strtoll(bench.words[13], NULL, 10) - first;
	CHECK(later > INT64_C(450000000) && later < INT64_C(550000000));
	CHECK_INT(bench.answers, 1);

	tap_case("each request may be late anew");
	for (int i = 0; i < 4; i++) {
		bench.evals = 0;
		bench_ask(STORE_ACQUIRE, OUTCOME_OK);
		CHECK_INT(bench.evals, 2);
	}
	bench_end();

	tap_case("LATE without end is an answer that was lost, no conflict");
	bench_begin();
	bench.eval = LATE;
	bench_ask(STORE_ACQUIRE, OUTCOME_UNKNOWN);
	CHECK(bench.evals >= 2 && bench.evals <= 5);
	CHECK(bench.told.problem.text[0] != '\0');
	bench_end();
}

/* -- who has been told that it holds the lock ------------------------------------------------- */

static void
test_confirm(void)
{
	static const char *const confirm[] = {"4", "lock:job", "lock:job#fence{lock:job}",
	    "lock:job#info{lock:job}", "lock:job#queue{lock:job}", "my-token", "30000", "42",
	    "clock"};
	tap_case("who has been told of its grant confirms it by a short script, and alone");
	bench_begin();
	bench.wait = bench.confirm = true;
	bench.eval = OWNED;
	bench_ask(STORE_ACQUIRE, OUTCOME_OK);
	CHECK_INT(bench.word_count, 13);
	for (int i = 0; i < (int)COUNT_OF(confirm); i++)
		check_word(i + 2, confirm[i]);
	check_word(12, "host=me\n");
	tap_note("%s", "");
	/* Not after, as of an acquire: the server's time at login, and the limit. */
	CHECK(strtoll(bench.words[11], NULL, 10) > INT64_C(1764000000123456));
	CHECK(strlen(bench.words[1]) < 2000);
	CHECK_TEXT(bench.told.fence, "1764000000123458");
	CHECK_INT(bench.told.slot, 0);
	CHECK_INT(bench.evals, 1);
	bench.settings.fence_mode = FENCE_COUNTER;
	bench_ask(STORE_ACQUIRE, OUTCOME_OK);
	check_word(10, "counter");
	tap_note("%s", "");

	tap_case("it alone has a short one");
	bench.eval = ":1\r\n";
	bench_ask(STORE_RENEW, OUTCOME_OK);
	CHECK_INT(bench.word_count, 6);
	bench_ask(STORE_RELEASE, OUTCOME_OK);
	CHECK_INT(bench.word_count, 10);
	bench.eval = OWNED;
	bench_ask(STORE_TOUCH, OUTCOME_OK);
	CHECK_TEXT(bench.words[10], "touch");
	bench.eval = FREE;
	bench_ask(STORE_LOOK, OUTCOME_OK);
	CHECK_TEXT(bench.words[10], "look");
	bench_end();

	static const char *const modes[] = {"shared", "slots:1", "slots:4"};
	for (size_t i = 0; i < COUNT_OF(modes); i++) {
		tap_case("%s: the whole script", modes[i]);
		bench_begin();
		bench.settings.mode = modes[i];
		bench.confirm = true;
		bench_ask(STORE_ACQUIRE, OUTCOME_OK);
		CHECK_INT(bench.word_count, 20);
		CHECK_INT(bench.evals, 1);
		bench_end();
	}
}

static void
test_unusual(void)
{
	static const struct {
		const char *eval;
		enum outcome outcome;
	} rows[] = {{OWNED, OUTCOME_OK}, {BUSY, OUTCOME_HELD},
	    {"-WRONGTYPE x\r\n", OUTCOME_REFUSED}};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		tap_case("UNUSUAL: the whole script says what it is: row %zu", i + 1);
		bench_begin();
		bench.confirm = true;
		bench.first_eval = UNUSUAL;
		bench.eval = rows[i].eval;
		bench_ask(STORE_ACQUIRE, rows[i].outcome);
		CHECK_INT(bench.evals, 2);
		CHECK_INT(bench.word_count, 20);
		CHECK_TEXT(bench.words[10], "try");
		/* Not after: by the clock that came with it. */
		CHECK(strtoll(bench.words[13], NULL, 10) >= INT64_C(1764000500000000));
		CHECK_INT(bench.answers, 1);
		bench_end();
	}

	tap_case("UNUSUAL without end is an answer that was lost, no conflict");
	bench_begin();
	bench.confirm = true;
	bench.eval = UNUSUAL;
	bench_ask(STORE_ACQUIRE, OUTCOME_UNKNOWN);
	CHECK(bench.evals >= 2 && bench.evals <= 5);
	CHECK(bench.told.problem.text[0] != '\0');
	bench_end();
}

int
main(void)
{
	if (!bench_open())
		return 1;
	test_login();
	test_refused_logins();
	test_scripts();
	test_confirm();
	test_unusual();
	return tap_end();
}
