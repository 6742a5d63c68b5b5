/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* store/line: connections that end, servers that are busy or hold a subscriber fast. */
#include <stdio.h>
#include <string.h>

#include "line_bench.h"
#include "tap.h"

/* A connection that ends at MULTI, without a word. */
static void
break_at_multi(void)
{
	static const char *const names[] = {"MULTI", "SUBSCRIBE own", "EVAL wait", "EXEC"};
	for (size_t i = 0; i < COUNT_OF(names); i++)
		line_bench_say(names[i], "");
	bench_start(STORE_ACQUIRE);
	for (int i = 0; i < LIMIT_MS && strstr(line_bench.log, "EXEC") == NULL; i++)
		peer_run(&bench.loop, 1);
	peer_hang_up(&bench.peer);
	bench_check_answer(OUTCOME_UNKNOWN);
	for (size_t i = 0; i < COUNT_OF(names); i++)
		line_bench_say(names[i], NULL);
	line_bench.log[0] = '\0';
}

static void
test_closed(void)
{
	tap_case("a proxy that hangs up at what it does not know, twice in a row: polls, says why");
	line_bench_begin();
	break_at_multi();
	break_at_multi();
	bench.eval = WAITING("1", "0");
	line_bench_ask(STORE_ACQUIRE, OUTCOME_HELD, "EVAL wait");
	line_bench_check_place(1, false, false);
	CHECK_HAS(bench.told.problem.text, "at MULTI");
	CHECK_HAS(bench.told.problem.text, "clos");
	line_bench_ask(STORE_ACQUIRE, OUTCOME_HELD, "EVAL wait");
	bench_end();

	tap_case("once is chance, as often as you like");
	line_bench_begin();
	for (int i = 0; i < 4; i++) {
		break_at_multi();
		line_bench_ask(STORE_ACQUIRE, OUTCOME_HELD, "CLIENT ID, " JOIN);
		line_bench_check_place(1, true, false);
		bench.disturbed = false;
		peer_hang_up(&bench.peer);
		CHECK(peer_run_until(&bench.loop, &bench.disturbed, LIMIT_MS));
	}
	bench_end();

	tap_case("so is a connection that ends behind MULTI, or before it");
	line_bench_begin();
	for (int i = 0; i < 4; i++) {
		line_bench_say("EXEC", "");
		bench_start(STORE_ACQUIRE);
		bench_run_until_evals(bench.evals + 1);
		peer_hang_up(&bench.peer);
		bench_check_answer(OUTCOME_UNKNOWN);
	}
	line_bench_say("EXEC", NULL);
	bench.confirm = true;
	line_bench_say("EVAL confirm", "");
	for (int i = 0; i < 4; i++) {
		line_bench.log[0] = '\0';
		bench_start(STORE_ACQUIRE);
		for (int k = 0; k < LIMIT_MS && strstr(line_bench.log, "confirm") == NULL; k++)
			peer_run(&bench.loop, 1);
		peer_hang_up(&bench.peer);
		bench_check_answer(OUTCOME_UNKNOWN);
	}
	bench.confirm = false;
	line_bench.log[0] = '\0';
	line_bench_ask(STORE_ACQUIRE, OUTCOME_HELD, "CLIENT ID, " JOIN);
	line_bench_check_place(1, true, false);
	bench_end();
}

/* -- what is not to be had now ---------------------------------------------------------------- */

