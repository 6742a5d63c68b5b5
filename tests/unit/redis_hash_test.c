/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* store/redis: scripts that are named by their hashes, and by their text where that will not do. */
#include <stdio.h>
#include <string.h>

#include "line_bench.h"
#include "store/redis_request.h"
#include "tap.h"

#define JOIN_BY_HASH "MULTI, SUBSCRIBE own, EVALSHA wait, EXEC"
#define LEAVE "UNSUBSCRIBE own, "

static void
begin(void)
{
	line_bench_begin();
	bench.exists = KNOWN("1", "1", "1");
}

static void
check_hash(int which)
{
	CHECK_TEXT(bench.words[1], redis_request_hashes()[which]);
}

static void
test_known(void)
{
	tap_case("what the server knows is named by its hash");
	begin();
	line_bench_ask(STORE_ACQUIRE, OUTCOME_HELD, "CLIENT ID, " JOIN_BY_HASH);
	check_hash(0);
	CHECK_TEXT(bench.words[3], "lock:job");
	bench.confirm = true;
	bench.eval = GRANTED;
	line_bench_ask(STORE_ACQUIRE, OUTCOME_OK, LEAVE "EVALSHA confirm");
	check_hash(1);
	bench.eval = ":1\r\n";
	line_bench_ask(STORE_RELEASE, OUTCOME_OK, "EVALSHA release");
	check_hash(2);

	tap_case("but a renewal has no time for a second try, and is short anyway");
	line_bench_ask(STORE_RENEW, OUTCOME_OK, "EVAL renew");
	bench.eval = "*4\r\n$5\r\nOWNED\r\n$16\r\n1764000000000001\r\n" NOW_TEXT ":0\r\n";
	line_bench_ask(STORE_TOUCH, OUTCOME_OK, "EVAL touch");
	bench_end();

	tap_case("nor has what undoes: it gets through, should nobody be left to send it again");
	begin();
	bench.undo = true;
	bench.eval = ":1\r\n";
	line_bench_ask(STORE_RELEASE, OUTCOME_OK, "EVAL release");
	bench_end();

	tap_case("what it does not know, and that alone, is sent as text");
	begin();
	bench.exists = KNOWN("1", "0", "0");
	line_bench_ask(STORE_ACQUIRE, OUTCOME_HELD, "CLIENT ID, " JOIN_BY_HASH);
	bench.eval = ":1\r\n";
	line_bench_ask(STORE_RELEASE, OUTCOME_OK, LEAVE "EVAL release");

	tap_case("the next connection is asked anew");
	bench.exists = KNOWN("0", "0", "1");
	bench.disturbed = false;
	peer_hang_up(&bench.peer);
	CHECK(peer_run_until(&bench.loop, &bench.disturbed, LIMIT_MS));
	line_bench_ask(STORE_RELEASE, OUTCOME_OK, "EVALSHA release");
	bench.eval = WAITING("1", "1");
	line_bench_ask(STORE_ACQUIRE, OUTCOME_HELD, "CLIENT ID, " JOIN);
	bench_end();

	tap_case("a user who may not ask for them, or a server that knows no SCRIPT: text");
	begin();
	bench.exists =
	    "-NOPERM this user has no permissions to run the 'script|exists' command\r\n";
	line_bench_ask(STORE_ACQUIRE, OUTCOME_HELD, "CLIENT ID, " JOIN);
	bench_end();
}

