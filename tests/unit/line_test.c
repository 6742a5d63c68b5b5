/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* store/line: what is sent to stand in line, and what a server may refuse of it. */
#include <stdio.h>
#include <string.h>

#include "line_bench.h"
#include "tap.h"

/* -- what is sent ----------------------------------------------------------------------------- */

static void
test_pipelines(void)
{
	tap_case("to stand in line: subscribed and asked in one transaction");
	line_bench_begin();
	bench.ticket = 17;
	line_bench_ask(STORE_ACQUIRE, OUTCOME_HELD, "CLIENT ID, " JOIN);
	line_bench_check_place(1, true, false);
	CHECK_TEXT(bench.words[16], "17");
	CHECK_INT(bench.told.place.ticket, INT64_C(1764000000000001));
	CHECK_TEXT(bench.told.problem.text, "");

	tap_case("and again: no more listening first");
	line_bench_ask(STORE_ACQUIRE, OUTCOME_HELD, "UNSUBSCRIBE own, " JOIN);
	line_bench_check_place(1, true, false);

	tap_case("the first in line has the key followed, as the server numbered the connection");
	bench.follow = true;
	line_bench_ask(STORE_ACQUIRE, OUTCOME_HELD, "UNSUBSCRIBE own, " TRACKING JOIN);
	line_bench_check_place(1, true, true);
	CHECK_HAS(bench.peer.log, "CLIENT TRACKING ON REDIRECT 7 OPTIN NOLOOP; CLIENT CACHING YES");
	line_bench_ask(STORE_ACQUIRE, OUTCOME_HELD, "UNSUBSCRIBE own, " TRACKING JOIN);
	line_bench_check_place(1, true, true);

	tap_case("and not any more");
	bench.follow = false;
	line_bench_ask(STORE_ACQUIRE, OUTCOME_HELD, "UNSUBSCRIBE own, " JOIN);
	line_bench_check_place(1, true, false);
	bench.eval = GRANTED;
	line_bench_ask(STORE_ACQUIRE, OUTCOME_OK, "UNSUBSCRIBE own, " JOIN);

	tap_case("what a holder asks is alone in its pipeline, but for the first UNSUBSCRIBE");
	bench.eval = ":1\r\n";
	line_bench_ask(STORE_RENEW, OUTCOME_OK, "UNSUBSCRIBE own, EVAL renew");
	line_bench_ask(STORE_RENEW, OUTCOME_OK, "EVAL renew");
	line_bench_ask(STORE_RELEASE, OUTCOME_OK, "EVAL release");
	CHECK_INT(bench.peer.connections, 1);
	CHECK_INT(bench.woken, 0);
	CHECK_INT(bench.disturbances, 0);
	bench_end();

	tap_case("-n does not stand in line, and the first request follows nothing yet");
	line_bench_begin();
	bench.wait = false;
	bench.follow = true;
	bench.eval = BUSY;
	line_bench_ask(STORE_ACQUIRE, OUTCOME_HELD, "EVAL try");
	bench.wait = true;
	line_bench_ask(STORE_ACQUIRE, OUTCOME_HELD, "CLIENT ID, " JOIN);
	line_bench_check_place(-1, false, false);
	bench_end();
}

static void
test_confirm(void)
{
	tap_case("who was told that it is its turn confirms, and listens no more");
	line_bench_begin();
	line_bench_ask(STORE_ACQUIRE, OUTCOME_HELD, "CLIENT ID, " JOIN);
	bench.confirm = true;
	bench.eval = OWNED;
	line_bench_ask(STORE_ACQUIRE, OUTCOME_OK, "UNSUBSCRIBE own, EVAL confirm");
	CHECK_TEXT(bench.told.fence, "1764000000123458");
	line_bench_ask(STORE_ACQUIRE, OUTCOME_OK, "EVAL confirm");
	bench_end();

	tap_case("UNUSUAL: it stands in line, and is told as ever");
	line_bench_begin();
	line_bench_ask(STORE_ACQUIRE, OUTCOME_HELD, "CLIENT ID, " JOIN);
	bench.confirm = true;
	line_bench_say("EVAL confirm", UNUSUAL);
	line_bench_ask(STORE_ACQUIRE, OUTCOME_HELD, "UNSUBSCRIBE own, EVAL confirm, " JOIN);
	line_bench_check_place(1, true, false);
	CHECK_INT(bench.answers, 2);

	tap_case("an error is the answer, and nothing else is asked");
	line_bench_say("EVAL confirm", "-OOM command not allowed\r\n");
	line_bench_ask(STORE_ACQUIRE, OUTCOME_REFUSED, "UNSUBSCRIBE own, EVAL confirm");
	CHECK_INT(bench.peer.connections, 1);
	bench_end();
}

