/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* store/redis: connections that fail, answers that do not come, releases that take the place of
 * what is under way (lock/store.h). */
#include <string.h>

#include "redis_bench.h"
#include "tap.h"

/* Long enough for whatever is still to come. */
#define A_WHILE_MS 40

static void
log_in(void)
{
	bench_begin();
	bench.eval = ":1\r\n";
	bench_ask(STORE_RENEW, OUTCOME_OK);
	CHECK_INT(bench.peer.connections, 1);
	CHECK_INT(bench.evals, 1);
}

static void
test_before_sending(void)
{
	tap_case("nobody listens: unreachable, with the reason");
	bench_begin();
	peer_refuse(&bench.peer);
	bench_ask(STORE_ACQUIRE, OUTCOME_UNREACHABLE);
	CHECK(bench.told.problem.text[0] != '\0');
	bench_end();

	tap_case(
	    "a login that is not answered is unreachable at the connect limit: nothing was sent");
	bench_begin();
	bench.setname = NULL;
	bench.exists = NULL;
	bench.time = NULL;
	struct instant start = clock_now();
	bench_start_bounded(STORE_ACQUIRE, 60, LIMIT_MS);
	bench_check_answer(OUTCOME_UNREACHABLE);
	CHECK(instant_between(start, clock_now()) >= 60 * NS_PER_MS);
	CHECK_INT(bench.evals, 0);
	peer_run(&bench.loop, A_WHILE_MS);
	CHECK_INT(bench.peer.ended, 1);
	bench_end();

	tap_case("one that is answered in part is not: somebody is there, and is no good");
	bench_begin();
	bench.time = NULL;
	bench_start_bounded(STORE_ACQUIRE, 60, LIMIT_MS);
	bench_check_answer(OUTCOME_REFUSED);
	bench_end();

	static const char *const setname[] = {NULL, "+OK\r\n"};
	for (size_t i = 0; i < COUNT_OF(setname); i++) {
		tap_case("cut %s the login was answered: %s", i == 0 ? "before" : "while",
		    i == 0 ? "unreachable" : "refused");
		bench_begin();
		bench.setname = setname[i];
		bench.exists = NULL;
		bench.time = NULL;
		bench_start(STORE_ACQUIRE);
		for (int k = 0; k < LIMIT_MS && bench.peer.log[0] == '\0'; k++)
			peer_run(&bench.loop, 1);
		peer_run(&bench.loop, A_WHILE_MS);
		peer_hang_up(&bench.peer);
		bench_check_answer(i == 0 ? OUTCOME_UNREACHABLE : OUTCOME_REFUSED);
		bench_end();
	}

	tap_case("S82: from not_later on nothing is sent, on a connection that is there");
	log_in();
	bench_start_not_later(STORE_RENEW, clock_now());
	bench_check_answer(OUTCOME_UNREACHABLE);
	peer_run(&bench.loop, A_WHILE_MS);
	CHECK_INT(bench.evals, 1);
	/* And the connection is as good as before. */
	bench_ask(STORE_RENEW, OUTCOME_OK);
	CHECK_INT(bench.peer.connections, 1);
	CHECK_INT(bench.disturbances, 0);
	bench_end();

	tap_case("nor when that time comes while it connects");
	bench_begin();
	bench.time = NULL;
	bench_start_not_later(STORE_RENEW, instant_plus(clock_now(), 20 * NS_PER_MS));
	for (int i = 0; i < LIMIT_MS && bench.peer.log[0] == '\0'; i++)
		peer_run(&bench.loop, 1);
	peer_run(&bench.loop, A_WHILE_MS);
	peer_say(&bench.peer, TIME_ANSWER, 0);
	bench_check_answer(OUTCOME_UNREACHABLE);
	peer_run(&bench.loop, A_WHILE_MS);
	CHECK_INT(bench.evals, 0);
	CHECK_INT(bench.answers, 1);
	bench_end();
}

