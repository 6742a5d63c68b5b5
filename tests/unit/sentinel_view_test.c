/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* store/sentinel_view: what sentinels say, and who of them is believed. */
#include "store/sentinel_view.h"

#include <stdio.h>
#include <string.h>

#include "replies.h"
#include "tap.h"

static void
test_master(void)
{
	struct sentinel_view view = {0};
	tap_case("the master's address, epoch, quorum and other sentinels are read");
	CHECK(sentinel_read_master(
	    reply_from("['name' 'main' 'ip' '10.0.0.1' 'port' '6379' 'runid' '' 'flags' 'master' "
		       "'quorum' '2' 'num-other-sentinels' '4' 'config-epoch' '17']"),
	    &view));
	CHECK(view.knows && !view.is_down && !view.is_failing_over);
	CHECK_TEXT(view.master.host, "10.0.0.1");
	CHECK_INT(view.master.port, 6379);
	CHECK_INT(view.epoch, 17);
	CHECK_INT(view.quorum, 2);
	CHECK_INT(view.others, 4);

	static const struct {
		const char *flags;
		bool down, failing_over;
	} rows[] = {
	    {"master", false, false},
	    {"s_down,master", true, false},
	    {"master,o_down,disconnected", true, false},
	    {"s_down,o_down,master,failover_in_progress", true, true},
	    {"master,failover_in_progress", false, true},
	    {"master,s_downs,xo_down,failover_in_progress_", false, false},
	    {"", false, false},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char text[256];
		tap_case("flags of a master: '%s'", rows[i].flags);
		snprintf(text, sizeof text, "['ip' 'db1' 'port' '1' 'flags' '%s']", rows[i].flags);
		view = (struct sentinel_view){0};
		CHECK(sentinel_read_master(reply_from(text), &view));
		CHECK_INT(view.is_down, rows[i].down);
		CHECK_INT(view.is_failing_over, rows[i].failing_over);
	}

	static const char *const bad[] = {"_", ":1", "+OK;", "'ip'", "[]", "['ip']",
	    "['ip' '10.0.0.1']", "['ip' '' 'port' '1']", "['ip' 'db1' 'port' '0']",
	    "['ip' 'db1' 'port' '65536']", "['ip' 'db1' 'port' 'x']", "['ip' :1 'port' '1']",
	    "['ip' 'db~1' 'port' '1']", "[['ip' 'db1'] 'port' '1']", "['port' '1' 'ip']"};
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		tap_case("no master is read from %s", bad[i]);
		view = (struct sentinel_view){0};
		CHECK(!sentinel_read_master(reply_from(bad[i]), &view));
		CHECK(!view.knows);
	}
}

static void
test_replicas(void)
{
	struct sentinel_view view = {0};
	tap_case("replicas are counted, and those alive that are not down or disconnected");
	CHECK(sentinel_read_replicas(
	    reply_from("[['name' 'a' 'ip' '10.0.0.2' 'port' '1' 'flags' 'slave']"
		       " ['name' 'b' 'ip' '10.0.0.3' 'port' '2' 'flags' 's_down,slave']"
		       " ['name' 'c' 'ip' '10.0.0.4' 'port' '3' 'flags' 'slave,disconnected']"
		       " ['name' 'd' 'ip' '10.0.0.5' 'port' '4' 'flags' 'slave,promoted']"
		       " ['name' 'e' 'ip' '10.0.0.6' 'port' '5' 'flags' 'slave,o_down']"
		       " ['name' 'f' 'ip' '10.0.0.7' 'port' '6']]"),
	    &view));
	CHECK_INT(view.listed, 6);
	CHECK_INT(view.alive, 3); /* of one that says nothing, the worse is taken */
	CHECK_INT((int64_t)view.replica_count, 6);
	CHECK_TEXT(view.replicas[4].host, "10.0.0.6");

	tap_case("no replicas at all");
	view = (struct sentinel_view){0};
	CHECK(sentinel_read_replicas(reply_from("[]"), &view));
	CHECK_INT(view.listed, 0);
	CHECK_INT(view.alive, 0);

	tap_case("more than are kept by name are counted all the same");
	char many[4096] = "[";
	for (int i = 0; i < 20; i++)
		snprintf(many + strlen(many), sizeof many - strlen(many),
		    "['ip' 'db%d' 'port' '1' 'flags' 'slave']", i);
	strcat(many, "]");
	CHECK(sentinel_read_replicas(reply_from(many), &view));
	CHECK_INT(view.alive, 20);
	CHECK_INT((int64_t)view.replica_count, VIEW_MAX_REPLICAS);

	static const char *const bad[] = {"_", "'x'", "[:1]", "['ip' 'db1' 'port' '1']", "[[]]",
	    "[['ip' 'db1']]", "[['ip' 'db1' 'port' '-1']]"};
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		tap_case("no replicas are read from %s", bad[i]);
		view = (struct sentinel_view){0};
		CHECK(!sentinel_read_replicas(reply_from(bad[i]), &view));
	}
}

