/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* store/line: messages, whenever they come, and answers that nobody asked for while messages may
 * come: none of those is ever taken for the answer to a request. */
#include <stdio.h>
#include <string.h>

#include "line_bench.h"
#include "tap.h"

#define A_WHILE_MS 30
#define SAY_GRANTED TO_OWN("1", "G")
#define SUBSCRIBED "*3\r\n$9\r\nsubscribe\r\n$33\r\n" OWN "\r\n:1\r\n"
#define UNSUBSCRIBED "*3\r\n$11\r\nunsubscribe\r\n$33\r\n" OWN "\r\n:0\r\n"

/* Stands in line, and listens. */
static void
stand_in_line(void)
{
	line_bench_begin();
	bench_ask(STORE_ACQUIRE, OUTCOME_HELD);
	CHECK(bench.told.place.told);
	CHECK_INT(bench.woken, 0);
}

static void
run_until_woken(int times)
{
	for (int i = 0; i < LIMIT_MS && bench.woken < times; i++)
		peer_run(&bench.loop, 1);
	CHECK_INT(bench.woken, times);
}

static void
test_messages(void)
{
	static const struct {
		const char *what, *bytes;
		enum wake wake;
		int64_t left_ns;
	} rows[] = {
	    {"granted", SAY_GRANTED, WAKE_GRANTED, -1},
	    {"first, with 1.5 s left", TO_OWN("6", "H:1500"), WAKE_HEAD, 1500 * NS_PER_MS},
	    {"first, none left", TO_OWN("3", "H:0"), WAKE_HEAD, 0},
	    {"first, of a key that does not expire", TO_OWN("4", "H:-1"), WAKE_HEAD, -1},
	    {"changed", CHANGED, WAKE_CHANGED, -1},
	    {"changed, as when the database was emptied", MESSAGE("20\r\n" INVALIDATE, "$-1\r\n"),
		WAKE_CHANGED, -1},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		tap_case("a message while nothing is asked: %s", rows[i].what);
		stand_in_line();
		peer_say(&bench.peer, rows[i].bytes, 0);
		run_until_woken(1);
		CHECK_INT(bench.wake, rows[i].wake);
		CHECK_INT(bench.wake_left_ns, rows[i].left_ns);
		CHECK_INT(bench.answers, 1);
		CHECK_INT(bench.disturbances, 0);
		bench_end();
	}

	static const char *const ignored[] = {
	    TO_OWN("2", "H:"),
	    TO_OWN("1", "H"),
	    TO_OWN("2", "GG"),
	    TO_OWN("0", ""),
	    TO_OWN("4", "H:1x"),
	    TO_OWN("4", "H: 1"),
	    TO_OWN("4", "H:-2"),
	    TO_OWN("4", "H:-x"),
	    TO_OWN("18", "H:9223372036854775"),
	    TO_OWN("22", "H:99999999999999999999"),
	    MESSAGE("33\r\n" OWN, ":1\r\n"),
	    MESSAGE("33\r\n" OWN, "$-1\r\n"),
	    MESSAGE("33\r\n" OWN, "*1\r\n$1\r\nG\r\n"),
	    MESSAGE("5\r\nother", "$1\r\nG\r\n"),
	    "*3\r\n$7\r\nmessage\r\n:1\r\n$1\r\nG\r\n",
	    "*3\r\n$7\r\nmessage\r\n$-1\r\n$1\r\nG\r\n",
	};
	for (size_t i = 0; i < COUNT_OF(ignored); i++) {
		tap_case("a message that says nothing to us: row %zu", i + 1);
		stand_in_line();
		peer_say(&bench.peer, ignored[i], 0);
		peer_say(&bench.peer, SAY_GRANTED, 0);
		run_until_woken(1);
		CHECK_INT(bench.wake, WAKE_GRANTED);
		CHECK_INT(bench.disturbances, 0);
		bench_end();
	}
}

