/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* store/redis: a server whose refusal suggests that its name leads to another one now. */
#include <string.h>

#include "redis_bench.h"
#include "tap.h"

/* So old a connection may be replaced. */
#define AGE_MS 250

static void
log_in_and_age(void)
{
	bench_begin();
	bench.eval = ":1\r\n";
	bench_ask(STORE_RENEW, OUTCOME_OK);
	CHECK_INT(bench.peer.connections, 1);
	peer_run(&bench.loop, AGE_MS);
}

/* Asks again and again, and returns how often. */
static int
ask_for(int64_t ms, enum store_verb verb)
{
	struct instant end = instant_plus(clock_now(), ms * NS_PER_MS);
	int asked = 0;
	for (; !instant_reached(end, clock_now()); asked++) {
		bench_ask(verb, OUTCOME_REFUSED);
		peer_run(&bench.loop, 10);
	}
	return asked;
}

static void
test_moved(void)
{
	static const char readonly[] = "-READONLY You can't write against a read only replica.\r\n";
	static const enum store_verb verbs[] = {STORE_RENEW, STORE_RELEASE, STORE_ACQUIRE};
	for (size_t i = 0; i < COUNT_OF(verbs); i++) {
		tap_case(
		    "R33: a server that is a replica now: the next try is on a new connection (%zu)",
		    i);
		log_in_and_age();
		bench.eval = readonly;
		bench_ask(verbs[i], OUTCOME_REFUSED);
		CHECK_INT(bench.peer.connections, 1);
		CHECK_INT(bench.peer.ended, 0);
		bench.eval = verbs[i] == STORE_ACQUIRE ? GRANTED : ":1\r\n";
		bench_ask(verbs[i], OUTCOME_OK);
		CHECK_INT(bench.peer.connections, 2);
		CHECK_INT(bench.disturbances, 0);
		/* And stays there. */
		bench.eval = ":1\r\n";
		peer_run(&bench.loop, AGE_MS);
		bench_ask(STORE_RENEW, OUTCOME_OK);
		CHECK_INT(bench.peer.connections, 2);
		bench_end();
	}

	tap_case("R33: it stays one: at most five connections a second");
	log_in_and_age();
	bench.eval = readonly;
	CHECK(ask_for(1000, STORE_RENEW) > 10);
	CHECK(bench.peer.connections >= 2);
	CHECK(bench.peer.connections <= 1 + 5 + 1);
	bench_end();
}

int
main(void)
{
	if (!bench_open())
		return 1;
	test_moved();
	return tap_end();
}