static void
test_after_sending(void)
{
	static const enum store_verb verbs[] = {STORE_ACQUIRE, STORE_RENEW, STORE_TOUCH,
	    STORE_RELEASE, STORE_LOOK};
	for (size_t i = 0; i < COUNT_OF(verbs); i++) {
		tap_case("verb %d: an answer that does not come is unknown at its limit",
		    (int)verbs[i]);
		bench_begin();
		bench.eval = NULL;
		bench_start_bounded(verbs[i], LIMIT_MS, 60);
		bench_check_answer(OUTCOME_UNKNOWN);
		CHECK(
		    instant_between(bench.told.sent_at, bench.told.received_at) >= 60 * NS_PER_MS);

		tap_case("verb %d: and its connection is never used again", (int)verbs[i]);
		peer_run(&bench.loop, A_WHILE_MS);
		CHECK_INT(bench.evals, 1);
		CHECK_INT(bench.peer.ended, 1);
		CHECK_INT(bench.disturbances, 0);
		bench.eval = ":1\r\n";
		bench_ask(STORE_RENEW, OUTCOME_OK);
		CHECK_INT(bench.peer.connections, 2);
		bench_end();

		tap_case("verb %d: cut after it was sent is unknown", (int)verbs[i]);
		bench_begin();
		bench.eval = NULL;
		bench_start(verbs[i]);
		bench_run_until_evals(1);
		peer_hang_up(&bench.peer);
		bench_check_answer(OUTCOME_UNKNOWN);
		CHECK_INT(bench.answers, 1);
		CHECK_INT(bench.disturbances, 0);
		bench_end();
	}

	static const char *const garbage[] = {"+OK\r\n", "$-1\r\n", ":2\r\n", "*0\r\n",
	    "HTTP/1.1 400\r\n", "*9\r\n", "$99999999\r\n"};
	for (size_t i = 0; i < COUNT_OF(garbage); i++) {
		tap_case("an answer that makes no sense is unknown: %s", garbage[i]);
		bench_begin();
		bench.eval = garbage[i];
		bench_start_bounded(STORE_RENEW, LIMIT_MS, 200);
		bench_check_answer(OUTCOME_UNKNOWN);
		CHECK_INT(bench.answers, 1);
		/* What else comes on that connection may be the answer to anything. */
		bench.eval = ":1\r\n";
		bench_ask(STORE_RENEW, OUTCOME_OK);
		CHECK_INT(bench.peer.connections, 2);
		CHECK_INT(bench.disturbances, 0);
		bench_end();
	}

	tap_case("R72: a refusal is one, and the connection stays");
	bench_begin();
	bench.first_eval = "-OOM command not allowed when used memory > 'maxmemory'.\r\n";
	bench.eval = ":1\r\n";
	bench_ask(STORE_RENEW, OUTCOME_REFUSED);
	CHECK_HAS(bench.told.problem.text, "OOM");
	peer_run(&bench.loop, 250);
	bench_ask(STORE_RENEW, OUTCOME_OK);
	CHECK_INT(bench.peer.connections, 1);
	bench_end();
}

static void
test_disturbed(void)
{
	tap_case(
	    "an idle connection that is lost is told once, and the next request opens another");
	log_in();
	peer_hang_up(&bench.peer);
	CHECK(peer_run_until(&bench.loop, &bench.disturbed, LIMIT_MS));
	peer_run(&bench.loop, A_WHILE_MS);
	CHECK_INT(bench.disturbances, 1);
	CHECK_INT(bench.answers, 1);
	bench_ask(STORE_RENEW, OUTCOME_OK);
	CHECK_INT(bench.peer.connections, 2);
	bench_end();

	tap_case(
	    "what came before the script was sent is not its answer: with the login's answers");
	bench_begin();
	bench.time = TIME_ANSWER ":1\r\n";
	bench.eval = NULL;
	bench_start(STORE_RENEW);
	bench_check_answer(OUTCOME_REFUSED);
	CHECK_INT(bench.evals, 0);
	CHECK_INT(bench.answers, 1);
	bench_end();

	tap_case("likewise half of an answer");
	bench_begin();
	bench.time = TIME_ANSWER ":";
	bench.eval = "1\r\n";
	bench_start(STORE_RENEW);
	bench_check_answer(OUTCOME_UNREACHABLE);
	CHECK_INT(bench.evals, 0);
	bench.time = TIME_ANSWER;
	bench.eval = ":1\r\n";
	bench_ask(STORE_RENEW, OUTCOME_OK);
	CHECK_INT(bench.peer.connections, 2);
	bench_end();

	tap_case("likewise what waits in the socket while the script is sent");
	log_in();
	peer_say(&bench.peer, ":1\r\n", 0);
	bench.eval = NULL;
	bench_start(STORE_RENEW);
	peer_run_until(&bench.loop, &bench.answered, LIMIT_MS);
	CHECK(bench.told.outcome == OUTCOME_REFUSED || bench.told.outcome == OUTCOME_UNREACHABLE);
	CHECK_INT(bench.evals, 1); /* that of log_in */
	CHECK_INT(bench.answers, 2);
	bench_end();

	tap_case("an answer that nobody asked for: the connection is of no use");
	log_in();
	peer_say(&bench.peer, ":1\r\n", 0);
	CHECK(peer_run_until(&bench.loop, &bench.disturbed, LIMIT_MS));
	peer_run(&bench.loop, A_WHILE_MS);
	CHECK_INT(bench.answers, 1);
	CHECK_INT(bench.peer.ended, 1);
	bench_end();

	tap_case("two answers to one request: the second is not taken for the next one's");
	bench_begin();
	bench.eval = ":1\r\n:1\r\n";
	bench_ask(STORE_RENEW, OUTCOME_OK);
	peer_run(&bench.loop, A_WHILE_MS);
	bench.eval = ":0\r\n";
	bench_ask(STORE_RENEW, OUTCOME_LOST);
	bench_end();
}

