/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* view/check_facts, check_judge: what is taken from a server's answers, whatever they are. */
#include "view/check_facts.h"

#include <stdio.h>
#include <string.h>

#include "check_bench.h"
#include "replies.h"
#include "tap.h"

static struct check_bench bench;

static void
test_versions(void)
{
	static const struct {
		const char *product, *version;
		bool is_new_enough;
	} rows[] = {
	    {"redis", "5.0.14", false},
	    {"redis", "5.9", false},
	    {"redis", "6.0.0", true},
	    {"redis", "6.0", true},
	    {"redis", "7.0.15", true},
	    {"redis", "10.0.1", true},
	    {"redis", "255.255.255", true},
	    {"valkey", "7.1.9", false},
	    {"valkey", "7.2.0", true},
	    {"valkey", "8.1.1", true},
	    {"valkey", "9.0.0-rc1", true},
	    {"valkey", "6.9", false},
	    {"dragonfly", "df-v1.2.3", true},
	    {"keydb", "1.0.0", true},
	    {"redis", "", true},
	    {"redis", "x", true},
	    {"redis", "99999999999999999999.1", true},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		tap_case("version '%s' of %s", rows[i].version, rows[i].product);
		CHECK(
		    check_judge_version(rows[i].product, rows[i].version) == rows[i].is_new_enough);
		check_bench_begin(&bench);
		snprintf(bench.facts.product, sizeof bench.facts.product, "%s", rows[i].product);
		snprintf(bench.facts.version, sizeof bench.facts.version, "%s", rows[i].version);
		if (rows[i].is_new_enough)
			check_bench_judged(&bench, VERDICT_GOOD, NULL);
		else
			check_bench_judged(&bench, VERDICT_UNFIT, "version");
	}
}

static void
test_products(void)
{
	tap_case("INFO of Redis");
	check_bench_begin(&bench);
	check_bench_info(&bench,
	    "# Server\r\nredis_version:7.0.15\r\nredis_git_sha1:0\r\nredis_mode:standalone\r\n"
	    "run_id:abc\r\nuptime_in_seconds:77\r\nrole:master\r\n");
	CHECK_TEXT(bench.facts.product, "redis");
	CHECK_TEXT(bench.facts.version, "7.0.15");
	CHECK_TEXT(bench.facts.mode, "standalone");
	CHECK_TEXT(bench.facts.run_id, "abc");
	CHECK_TEXT(bench.facts.role, "master");
	CHECK_INT(bench.facts.uptime_s, 77);

	tap_case("INFO of Valkey, which tells a version of Redis as well, in either order");
	check_bench_begin(&bench);
	check_bench_info(&bench,
	    "redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.1.1\r\n"
	    "server_mode:standalone\r\n");
	CHECK_TEXT(bench.facts.product, "valkey");
	CHECK_TEXT(bench.facts.version, "8.1.1");
	CHECK_TEXT(bench.facts.mode, "standalone");
	check_bench_begin(&bench);
	check_bench_info(&bench, "valkey_version:7.0.1\r\nredis_version:7.2.4\r\n");
	CHECK_TEXT(bench.facts.version, "7.0.1");
	check_bench_judged(&bench, VERDICT_UNFIT, "version");

	tap_case("HELLO, of Redis and of Valkey");
	check_bench_begin(&bench);
	CHECK(check_facts_take_hello(&bench.facts,
	    reply_from(
		"['server' 'redis' 'version' '6.2.1' 'proto' :2 'id' :5 'mode' 'cluster' 'role' "
		"'replica' 'modules' []]")));
	CHECK_TEXT(bench.facts.product, "redis");
	CHECK_TEXT(bench.facts.version, "6.2.1");
	CHECK_TEXT(bench.facts.mode, "cluster");
	CHECK_TEXT(bench.facts.role, "replica");
	check_bench_judged(&bench, VERDICT_UNFIT, "replica");
	check_bench_judged(&bench, VERDICT_UNFIT, "cluster");
	check_bench_begin(&bench);
	CHECK(check_facts_take_hello(&bench.facts,
	    reply_from(
		"['server' 'valkey' 'version' '9.0.0' 'proto' :2 'id' :5 'mode' 'standalone' "
		"'role' 'master' 'modules' [] 'availability_zone' '']")));
	CHECK_TEXT(bench.facts.product, "valkey");
	check_bench_info(&bench, "redis_version:7.2.4\r\n");
	CHECK_TEXT(bench.facts.version, "9.0.0");

	tap_case("a HELLO that makes no sense");
	check_bench_begin(&bench);
	CHECK(!check_facts_take_hello(&bench.facts, reply_from("'hello'")));
	CHECK(!check_facts_take_hello(&bench.facts, reply_from("[]")));
	CHECK(!check_facts_take_hello(&bench.facts, reply_from("['server']")));
	CHECK(!check_facts_take_hello(&bench.facts, reply_from("[:1 :2 [] [] 'version' :7]")));
	CHECK(!bench.facts.told[SOURCE_HELLO]);
}

static void
test_strange_answers(void)
{
	tap_case("INFO that is no INFO changes nothing");
	check_bench_begin(&bench);
	check_bench_info(&bench, "");
	check_bench_info(&bench, "\r\n\r\n");
	check_bench_info(&bench, ":");
	check_bench_info(&bench, ":::\n");
	check_bench_info(&bench, "role");
	check_bench_info(&bench, "role:");
	check_bench_info(&bench,
	    "maxclients:-5\nmaxclients:ten\nmaxclients: 1\nmaxclients:99999999999999999999\n"
	    "#role:replica\nconnected_clients:\n");
	CHECK_INT(bench.facts.clients_most, -1);
	CHECK_INT(bench.facts.clients, -1);
	CHECK_TEXT(bench.facts.role, "");
	check_bench_judged(&bench, VERDICT_GOOD, NULL);

	tap_case("a value of any length and any bytes, with a NUL in it, is cut");
	char text[4096];
	check_bench_begin(&bench);
	memset(text, 'x', sizeof text);
	memcpy(text, "run_id:", 7);
	check_facts_take_info(&bench.facts, text, sizeof text);
	CHECK_INT((int64_t)strlen(bench.facts.run_id), sizeof bench.facts.run_id - 1);
	check_facts_take_info(&bench.facts, "role:ma\0ster\r\n", 14);
	CHECK_TEXT(bench.facts.role, "ma");

	tap_case("CONFIG GET that makes no sense");
	CHECK(!check_facts_take_config(&bench.facts, reply_from("'save'")));
	CHECK(!check_facts_take_config(&bench.facts, reply_from("['save' []]")));
	CHECK(check_facts_take_config(&bench.facts, reply_from("[]")));
	CHECK(!bench.facts.save_known);
}

int
main(void)
{
	test_versions();
	test_products();
	test_strange_answers();
	return tap_end();
}