/* role id former-id, a word for each server, the master first: M master, S follows, D follows
 * nobody at the moment. */
static const char *
info_of(const char *const servers[3])
{
	static char text[2048];
	snprintf(text, sizeof text, "['other' [] 'main' [");
	for (size_t i = 0; i < 3 && servers[i] != NULL; i++)
		snprintf(text + strlen(text), sizeof text - strlen(text),
		    "[:5 '# Replication\r\nrole:%s\r\nmaster_link_status:%s\r\nmaster_replid:%c%c"
		    "\r\nmaster_replid2:%c%c\r\nx:y']",
		    servers[i][0] == 'M' ? "master" : "slave", servers[i][0] == 'S' ? "up" : "down",
		    servers[i][1], servers[i][1], servers[i][2], servers[i][2]);
	strcat(text, "]]");
	return text;
}

static void
test_info(void)
{
	static const struct {
		const char *what, *servers[3];
		int64_t claimants, demoted;
		const char *open; /* NULL: no claimant is left */
	} rows[] = {
	    {"the old master, as the new one shows", {"Mba", "Ma0", "Sb0"}, 1, 1, NULL},
	    {"as a replica shows that follows the new one", {"Ma0", "Sba", "Ma0"}, 1, 1, NULL},
	    {"a replica that is not connected shows nothing", {"Ma0", "Dba", "Ma0"}, 1, 0, "aa"},
	    {"one that is just being promoted", {"Ma0", "Mba", "Sa0"}, 1, 0, "bb"},
	    {"the same when another replica follows it already", {"Ma0", "Mba", "Sba"}, 1, 0, "bb"},
	    {"the same of a master that was promoted before", {"Map", "Mba", "Sap"}, 1, 0, "bb"},
	    {"one that has become a replica meanwhile", {"Mba", "Sba", "Sba"}, 1, 0, NULL},
	    {"none that claims to be one", {"Mba", "Ma0", "Sba"}, 0, 0, NULL},
	    {"two with the old one's data, one of whom is alive", {"Mba", "Ma0", "Ma0"}, 1, 1,
		NULL},
	    {"one with no history in common", {"Mba", "Mx0", "Sba"}, 1, 0, "xx"},
	    {"one alone", {"Ma0", "Ma0", NULL}, 1, 0, "aa"},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct sentinel_view view = {.alive = 2, .claimants = rows[i].claimants};
		tap_case("%s", rows[i].what);
		sentinel_read_info(reply_from(info_of(rows[i].servers)), "main", &view);
		CHECK_INT(view.demoted, rows[i].demoted);
		view.demoted = 0;
		CHECK_TEXT(view.claimant_id, rows[i].open ? rows[i].open : "");
		sentinel_read_info(reply_from(info_of(rows[i].servers)), "other", &view);
		CHECK_INT(view.demoted, 0);
	}
	static const char *const bad[] = {"_", ":1", "[]", "['main']", "['main' _]", "['main' []]",
	    "['main' [_]]", "['main' [[:1 _] [:1 _]]]", "['main' [[:1]]]",
	    "['main' [[:1 'master_replid2:aaa'] [:1] _ :5 ['x' 'y']]]", "[:1 :2]"};
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct sentinel_view view = {.alive = 2, .claimants = 2};
		tap_case("nothing follows from %s", bad[i]);
		sentinel_read_info(reply_from(bad[i]), "main", &view);
		CHECK_INT(view.demoted, 0);
	}
}

