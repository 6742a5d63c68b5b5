/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* store/quorum.h in many random schedules: several clients with clocks of their own, nodes that
 * freeze, connections that are cut, clients that die. Whatever happens, no two hold the lock at a
 * time and the numbers strictly increase in the order in which they had it; and a wrong rule is
 * found out by the same schedules. */
#include "quorum_net.h"
#include "tap.h"

#define SCHEDULES 40
#define LENGTH (20 * NS_PER_S)

/* All numbers, but those of a node that has forgotten everything, are above a clock that is behind.
 */
static void
walk(int nodes, int clients, enum net_rule rule, bool may_forget, bool skewed, struct net *sum)
{
	static struct net net;
	*sum = (struct net){.now = 0};
	for (uint64_t seed = 1; seed <= SCHEDULES && !tap_failed(); seed++) {
		net_init(&net, seed * 7919, nodes, clients, rule);
		net.has_faults = true;
		net.may_forget = may_forget;
		for (int i = 0; i < nodes && skewed; i++)
			net.node[i].clock_offset =
			    tap_random_below(&net.random, 1200 * NS_PER_S) - 600 * NS_PER_S;
		net_run(&net, net.now + LENGTH);
		sum->won += net.won;
		sum->overlaps += net.overlaps;
		sum->repeats += net.repeats;
		sum->renewed += net.renewed;
		sum->retaken += net.retaken;
		sum->lost += net.lost;
		tap_note("seed %d: %d won, %d overlaps, %d repeats", (int)seed, net.won,
		    net.overlaps, net.repeats);
	}
}

int
main(void)
{
	static struct net sum;
	static const int counts[] = {2, 3, 4, 5};
	for (size_t i = 0; i < COUNT_OF(counts); i++) {
		tap_case(
		    "%d nodes that freeze, with clocks 20 minutes apart: never two holders, and "
		    "each number is greater than the one before",
		    counts[i]);
		walk(counts[i], 4, RULE_ACCEPT, false, true, &sum);
		CHECK(sum.won > 1000);
		CHECK(sum.renewed > 200);
		CHECK_INT(sum.overlaps, 0);
		CHECK_INT(sum.repeats, 0);
	}

	tap_case(
	    "nodes that restart empty: exclusion may break, and then a holder learns that it has "
	    "lost; its key is taken again where it was forgotten");
	walk(3, 4, RULE_ACCEPT, true, false, &sum);
	CHECK(sum.won > 1000);
	CHECK(sum.retaken > 10);
	CHECK(sum.lost > 10);
	CHECK_INT(sum.repeats, 0); /* the nodes' clocks agree */

	tap_case(
	    "the naive rule, a count on each node and the highest of a majority: numbers repeat");
	walk(3, 4, RULE_NAIVE, false, true, &sum);
	CHECK(sum.won > 1000);
	CHECK(sum.repeats > 100);
	return tap_end();
}
