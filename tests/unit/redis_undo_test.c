/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* store/redis: an acquire that too few replicas have (--wait-replicas) is undone wherever it was
 * executed, though that server is asked nothing else any more. */
#include <string.h>

#include "redis_bench.h"
#include "tap.h"

/* So old a connection may be replaced. */
#define AGE_MS 250

static void
begin(void)
{
	bench_begin();
	bench.settings.wait_replicas = 1;
	bench.replicas = ":0\r\n";
	bench_ask(STORE_ACQUIRE, OUTCOME_UNCONFIRMED);
	CHECK_INT(bench.peer.connections, 1);
}

static void
undo(void)
{
	bench.undo = true;
	bench.eval = ":1\r\n";
	bench_ask(STORE_RELEASE, OUTCOME_OK);
	CHECK_INT(bench.disturbances, 0);
}

/* The last scripts came on these connections, the last one last. */
static void
check_ways(int before, int last)
{
	CHECK_INT(bench.ways[bench.evals - 2], before);
	CHECK_INT(bench.ways[bench.evals - 1], last);
}

int
main(void)
{
	if (!bench_open())
		return 1;

	tap_case("where it was asked a moment ago: there, and that is all");
	begin();
	undo();
	CHECK_INT(bench.evals, 2);
	check_ways(1, 1);
	bench_end();

	tap_case("where another server may be meant by now: there, and then at that one");
	begin();
	peer_run(&bench.loop, AGE_MS);
	undo();
	CHECK_INT(bench.evals, 3);
	check_ways(1, 2);
	bench_end();

	tap_case("it was tried at one server, and then at another: undone at both");
	begin();
	peer_run(&bench.loop, AGE_MS);
	bench_ask(STORE_ACQUIRE, OUTCOME_UNCONFIRMED);
	CHECK_INT(bench.peer.connections, 2);
	undo();
	CHECK_INT(bench.evals, 4);
	check_ways(2, 3);
	bench_end();

	tap_case("the connection breaks while it is undone: that is not known, and a new one does");
	begin();
	peer_run(&bench.loop, AGE_MS);
	bench.undo = true;
	bench.eval = NULL;
	bench_start(STORE_RELEASE);
	bench_run_until_evals(2);
	peer_hang_up(&bench.peer);
	bench_check_answer(OUTCOME_UNKNOWN);
	undo();
	CHECK_INT(bench.ways[bench.evals - 1], 2);
	bench_end();

	tap_case("what is given back in the ordinary way goes to where the name leads");
	begin();
	peer_run(&bench.loop, AGE_MS);
	bench.eval = ":1\r\n";
	bench_ask(STORE_RELEASE, OUTCOME_OK);
	CHECK_INT(bench.evals, 2);
	check_ways(1, 2);
	bench_end();
	return tap_end();
}