static void
test_reconnect(void)
{
	tap_case("a new connection begins with nothing");
	line_bench_begin();
	line_bench_ask(STORE_ACQUIRE, OUTCOME_HELD, "CLIENT ID, " JOIN);
	bench.follow = true;
	line_bench_ask(STORE_ACQUIRE, OUTCOME_HELD, "UNSUBSCRIBE own, " TRACKING JOIN);
	peer_hang_up(&bench.peer);
	CHECK(peer_run_until(&bench.loop, &bench.disturbed, LIMIT_MS));
	line_bench_ask(STORE_ACQUIRE, OUTCOME_HELD, "CLIENT ID, " JOIN);
	line_bench_check_place(1, true, false);

	tap_case("so it is when it breaks in the middle of a transaction");
	line_bench_say("EXEC", "");
	bench_start(STORE_ACQUIRE);
	bench_run_until_evals(bench.evals + 1);
	peer_hang_up(&bench.peer);
	bench_check_answer(OUTCOME_UNKNOWN);
	line_bench_say("EXEC", NULL);
	line_bench.log[0] = '\0';
	line_bench_ask(STORE_ACQUIRE, OUTCOME_HELD, "CLIENT ID, " JOIN);
	bench_end();
}

/* -- what is refused -------------------------------------------------------------------------- */