static void
test_switch(void)
{
	static const struct {
		const char *reply, *host; /* NULL: of no interest */
		int port;
	} rows[] = {
	    {"['message' '+switch-master' 'main 10.0.0.1 6379 10.0.0.2 6380']", "10.0.0.2", 6380},
	    {"['message' '+switch-master' 'main ::1 6379 fe80::1 6380']", "fe80::1", 6380},
	    {"['message' '+switch-master' 'other 10.0.0.1 6379 10.0.0.2 6380']", NULL, 0},
	    {"['message' '+switch-master' 'mainly 10.0.0.1 6379 10.0.0.2 6380']", NULL, 0},
	    {"['message' '+switch-master' 'main 10.0.0.1 6379 10.0.0.2']", NULL, 0},
	    {"['message' '+switch-master' 'main 10.0.0.1 6379 10.0.0.2 6380 x']", NULL, 0},
	    {"['message' '+switch-master' 'main 10.0.0.1 6379 10.0.0.2 x']", NULL, 0},
	    {"['message' '+switch-master' 'main']", NULL, 0},
	    {"['message' '+switch-master' '']", NULL, 0},
	    {"['message' '+sdown' 'main 10.0.0.1 6379 10.0.0.2 6380']", NULL, 0},
	    {"['pmessage' '+switch-master' 'main 10.0.0.1 6379 10.0.0.2 6380']", NULL, 0},
	    {"['message' '+switch-master']", NULL, 0},
	    {"['message' '+switch-master' :1]", NULL, 0},
	    {"+OK;", NULL, 0},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct url_place place = {.port = 0};
		tap_case("%s", rows[i].reply);
		CHECK_INT(sentinel_read_switch(reply_from(rows[i].reply), "main", &place),
		    rows[i].host != NULL);
		if (rows[i].host == NULL)
			continue;
		CHECK_TEXT(place.host, rows[i].host);
		CHECK_INT(place.port, rows[i].port);
	}
}

/* A view in a word: its master a letter, its epoch, and the replicas that it lists. */
static struct sentinel_view
view_of(char master, int64_t epoch, const char *replicas)
{
	struct sentinel_view view = {.knows = master != '-', .epoch = epoch};
	view.master = (struct url_place){.host = {master}, .port = 1};
	for (; *replicas != '\0'; replicas++) {
		view.replicas[view.replica_count++] =
		    (struct url_place){.host = {*replicas}, .port = 1};
		view.alive++;
	}
	return view;
}

static void
test_choice(void)
{
	static const struct {
		const char *what;
		struct {
			char master;
			int64_t epoch;
			const char *replicas;
		} views[3];
		const char *order;
		int64_t alive; /* of the first */
	} rows[] = {
	    {"all agree", {{'a', 1, "bc"}, {'a', 1, "bc"}, {'a', 1, "bc"}}, "a", 2},
	    {"one is dead", {{'-', 0, ""}, {'a', 1, "bc"}, {'a', 1, "bc"}}, "a", 2},
	    {"none knows one", {{'-', 0, ""}, {'-', 0, ""}, {'-', 0, ""}}, "", 0},
	    {"one has just made b the master", {{'a', 1, "bc"}, {'b', 2, "ac"}, {'a', 1, "bc"}},
		"ba", 2},
	    {"one that was cut off knows an old master",
		{{'b', 2, "ac"}, {'a', 1, "bc"}, {'b', 2, "ac"}}, "ba", 2},
	    {"one lies: a master that nobody has heard of, with a huge epoch",
		{{'x', 99, "abc"}, {'a', 1, "bc"}, {'a', 1, "bc"}}, "ax", 2},
	    {"one lies, and another one is dead: half of them is not more than half",
		{{'x', 99, ""}, {'a', 1, "bc"}, {'-', 0, ""}}, "xa", 0},
	    {"of the same epoch the greater number counts",
		{{'b', 1, "ac"}, {'a', 1, "bc"}, {'a', 1, "bc"}}, "ab", 2},
	    {"one alone", {{'-', 0, ""}, {'-', 0, ""}, {'a', 3, "b"}}, "a", 1},
	    {"who sees more replicas alive is believed",
		{{'a', 1, "b"}, {'a', 1, "bcd"}, {'a', 1, ""}}, "a", 3},
	    {"but not with an older epoch", {{'a', 1, "bcd"}, {'a', 2, "b"}, {'a', 2, ""}}, "a", 1},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct sentinel_view views[3];
		const struct sentinel_view *pointers[3];
		struct sentinel_choice choices[3];
		char order[4] = "";
		tap_case("%s", rows[i].what);
		for (size_t k = 0; k < 3; k++) {
			views[k] = view_of(rows[i].views[k].master, rows[i].views[k].epoch,
			    rows[i].views[k].replicas ? rows[i].views[k].replicas : "");
			pointers[k] = &views[k];
		}
		size_t count = sentinel_choose(pointers, 3, choices, 3);
		for (size_t k = 0; k < count; k++)
			order[k] = choices[k].master.host[0];
		CHECK_TEXT(order, rows[i].order);
		if (count > 0)
			CHECK_INT(choices[0].alive, rows[i].alive);
	}
	tap_case("a failover that one of them is about counts");
	struct sentinel_view busy = view_of('a', 1, "b"), calm = view_of('a', 1, "b");
	const struct sentinel_view *two[] = {&calm, &busy};
	struct sentinel_choice choice;
	busy.is_failing_over = true;
	CHECK_INT((int64_t)sentinel_choose(two, 2, &choice, 1), 1);
	CHECK(choice.is_failing_over);
	CHECK_INT((int64_t)choice.votes, 2);
	tap_case(
	    "replicas that are away are told by the one that misses most, of the newest epoch");
	struct sentinel_view old = view_of('a', 1, "b"), few = view_of('a', 2, "b"),
			     most = view_of('a', 2, "bc");
	const struct sentinel_view *three[] = {&old, &few, &most};
	old.listed = 9;
	few.listed = 3;
	most.listed = 3;
	CHECK_INT((int64_t)sentinel_choose(three, 3, &choice, 1), 1);
	CHECK_INT(choice.away, 2);
}

