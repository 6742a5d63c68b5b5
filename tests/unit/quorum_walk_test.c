/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* store/quorum.h in many random schedules: several clients with clocks of their own, nodes that
 * freeze, connections that are cut, clients that die. Whatever happens, no two hold the lock at a
 * time and the numbers strictly increase in the order in which they had it; and a wrong rule is
 * found out by the same schedules. */
#include "quorum_net.h"
#include "tap.h"

#define LENGTH (20 * NS_PER_S)

enum weather {
	SKEWED,      /* clocks 20 minutes apart */
	FORGETFUL,   /* nodes restart empty */
	QUARANTINED, /* and do not vote for a TTL */
};

static void
walk(int nodes, enum net_rule rule, enum weather weather, uint64_t schedules, struct net *sum)
{
	static struct net net;
	*sum = (struct net){.now = 0};
	for (uint64_t seed = 1; seed <= schedules && !tap_failed(); seed++) {
		net_init(&net, seed * 7919, nodes, 4, rule);
		net.has_faults = true;
		net.may_forget = weather != SKEWED;
		net.quarantine_ns = weather == QUARANTINED ? net.ttl_ns : 0;
		for (int i = 0; i < nodes && weather == SKEWED; i++)
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
	for (int nodes = 2; nodes <= 5; nodes++) {
		tap_case(
		    "%d nodes that freeze, with clocks 20 minutes apart: never two holders, and "
		    "each number is greater than the one before",
		    nodes);
		walk(nodes, RULE_ACCEPT, SKEWED, 40, &sum);
		CHECK(sum.won > 1000);
		CHECK(sum.renewed > 200);
		CHECK_INT(sum.overlaps, 0);
		CHECK_INT(sum.repeats, 0);

		if (nodes == 2)
			continue; /* a majority are all, and count alike */
		tap_case("the naive rule, a count on each node and the highest of a majority, "
			 "fails that");
		walk(nodes, RULE_NAIVE, SKEWED, 10, &sum);
		CHECK(sum.won > 250);
		CHECK_INT(sum.overlaps, 0);
		CHECK(sum.repeats > 20);
	}

	tap_case(
	    "nodes that restart empty: exclusion may break, and then a holder learns that it has "
	    "lost; its key is taken again where it was forgotten");
	walk(3, RULE_ACCEPT, FORGETFUL, 40, &sum);
	CHECK(sum.won > 1000);
	CHECK(sum.retaken > 10);
	CHECK(sum.lost > 10);
	CHECK(sum.overlaps > 0);
	CHECK_INT(sum.repeats, 0); /* the nodes' clocks agree */

	tap_case("the naive rule fails that");
	walk(3, RULE_NAIVE, FORGETFUL, 10, &sum);
	CHECK(sum.repeats > 20);

	for (int nodes = 3; nodes <= 5; nodes += 2) {
		tap_case("%d nodes that restart empty, and do not vote for a TTL: exclusion holds",
		    nodes);
		walk(nodes, RULE_ACCEPT, QUARANTINED, 20, &sum);
		CHECK(sum.won > 250);
		CHECK(sum.retaken > 10);
		CHECK_INT(sum.overlaps, 0);
		CHECK_INT(sum.repeats, 0);
	}
	return tap_end();
}