static void
test_release_in_place(void)
{
	tap_case(
	    "R64: a release follows what was sent, on the same connection, and is what is answered");
	bench_begin();
	bench.eval = NULL;
	bench_start(STORE_ACQUIRE);
	bench_run_until_evals(1);
	bench_start(STORE_RELEASE);
	bench_run_until_evals(2);
	CHECK_INT(bench.word_count, 10);
	CHECK_INT(bench.peer.connections, 1);
	peer_run(&bench.loop, A_WHILE_MS);
	CHECK_INT(bench.answers, 0);
	peer_say(&bench.peer, GRANTED, 0);
	peer_run(&bench.loop, A_WHILE_MS);
	CHECK_INT(bench.answers, 0);
	peer_say(&bench.peer, ":1\r\n", 0);
	bench_check_answer(OUTCOME_OK);
	CHECK_INT(bench.answers, 1);

	tap_case("and that connection serves on");
	bench.eval = ":1\r\n";
	bench_ask(STORE_RENEW, OUTCOME_OK);
	CHECK_INT(bench.peer.connections, 1);
	bench_end();

	tap_case("an error in answer to what it replaced is not its own");
	bench_begin();
	bench.eval = NULL;
	bench_start(STORE_RENEW);
	bench_run_until_evals(1);
	bench_start(STORE_RELEASE);
	bench_run_until_evals(2);
	peer_say(&bench.peer, "-LOADING x\r\n:0\r\n", 0);
	bench_check_answer(OUTCOME_LOST);
	CHECK(bench.told.gone);
	bench_end();

	tap_case("a release in place of what was not sent yet: only the release is");
	bench_begin();
	bench.time = NULL;
	bench_start(STORE_ACQUIRE);
	peer_run(&bench.loop, A_WHILE_MS);
	bench_start(STORE_RELEASE);
	bench.eval = ":0\r\n";
	peer_say(&bench.peer, TIME_ANSWER, 0);
	bench_check_answer(OUTCOME_LOST);
	peer_run(&bench.loop, A_WHILE_MS);
	CHECK_INT(bench.evals, 1);
	CHECK_INT(bench.word_count, 10);
	CHECK_INT(bench.answers, 1);
	bench_end();

	tap_case("unanswered, it ends at its own limit");
	bench_begin();
	bench.eval = NULL;
	bench_start(STORE_ACQUIRE);
	bench_run_until_evals(1);
	struct instant start = clock_now();
	bench_start_bounded(STORE_RELEASE, LIMIT_MS, 60);
	bench_check_answer(OUTCOME_UNKNOWN);
	CHECK(instant_between(start, clock_now()) >= 60 * NS_PER_MS);
	CHECK_INT(bench.answers, 1);

	tap_case("and nothing of it is left over for the next connection");
	bench.eval = ":1\r\n";
	bench_ask(STORE_RENEW, OUTCOME_OK);
	CHECK_INT(bench.peer.connections, 2);
	bench_end();

	tap_case("cut when only the first was answered: the release is unknown");
	bench_begin();
	bench.eval = NULL;
	bench_start(STORE_ACQUIRE);
	bench_run_until_evals(1);
	bench_start(STORE_RELEASE);
	bench_run_until_evals(2);
	peer_say(&bench.peer, GRANTED, 0);
	peer_hang_up(&bench.peer);
	bench_check_answer(OUTCOME_UNKNOWN);
	CHECK_INT(bench.answers, 1);
	bench_end();
}

static void
test_close(void)
{
	tap_case("closed: what is under way is not answered any more");
	bench_begin();
	bench.eval = NULL;
	bench_start(STORE_ACQUIRE);
	bench_run_until_evals(1);
	bench.store->operations->close(bench.store);
	peer_run(&bench.loop, A_WHILE_MS);
	CHECK_INT(bench.answers, 0);
	CHECK_INT(bench.disturbances, 0);
	CHECK_INT(bench.peer.ended, 1);

	tap_case("and then it can be used again");
	bench.eval = ":1\r\n";
	bench_ask(STORE_RENEW, OUTCOME_OK);
	CHECK_INT(bench.peer.connections, 2);
	bench_end();

	tap_case("closed while it connects");
	bench_begin();
	bench_start(STORE_ACQUIRE);
	bench.store->operations->close(bench.store);
	peer_run(&bench.loop, A_WHILE_MS);
	CHECK_INT(bench.answers, 0);
	bench_end();
}

int
main(void)
{
	if (!bench_open())
		return 1;
	test_before_sending();
	test_after_sending();
	test_disturbed();
	test_release_in_place();
	test_close();
	return tap_end();
}
