/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* store/cluster_map: whom to ask for a slot of a cluster. */
#include "store/cluster_map.h"

#include <stdio.h>
#include <string.h>

#include "tap.h"

static struct cluster_map map;
static const struct url_place seeds[] = {{"s1", 1}, {"s2", 2}};
static const struct url_place owner = {"owner", 7}, other = {"other", 8};

static void
begin(void)
{
	memset(&map, 0xff, sizeof map);
	cluster_map_init(&map, seeds, COUNT_OF(seeds));
}

static void
learn(const char *lines)
{
	cluster_map_learn(&map, lines, strlen(lines), &seeds[0]);
}

/* The hosts that are asked, one after the other, each of which fails. */
static const char *
ask(int times)
{
	static char hosts[512];
	struct url_place place;
	hosts[0] = '\0';
	for (int i = 0; i < times; i++) {
		cluster_map_next(&map, &place);
		snprintf(hosts + strlen(hosts), sizeof hosts - strlen(hosts), "%s%.40s",
		    i ? " " : "", place.host);
		cluster_map_fail(&map, &place);
	}
	return hosts;
}

static void
test_order(void)
{
	tap_case("at first the nodes of the URL are asked, one after the other, and again");
	begin();
	CHECK_TEXT(ask(5), "s1 s2 s1 s2 s1");

	tap_case("the owner of the slot is asked while it serves");
	begin();
	cluster_map_move(&map, &owner);
	struct url_place place;
	for (int i = 0; i < 3; i++) {
		cluster_map_next(&map, &place);
		CHECK_TEXT(place.host, "owner");
		CHECK_INT(place.port, 7);
	}

	tap_case("an owner that has failed gives way to the others, and has its turn behind them");
	CHECK_TEXT(ask(7), "owner s1 s2 owner s1 s2 owner");

	tap_case(
	    "an owner that is named again is asked again; whose turn is next is not forgotten");
	CHECK_TEXT(ask(1), "s1");
	cluster_map_move(&map, &owner);
	CHECK_TEXT(ask(3), "owner s2 owner");
	cluster_map_move(&map, &other);
	CHECK_TEXT(ask(2), "other s1");

	tap_case("somebody else's failure is not the owner's");
	begin();
	cluster_map_move(&map, &owner);
	cluster_map_fail(&map, &other);
	cluster_map_next(&map, &place);
	CHECK_TEXT(place.host, "owner");

	tap_case("a seed that is the doubted owner is asked once a round");
	begin();
	cluster_map_move(&map, &seeds[1]);
	CHECK_TEXT(ask(5), "s2 s1 s2 s1 s2");

	tap_case("for another slot the owner is not known");
	begin();
	cluster_map_move(&map, &owner);
	cluster_map_invite(&map, &other);
	cluster_map_forget_owner(&map);
	CHECK_TEXT(ask(2), "s1 s2");
}

static void
test_guest(void)
{
	tap_case("a guest is asked once");
	begin();
	cluster_map_move(&map, &owner);
	cluster_map_invite(&map, &other);
	struct url_place place;
	cluster_map_next(&map, &place);
	CHECK_TEXT(place.host, "other");
	cluster_map_fail(&map, &place);
	cluster_map_next(&map, &place);
	CHECK_TEXT(place.host, "owner");

	tap_case("a new owner ends an invitation");
	cluster_map_invite(&map, &other);
	cluster_map_move(&map, &owner);
	cluster_map_next(&map, &place);
	CHECK_TEXT(place.host, "owner");
}

static void
test_learning(void)
{
	tap_case("nodes that a node has told of are asked before those of the URL");
	begin();
	cluster_map_move(&map, &owner);
	learn("m owner:7\nr replica:9\nm m2:10\n");
	CHECK_TEXT(ask(5), "owner replica m2 s1 s2");

	tap_case("a node without a host is on the one that told of it");
	begin();
	learn("m :7\n");
	struct url_place place;
	cluster_map_next(&map, &place);
	CHECK_TEXT(place.host, "s1");
	CHECK_INT(place.port, 7);

	tap_case("what is no node is passed over");
	begin();
	learn("\n\nm\nm \nm host\nm host:0\nm a/b:7\nx"
	      "\nr \x1b[2J:7\nr good:9\nm ?:7\nr half:70");
	CHECK_TEXT(ask(4), "good half s1 s2");

	tap_case("an answer without nodes changes nothing");
	begin();
	learn("r good:9\n");
	learn("");
	learn("m nonsense\n");
	CHECK_TEXT(ask(3), "good s1 s2");

	tap_case("of more nodes than there is room for the first are known");
	begin();
	char lines[4096] = "";
	for (int i = 0; i < 200; i++)
		snprintf(lines + strlen(lines), sizeof lines - strlen(lines), "m n%d:%d\n", i,
		    i + 1);
	learn(lines);
	CHECK_INT((int64_t)map.known_count, CLUSTER_MAX_KNOWN);
	CHECK_TEXT(map.known[CLUSTER_MAX_KNOWN - 1].host, "n15");
}

int
main(void)
{
	test_order();
	test_guest();
	test_learning();
	return tap_end();
}