static void
test_not_now(void)
{
	static const char *const words[] = {"LOADING", "BUSY", "MASTERDOWN", "OOM", "MOVED 1 h:1"};
	static const char *const names[] = {"MULTI", "SUBSCRIBE own", "EVAL wait", "EXEC"};
	for (size_t i = 0; i < COUNT_OF(words) * COUNT_OF(names); i++) {
		const char *word = words[i % COUNT_OF(words)], *name = names[i / COUNT_OF(words)];
		char answer[100];
		snprintf(answer, sizeof answer, "-%s not now\r\n", word);
		tap_case("%s to %s is the request's answer", word, name);
		line_bench_begin();
		line_bench_say(name, answer);
		line_bench_ask(STORE_ACQUIRE, OUTCOME_REFUSED, "CLIENT ID, " JOIN);
		CHECK_HAS(bench.told.problem.text, word);

		tap_case("%s to %s: and no reason to poll, on the same connection", word, name);
		line_bench_say(name, NULL);
		bench_ask(STORE_ACQUIRE, OUTCOME_HELD);
		CHECK_HAS(line_bench.log, JOIN);
		line_bench_check_place(1, true, false);
		CHECK_TEXT(bench.told.problem.text, "");
		CHECK_INT(bench.answers, 2);
		CHECK_INT(bench.peer.connections, 1);
		bench_end();
	}

	static const char *const niceties[] = {"CLIENT TRACKING", "CLIENT CACHING",
	    "EXISTS lock:job"};
	for (size_t i = 0; i < COUNT_OF(niceties); i++) {
		tap_case("BUSY to %s: followed the next time", niceties[i]);
		line_bench_begin();
		line_bench_ask(STORE_ACQUIRE, OUTCOME_HELD, "CLIENT ID, " JOIN);
		bench.follow = true;
		line_bench_say(niceties[i], "-BUSY not now\r\n");
		bench_ask(STORE_ACQUIRE, OUTCOME_HELD);
		line_bench_check_place(1, true, false);
		line_bench_say(niceties[i], NULL);
		bench_ask(STORE_ACQUIRE, OUTCOME_HELD);
		line_bench_check_place(1, true, true);
		bench_end();
	}

	tap_case("BUSY to CLIENT ID: asked again");
	line_bench_begin();
	line_bench_say("CLIENT ID", "-BUSY not now\r\n");
	line_bench_ask(STORE_ACQUIRE, OUTCOME_HELD, "CLIENT ID, " JOIN);
	line_bench_say("CLIENT ID", NULL);
	line_bench_ask(STORE_ACQUIRE, OUTCOME_HELD, "UNSUBSCRIBE own, CLIENT ID, " JOIN);
	bench_end();

	tap_case("an error of the script itself: as without a line");
	line_bench_begin();
	bench.eval = "-WRONGTYPE the key holds a list, not a lock\r\n";
	line_bench_ask(STORE_ACQUIRE, OUTCOME_REFUSED, "CLIENT ID, " JOIN);
	CHECK_HAS(bench.told.problem.text, "holds a list");
	bench.eval = "-NOPERM this user has no permissions to run the 'eval' command\r\n";
	line_bench_ask(STORE_ACQUIRE, OUTCOME_DENIED, "UNSUBSCRIBE own, " JOIN);
	bench_end();

	tap_case("MULTI was not to be had, but the script was executed: its answer counts");
	line_bench_begin();
	line_bench_say("MULTI", "-BUSY not now\r\n");
	line_bench_say("SUBSCRIBE own", "-BUSY not now\r\n");
	bench.eval = GRANTED;
	line_bench_ask(STORE_ACQUIRE, OUTCOME_OK, "CLIENT ID, " JOIN);
	CHECK_INT(bench.answers, 1);
	bench_end();

	tap_case("late: sent again, with all that belongs to it");
	line_bench_begin();
	bench.first_eval = LATE;
	line_bench_ask(STORE_ACQUIRE, OUTCOME_HELD, "CLIENT ID, " JOIN ", UNSUBSCRIBE own, " JOIN);
	CHECK_INT(bench.answers, 1);
	bench_end();
}

/* A server that runs a slow script answers UNSUBSCRIBE with BUSY, and goes on refusing everything
 * else when the script has ended: we are subscribed as before. */
static void
test_stuck(void)
{
	static const struct {
		enum store_verb verb;
		const char *eval;
		enum outcome outcome;
	} rows[] = {
	    {STORE_RENEW, ":1\r\n", OUTCOME_OK},
	    {STORE_RELEASE, ":1\r\n", OUTCOME_OK},
	    {STORE_ACQUIRE, WAITING("1", "1"), OUTCOME_HELD},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		tap_case("a busy server cannot be unsubscribed from: verb %d is refused",
		    (int)rows[i].verb);
		line_bench_begin();
		bench_ask(STORE_ACQUIRE, OUTCOME_HELD);
		bench.follow = true;
		bench_ask(STORE_ACQUIRE, OUTCOME_HELD);
		line_bench_say("UNSUBSCRIBE own", "-BUSY Redis is busy running a script.\r\n");
		bench_ask(rows[i].verb, OUTCOME_REFUSED);
		CHECK_HAS(bench.told.problem.text, "BUSY Redis is busy");

		tap_case("and verb %d succeeds as soon as it is not busy any more, told as ever",
		    (int)rows[i].verb);
		line_bench_say("UNSUBSCRIBE own", NULL);
		bench.eval = rows[i].eval;
		bench_ask(rows[i].verb, rows[i].outcome);
		bench.eval = WAITING("1", "1");
		bench_ask(STORE_ACQUIRE, OUTCOME_HELD);
		line_bench_check_place(1, true, rows[i].verb == STORE_ACQUIRE);
		CHECK_INT(bench.disturbances, 0);
		bench_end();
	}

	tap_case("a user who may subscribe, but not unsubscribe: on a new connection, without");
	line_bench_begin();
	bench_ask(STORE_ACQUIRE, OUTCOME_HELD);
	line_bench_say("UNSUBSCRIBE own", NOPERM);
	bench_ask(STORE_ACQUIRE, OUTCOME_REFUSED);
	bench.eval = WAITING("1", "0");
	line_bench.log[0] = '\0';
	line_bench_ask(STORE_ACQUIRE, OUTCOME_HELD, "EVAL wait");
	CHECK_HAS(bench.told.problem.text, "NOPERM");
	bench_end();
}

int
main(void)
{
	if (!bench_open())
		return 1;
	test_closed();
	test_not_now();
	test_stuck();
	return tap_end();
}