static void
test_no_push(void)
{
	static const struct {
		const char *what, *name, *answer, *log;
	} rows[] = {
	    {"may not SUBSCRIBE", "SUBSCRIBE own", NOPERM, "CLIENT ID, " JOIN ", EVAL wait"},
	    {"a channel is not permitted", "SUBSCRIBE own",
		"-NOPERM this user has no permissions to access one of the channels used as "
		"arguments\r\n",
		"CLIENT ID, " JOIN ", EVAL wait"},
	    {"a server without SUBSCRIBE", "SUBSCRIBE own", UNKNOWN_COMMAND,
		"CLIENT ID, " JOIN ", EVAL wait"},
	    {"one that does not queue it", "SUBSCRIBE own",
		"-ERR Command not allowed inside a transaction\r\n",
		"CLIENT ID, " JOIN ", EVAL wait"},
	    /* Here SUBSCRIBE is executed at once. */
	    {"may not MULTI", "MULTI", NOPERM, "CLIENT ID, " JOIN ", UNSUBSCRIBE own, EVAL wait"},
	    {"a proxy without MULTI", "MULTI", UNKNOWN_COMMAND,
		"CLIENT ID, " JOIN ", UNSUBSCRIBE own, EVAL wait"},
	    {"one that says so in its way", "MULTI", "-ERR not supported by this proxy\r\n",
		"CLIENT ID, " JOIN ", UNSUBSCRIBE own, EVAL wait"},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		tap_case("%s: in line without being told, and says why", rows[i].what);
		line_bench_begin();
		line_bench_say(rows[i].name, rows[i].answer);
		bench.eval = WAITING("0", "0");
		line_bench_ask(STORE_ACQUIRE, OUTCOME_HELD, rows[i].log);
		line_bench_check_place(0, false, false);
		CHECK_HAS(bench.told.problem.text, "the server says: ");
		CHECK_INT(bench.answers, 1);
		tap_case("%s: and it is not tried again, not on another connection either",
		    rows[i].what);
		bench.follow = true;
		line_bench_ask(STORE_ACQUIRE, OUTCOME_HELD, "EVAL wait");
		peer_hang_up(&bench.peer);
		CHECK(peer_run_until(&bench.loop, &bench.disturbed, LIMIT_MS));
		line_bench_ask(STORE_ACQUIRE, OUTCOME_HELD, "EVAL wait");
		CHECK_HAS(bench.told.problem.text, "the server says: ");
		bench_end();
	}

	tap_case("neither MULTI nor SUBSCRIBE: what was executed at once is not asked again");
	line_bench_begin();
	line_bench_say("MULTI", UNKNOWN_COMMAND);
	line_bench_say("SUBSCRIBE own", UNKNOWN_COMMAND);
	line_bench_say("UNSUBSCRIBE own", UNKNOWN_COMMAND);
	bench.eval = GRANTED;
	line_bench_ask(STORE_ACQUIRE, OUTCOME_OK, "CLIENT ID, " JOIN);
	bench.eval = ":1\r\n";
	bench_ask(STORE_RENEW, OUTCOME_OK);
	bench_ask(STORE_RENEW, OUTCOME_OK);
	CHECK_INT(bench.peer.connections, 1);
	bench_end();

	tap_case("a server that passes no messages on: polls, and joins no more");
	line_bench_begin();
	bench.eval = WAITING("3", "0");
	line_bench_ask(STORE_ACQUIRE, OUTCOME_HELD, "CLIENT ID, " JOIN);
	line_bench_check_place(3, false, false);
	CHECK_HAS(bench.told.problem.text, "no messages");
	line_bench_ask(STORE_ACQUIRE, OUTCOME_HELD, "UNSUBSCRIBE own, EVAL wait");
	line_bench_ask(STORE_ACQUIRE, OUTCOME_HELD, "EVAL wait");
	CHECK_HAS(bench.told.problem.text, "no messages");
	bench_end();
}

static void
test_no_tracking(void)
{
	static const char *const answers[] = {NOPERM, UNKNOWN_COMMAND,
	    "-ERR Unknown subcommand or wrong number of arguments for 'ID'\r\n", "+OK\r\n",
	    ":0\r\n"};
	for (size_t i = 0; i < COUNT_OF(answers); i++) {
		tap_case("no CLIENT ID: told all the same, without following: row %zu", i + 1);
		line_bench_begin();
		line_bench_say("CLIENT ID", answers[i]);
		line_bench_ask(STORE_ACQUIRE, OUTCOME_HELD, "CLIENT ID, " JOIN);
		line_bench_check_place(1, true, false);
		bench.follow = true;
		line_bench_ask(STORE_ACQUIRE, OUTCOME_HELD, "UNSUBSCRIBE own, " JOIN);
		line_bench_check_place(1, true, false);
		CHECK_TEXT(bench.told.problem.text, "");
		bench_end();
	}

	static const char *const names[] = {"CLIENT TRACKING", "CLIENT CACHING", "EXISTS lock:job"};
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		tap_case("%s is refused: told all the same, and it is not tried again", names[i]);
		line_bench_begin();
		line_bench_say(names[i], i == 0 ? UNKNOWN_COMMAND : NOPERM);
		line_bench_ask(STORE_ACQUIRE, OUTCOME_HELD, "CLIENT ID, " JOIN);
		bench.follow = true;
		line_bench_ask(STORE_ACQUIRE, OUTCOME_HELD, "UNSUBSCRIBE own, " TRACKING JOIN);
		line_bench_check_place(1, true, false);
		line_bench_ask(STORE_ACQUIRE, OUTCOME_HELD, "UNSUBSCRIBE own, " JOIN);
		line_bench_check_place(1, true, false);
		bench_end();
	}
}

int
main(void)
{
	if (!bench_open())
		return 1;
	test_pipelines();
	test_confirm();
	test_reconnect();
	test_no_push();
	test_no_tracking();
	return tap_end();
}