/* A message at each place among the answers to a request. */
static void
test_messages_among_answers(void)
{
	static const struct {
		enum store_verb verb;
		const char *answers[6];
	} rows[] = {
	    {STORE_ACQUIRE,
		{UNSUBSCRIBED, "+OK\r\n", "+QUEUED\r\n", "+QUEUED\r\n",
		    "*2\r\n" SUBSCRIBED GRANTED}},
	    {STORE_RENEW, {UNSUBSCRIBED, ":1\r\n"}},
	    {STORE_RELEASE, {UNSUBSCRIBED, ":1\r\n"}},
	};
	static const char *const messages[] = {SAY_GRANTED, TO_OWN("6", "H:1500"), CHANGED};
	for (size_t i = 0; i < COUNT_OF(rows) * COUNT_OF(messages); i++) {
		const char *const *answers = rows[i / COUNT_OF(messages)].answers;
		enum store_verb verb = rows[i / COUNT_OF(messages)].verb;
		const char *message = messages[i % COUNT_OF(messages)];
		for (int at = 0; at == 0 || answers[at - 1] != NULL; at++) {
			tap_case("verb %d: message %zu ahead of answer %d", (int)verb,
			    i % COUNT_OF(messages), at);
			stand_in_line();
			int evals = bench.evals;
			bench.peer.answer = NULL;
			bench_start(verb);
			for (int k = 0; k == 0 || answers[k - 1] != NULL; k++) {
				if (k == at)
					peer_say(&bench.peer, message, 0);
				if (answers[k] != NULL)
					peer_say(&bench.peer, answers[k], 0);
			}
			bench_check_answer(OUTCOME_OK);
			run_until_woken(1);
			CHECK_INT(bench.answers, 2);
			CHECK_INT(bench.evals, evals);
			CHECK_INT(bench.disturbances, 0);
			bench_end();
		}
	}

	tap_case("a message that was sent while we stop listening does not disturb the answer");
	stand_in_line();
	line_bench_say("UNSUBSCRIBE own", "");
	line_bench_say("EVAL renew", "");
	bench_start(STORE_RENEW);
	peer_run(&bench.loop, A_WHILE_MS);
	peer_say(&bench.peer, SAY_GRANTED UNSUBSCRIBED, 0);
	run_until_woken(1);
	CHECK_INT(bench.answers, 1);
	peer_say(&bench.peer, ":1\r\n", 0);
	bench_check_answer(OUTCOME_OK);
	bench_end();

	tap_case("half of a message when a request is sent");
	stand_in_line();
	peer_say(&bench.peer, SAY_GRANTED, sizeof SAY_GRANTED / 2);
	peer_run(&bench.loop, A_WHILE_MS);
	bench.peer.answer = NULL;
	bench_start(STORE_RENEW);
	peer_say(&bench.peer, &SAY_GRANTED[sizeof SAY_GRANTED / 2], 0);
	peer_say(&bench.peer, UNSUBSCRIBED ":1\r\n", 0);
	bench_check_answer(OUTCOME_OK);
	CHECK_INT(bench.woken, 1);
	bench_end();

	tap_case("a message in the middle of a login is no part of one");
	line_bench_begin();
	bench.time = NULL;
	bench_start(STORE_ACQUIRE);
	while (strstr(bench.peer.log, "TIME") == NULL)
		peer_run(&bench.loop, 1);
	peer_say(&bench.peer, SAY_GRANTED, 0);
	bench_check_answer(OUTCOME_REFUSED);
	CHECK_INT(bench.woken, 0);
	CHECK_INT(bench.evals, 0);
	bench_end();
}

/* -- answers to nothing ----------------------------------------------------------------------- */