/* Three ways to be told that a script named so was not executed. */
static void
test_not_executed(void)
{
	static const char *const answers[] = {
	    "-NOSCRIPT No matching script. Please use EVAL.\r\n",
	    "-NOPERM this user has no permissions to run the 'evalsha' command\r\n",
	    "-ERR unknown command 'EVALSHA', with args beginning with: 'x' \r\n",
	};
	for (size_t i = 0; i < COUNT_OF(answers); i++) {
		tap_case("alone: sent as text, and from then on: %s", answers[i]);
		begin();
		bench.confirm = true;
		bench.eval = GRANTED;
		line_bench_say("EVALSHA confirm", answers[i]);
		line_bench_ask(STORE_ACQUIRE, OUTCOME_OK, "EVALSHA confirm, EVAL confirm");
		CHECK_INT(bench.answers, 1);
		bench.eval = ":1\r\n";
		line_bench_ask(STORE_RELEASE, OUTCOME_OK, "EVAL release");
		bench_end();
	}
	for (size_t i = 1; i < COUNT_OF(answers); i++) {
		tap_case("refused in a transaction: it is sent again, as text: %s", answers[i]);
		begin();
		line_bench_say("EVALSHA wait", answers[i]);
		line_bench_ask(STORE_ACQUIRE, OUTCOME_HELD, "CLIENT ID, " JOIN_BY_HASH ", " JOIN);
		line_bench_check_place(1, true, false);
		CHECK_INT(bench.peer.connections, 1);
		bench_end();
	}
	tap_case("NOSCRIPT in the answer to EXEC: we listen already, and stand in line as text");
	begin();
	bench.first_eval = answers[0];
	line_bench_ask(STORE_ACQUIRE, OUTCOME_HELD, "CLIENT ID, " JOIN_BY_HASH ", " LEAVE JOIN);
	line_bench_check_place(1, true, false);
	CHECK_INT(bench.peer.connections, 1);
	CHECK_INT(bench.answers, 1);
	bench_end();
}

static void
test_others(void)
{
	tap_case("another error is an answer");
	begin();
	bench.confirm = true;
	line_bench_say("EVALSHA confirm", "-OOM command not allowed\r\n");
	line_bench_ask(STORE_ACQUIRE, OUTCOME_REFUSED, "EVALSHA confirm");
	bench_end();

	tap_case("NOSCRIPT to the text is an answer: no server goes round in circles with us");
	begin();
	bench.confirm = true;
	line_bench_say("EVALSHA confirm", "-NOSCRIPT no\r\n");
	line_bench_say("EVAL confirm", "-NOSCRIPT no\r\n");
	line_bench_ask(STORE_ACQUIRE, OUTCOME_REFUSED, "EVALSHA confirm, EVAL confirm");
	bench_end();

	tap_case(
	    "a proxy that hangs up, or says nothing, when it sees a hash: text, the next time");
	begin();
	bench.confirm = true;
	bench.eval = GRANTED;
	line_bench_say("EVALSHA confirm", "");
	bench_start_bounded(STORE_ACQUIRE, 1000, 30);
	bench_check_answer(OUTCOME_UNKNOWN);
	line_bench.log[0] = '\0';
	line_bench_ask(STORE_ACQUIRE, OUTCOME_OK, "EVAL confirm");
	bench_end();

	tap_case(
	    "the release takes the place of an acquire whose hash was not known: text, and once");
	begin();
	bench.undo = true;
	line_bench_say("EXEC", "");
	bench_start(STORE_ACQUIRE);
	for (int i = 0; i < LIMIT_MS && strstr(line_bench.log, "EXEC") == NULL; i++)
		peer_run(&bench.loop, 1);
	line_bench_say("EXEC", NULL);
	line_bench.queues = false;
	line_bench.log[0] = '\0';
	bench.eval = ":1\r\n";
	bench_start(STORE_RELEASE);
	peer_say(&bench.peer,
	    "*2\r\n*3\r\n$9\r\nsubscribe\r\n$33\r\n" OWN
	    "\r\n:1\r\n-NOSCRIPT No matching script.\r\n",
	    0);
	bench_check_answer(OUTCOME_OK);
	CHECK_TEXT(line_bench.log, LEAVE "EVAL release");
	CHECK_INT(bench.answers, 1);
	bench_end();
}

int
main(void)
{
	if (!bench_open())
		return 1;
	test_known();
	test_not_executed();
	test_others();
	return tap_end();
}