static void
test_demoted(void)
{
	static const struct {
		const char *what;
		int64_t claimants[2], demoted[2], alive;
	} rows[] = {
	    {"both can tell that one of two replicas is the old master", {1, 1}, {1, 1}, 1},
	    {"one can tell, the other only sees the claimant", {1, 1}, {1, 0}, 1},
	    {"to one it is a replica again: it counts", {1, 0}, {1, 0}, 2},
	    {"nobody can tell", {1, 1}, {0, 0}, 2},
	    {"two claimants, one of whom is the old one", {2, 1}, {1, 0}, 1},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct sentinel_view one = view_of('a', 1, "bc"), two = view_of('a', 1, "bc");
		const struct sentinel_view *views[] = {&one, &two};
		struct sentinel_choice choice;
		tap_case("%s", rows[i].what);
		one.claimants = rows[i].claimants[0];
		two.claimants = rows[i].claimants[1];
		one.demoted = rows[i].demoted[0];
		two.demoted = rows[i].demoted[1];
		CHECK_INT((int64_t)sentinel_choose(views, 2, &choice, 1), 1);
		CHECK_INT(choice.alive, rows[i].alive);
	}
	struct sentinel_view one = view_of('a', 1, "bc"), two = view_of('a', 1, "bc");
	const struct sentinel_view *views[] = {&one, &two};
	struct sentinel_choice choice;
	tap_case("a claimant that may be the old master is known by its id");
	one.claimants = two.claimants = 1;
	strcpy(two.claimant_id, "aa");
	CHECK_INT((int64_t)sentinel_choose(views, 2, &choice, 1), 1);
	CHECK_INT(choice.alive, 2);
	CHECK_INT(choice.alive_less_one, 1);
	CHECK_TEXT(choice.claimant_id, "aa");
	tap_case("but who has become a replica counts all the same");
	one.claimants = 0;
	CHECK_INT((int64_t)sentinel_choose(views, 2, &choice, 1), 1);
	CHECK_INT(choice.alive_less_one, 2);
	tap_case("a master that has gone on from an id");
	CHECK(sentinel_has_gone_on(
	    reply_from("'role:master\r\nmaster_replid:b\r\nmaster_replid2:aa\r\n'"), "aa"));
	CHECK(!sentinel_has_gone_on(
	    reply_from("'role:master\r\nmaster_replid:aa\r\nmaster_replid2:b\r\n'"), "aa"));
	CHECK(!sentinel_has_gone_on(reply_from("'role:slave\r\nmaster_replid2:aa\r\n'"), "aa"));
	CHECK(!sentinel_has_gone_on(reply_from("-NOPERM;"), "aa"));
}

int
main(void)
{
	test_master();
	test_replicas();
	test_info();
	test_switch();
	test_choice();
	test_demoted();
	return tap_end();
}