static void
test_strays(void)
{
	static const char *const strays[] = {
	    ":1\r\n",
	    "+OK\r\n",
	    "+QUEUED\r\n",
	    "$-1\r\n",
	    "*-1\r\n",
	    GRANTED,
	    "*2\r\n" SUBSCRIBED GRANTED,
	    SUBSCRIBED,
	    "-ERR x\r\n",
	    "-ERR x\r\n:1\r\n",
	    "-BUSY x\r\n" GRANTED,
	    "*3\r\n$11\r\nunsubscribe\r\n$5\r\nother\r\n:0\r\n:1\r\n",
	    "*3\r\n$11\r\nunsubscribe\r\n$33\r\n" OWN "\r\n$1\r\n0\r\n:1\r\n",
	    "*3\r\n$10\r\npsubscribe\r\n$33\r\n" OWN "\r\n:1\r\n",
	    "-ERR x\r\n+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n" SUBSCRIBED GRANTED,
	};
	static const enum store_verb verbs[] = {STORE_RENEW, STORE_ACQUIRE, STORE_RELEASE};
	for (size_t i = 0; i < COUNT_OF(strays); i++) {
		tap_case("an answer to nothing while we listen: disturbed, row %zu", i + 1);
		stand_in_line();
		peer_say(&bench.peer, strays[i], 0);
		CHECK(peer_run_until(&bench.loop, &bench.disturbed, LIMIT_MS));
		peer_run(&bench.loop, A_WHILE_MS);
		CHECK_INT(bench.disturbances, 1);
		CHECK_INT(bench.answers, 1);
		CHECK_INT(bench.woken, 0);
		CHECK_INT(bench.peer.ended, 1);
		bench_end();

		for (size_t k = 0; k < COUNT_OF(verbs); k++) {
			tap_case("one that is older than verb %d is not its answer: row %zu",
			    (int)verbs[k], i + 1);
			stand_in_line();
			bench.eval = verbs[k] == STORE_ACQUIRE ? WAITING("0", "1") : ":1\r\n";
			/* It is in the socket already when the request is sent. */
			peer_say(&bench.peer, strays[i], 0);
			bench_start(verbs[k]);
			CHECK(peer_run_until(&bench.loop, &bench.answered, LIMIT_MS));
			CHECK(bench.told.outcome == OUTCOME_UNKNOWN ||
			    bench.told.outcome == OUTCOME_REFUSED);
			CHECK_INT(bench.answers, 2);
			peer_run(&bench.loop, A_WHILE_MS);
			CHECK_INT(bench.peer.ended, 1);
			bench_ask(verbs[k], verbs[k] == STORE_ACQUIRE ? OUTCOME_HELD : OUTCOME_OK);
			bench_end();
		}
	}

	tap_case("messages to one who does not listen are no answers");
	line_bench_begin();
	bench.wait = false;
	bench_ask(STORE_ACQUIRE, OUTCOME_HELD);
	bench.peer.answer = NULL;
	peer_say(&bench.peer, SAY_GRANTED, 0);
	bench_start_bounded(STORE_RENEW, LIMIT_MS, 60);
	CHECK(peer_run_until(&bench.loop, &bench.answered, LIMIT_MS));
	CHECK(bench.told.outcome != OUTCOME_OK && bench.told.outcome != OUTCOME_LOST);
	bench_end();
}

static void
test_nonsense(void)
{
	static const char *const answers[] = {"*-1\r\n", "*1\r\n" GRANTED,
	    "*3\r\n" SUBSCRIBED SUBSCRIBED GRANTED, "*0\r\n", "+OK\r\n", ":1\r\n",
	    "*2\r\n" SUBSCRIBED "+QUEUED\r\n", GRANTED};
	for (size_t i = 0; i < COUNT_OF(answers); i++) {
		tap_case("EXEC is answered with something else: unknown, row %zu", i + 1);
		line_bench_begin();
		line_bench_say("EXEC", answers[i]);
		bench_ask(STORE_ACQUIRE, OUTCOME_UNKNOWN);
		peer_run(&bench.loop, A_WHILE_MS);
		CHECK_INT(bench.peer.ended, 1);
		CHECK_INT(bench.answers, 1);
		line_bench_say("EXEC", NULL);
		bench_ask(STORE_ACQUIRE, OUTCOME_HELD);
		bench_end();
	}

	static const char *const names[] = {"MULTI", "SUBSCRIBE own", "EVAL wait"};
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		tap_case("%s is answered with something else: unknown", names[i]);
		line_bench_begin();
		line_bench_say(names[i], "+PONG\r\n");
		bench_ask(STORE_ACQUIRE, OUTCOME_UNKNOWN);
		bench_end();
	}

	tap_case("refused, and executed all the same: what it did is not known");
	line_bench_begin();
	line_bench_say("SUBSCRIBE own", "-BUSY x\r\n");
	line_bench_say("EXEC", "*1\r\n" GRANTED);
	bench_ask(STORE_ACQUIRE, OUTCOME_UNKNOWN);
	bench_end();
}

/* As Redis 6.0 has it. */
static void
test_change_in_answer(void)
{
	static const struct {
		const char *what, *rest;
		enum outcome outcome;
	} rows[] = {
	    {"granted", GRANTED, OUTCOME_OK},
	    {"in line", WAITING("0", "1"), OUTCOME_HELD},
	    {"an error", "-OOM command not allowed\r\n", OUTCOME_REFUSED},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		tap_case("a change by the script itself, told in its answer's place: %s",
		    rows[i].what);
		line_bench_begin();
		bench_ask(STORE_ACQUIRE, OUTCOME_HELD);
		bench.follow = true;
		line_bench_say("EXEC", "*2\r\n" SUBSCRIBED CHANGED);
		bench_start(STORE_ACQUIRE);
		peer_run(&bench.loop, A_WHILE_MS);
		CHECK_INT(bench.answers, 1);
		peer_say(&bench.peer, rows[i].rest, 0);
		bench_check_answer(rows[i].outcome);
		CHECK_INT(bench.answers, 2);
		line_bench_say("EXEC", NULL);
		bench_ask(STORE_ACQUIRE, OUTCOME_HELD);
		CHECK_INT(bench.peer.connections, 1);
		bench_end();
	}

	tap_case("the same where no key is followed: unknown");
	line_bench_begin();
	line_bench_say("EXEC", "*2\r\n" SUBSCRIBED CHANGED GRANTED);
	bench_ask(STORE_ACQUIRE, OUTCOME_UNKNOWN);
	bench_end();
}

/* -- a release in place of a join ------------------------------------------------------------- */

/* All of it is sent, and EXEC not answered yet. */
static void
release_in_place(void)
{
	line_bench_say("EXEC", "");
	bench_start(STORE_ACQUIRE);
	while (strstr(line_bench.log, "EXEC") == NULL)
		peer_run(&bench.loop, 1);
	line_bench.log[0] = '\0';
	line_bench_say("UNSUBSCRIBE own", "");
	line_bench_say("EVAL release", "");
	bench_start(STORE_RELEASE);
	peer_run(&bench.loop, A_WHILE_MS);
	line_bench_check_log("UNSUBSCRIBE own, EVAL release");
	CHECK_INT(bench.answers, 0);
}

static void
test_release_in_place(void)
{
	static const struct {
		const char *what, *exec;
	} rows[] = {
	    {"granted", "*2\r\n" SUBSCRIBED GRANTED},
	    {"in line", "*2\r\n" SUBSCRIBED WAITING("0", "1")},
	    {"in line, and granted just then", "*2\r\n" SUBSCRIBED WAITING("0", "1") SAY_GRANTED},
	    {"late", "*2\r\n" SUBSCRIBED LATE},
	    {"aborted", "-EXECABORT x\r\n"},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		tap_case("a release in place of a join that was %s: it alone is answered",
		    rows[i].what);
		line_bench_begin();
		release_in_place();
		peer_say(&bench.peer, rows[i].exec, 0);
		peer_run(&bench.loop, A_WHILE_MS);
		CHECK_INT(bench.answers, 0);
		peer_say(&bench.peer, UNSUBSCRIBED ":1\r\n", 0);
		bench_check_answer(OUTCOME_OK);
		CHECK_INT(bench.answers, 1);
		CHECK_INT(bench.peer.connections, 1);
		line_bench_say("EXEC", NULL);
		line_bench_say("UNSUBSCRIBE own", NULL);
		bench.eval = WAITING("0", "1");
		bench_ask(STORE_ACQUIRE, OUTCOME_HELD);
		CHECK(bench.told.place.told);
		bench_end();
	}

	tap_case("a join that was refused is not sent again when nobody waits for it");
	line_bench_begin();
	line_bench_say("SUBSCRIBE own", "-NOPERM x\r\n");
	release_in_place();
	peer_say(&bench.peer, "-EXECABORT x\r\n" UNSUBSCRIBED ":0\r\n", 0);
	bench_check_answer(OUTCOME_LOST);
	peer_run(&bench.loop, A_WHILE_MS);
	line_bench_check_log("");
	CHECK_INT(bench.answers, 1);
	bench_end();
}

int
main(void)
{
	if (!bench_open())
		return 1;
	test_messages();
	test_messages_among_answers();
	test_strays();
	test_nonsense();
	test_change_in_answer();
	test_release_in_place();
	return tap_end();
}
