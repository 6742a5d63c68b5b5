/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* view/check_judge: what verdict follows from which facts. */
#include "view/check_judge.h"

#include <stdio.h>
#include <string.h>

#include "check_bench.h"
#include "tap.h"

static struct check_bench bench;

/* Each line of INFO or CONFIG with its verdict, on an otherwise good server. */
static void
test_verdicts(void)
{
	static const struct {
		const char *told, *code; /* NULL: good */
		bool is_fatal;
	} rows[] = {
	    {"loading:0\n", NULL, false},
	    {"loading:1\n", "loading", true},
	    {"role:master\n", NULL, false},
	    {"role:slave\nmaster_link_status:up\n", "replica", true},
	    {"role:replica\nmaster_link_status:down\n", "replica", true},
	    {"maxmemory:0\nmaxmemory_policy:allkeys-lru\n", NULL, false},
	    {"maxmemory:1000\nmaxmemory_policy:allkeys-lru\nused_memory:1\n", "eviction", false},
	    {"maxmemory:1000\nmaxmemory_policy:volatile-ttl\nused_memory:1\n", "eviction", false},
	    {"maxmemory:1000\nmaxmemory_policy:noeviction\nused_memory:899\n", NULL, false},
	    {"maxmemory:1000\nmaxmemory_policy:noeviction\nused_memory:900\n", "memory", false},
	    {"maxmemory:9223372036854775807\nmaxmemory_policy:noeviction\n"
	     "used_memory:9223372036854775807\n",
		"memory", false},
	    {"aof_enabled:1\nappendfsync:always\nsave:\n", NULL, false},
	    {"aof_enabled:1\nappendfsync:everysec\nsave:\n", NULL, false},
	    {"aof_enabled:1\nappendfsync:no\nsave:\n", "appendfsync-no", false},
	    {"aof_enabled:0\nsave:\n", "no-persistence", false},
	    {"aof_enabled:0\nsave:3600 1\n", "snapshots-only", false},
	    {"aof_enabled:0\n", NULL, false}, /* whether there are snapshots is not told */
	    {"rdb_last_bgsave_status:ok\naof_last_write_status:ok\n", NULL, false},
	    {"rdb_last_bgsave_status:err\n", "save-failed", false},
	    {"aof_last_write_status:err\n", "append-failed", false},
	    {"connected_slaves:0\nmin-replicas-to-write:0\n", NULL, false},
	    {"connected_slaves:2\nmin-replicas-to-write:0\n", "failover", false},
	    {"connected_slaves:2\nmin-replicas-to-write:2\n", NULL, false},
	    {"connected_slaves:1\nmin-replicas-to-write:2\n", "min-replicas", true},
	    {"connected_slaves:2\nmin_slaves_good_slaves:0\nmin-replicas-to-write:1\n",
		"min-replicas", true},
	    {"redis_version:7.0.0\nconnected_slaves:1\nmin-replicas-to-write:2\n", "min-replicas",
		true},
	    {"redis_version:6.2.14\nconnected_slaves:1\nmin-replicas-to-write:2\n", "failover",
		false},
	    {"redis_version:6.2.14\nconnected_slaves:2\nmin-replicas-to-write:2\n", "failover",
		false},
	    {"connected_clients:89\nmaxclients:100\n", NULL, false},
	    {"connected_clients:90\nmaxclients:100\n", "maxclients", false},
	    {"connected_clients:90\n", NULL, false},
	    {"timeout:0\n", NULL, false},
	    {"timeout:11\n", NULL, false},
	    {"timeout:10\n", "idle-timeout", false},
	    {"timeout:9223372036854775807\n", NULL, false},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		tap_case("told: %s", rows[i].told);
		check_bench_begin(&bench);
		check_bench_info(&bench, rows[i].told);
		check_bench_judged(&bench,
		    rows[i].code == NULL   ? VERDICT_GOOD
			: rows[i].is_fatal ? VERDICT_UNFIT
					   : VERDICT_WORKS_BUT,
		    rows[i].code);
		CHECK(bench.judgement.count <= 1);
	}
}

static void
test_several_servers(void)
{
	tap_case("two run ids: two servers behind one address");
	check_bench_begin(&bench);
	check_bench_info(&bench, "run_id:abc\n");
	snprintf(bench.facts.other_run_id, sizeof bench.facts.other_run_id, "abc");
	check_bench_judged(&bench, VERDICT_GOOD, NULL);
	snprintf(bench.facts.other_run_id, sizeof bench.facts.other_run_id, "def");
	check_bench_judged(&bench, VERDICT_UNFIT, "several-servers");
	bench.facts.run_id[0] = '\0';
	check_bench_judged(&bench, VERDICT_GOOD, NULL);
}

static void
test_failures(void)
{
	static const struct {
		enum outcome outcome;
		bool is_reached;
		const char *code;
	} rows[] = {
	    {OUTCOME_UNREACHABLE, false, "unreachable"},
	    {OUTCOME_REFUSED, false, "unreachable"},
	    {OUTCOME_DENIED, false, "denied"},
	    {OUTCOME_UNKNOWN, true, "lost"},
	    {OUTCOME_UNREACHABLE, true, "lost"},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		tap_case("a failure: outcome %d, %s", (int)rows[i].outcome, rows[i].code);
		check_bench_begin(&bench);
		bench.facts.failure = rows[i].outcome;
		bench.facts.is_reached = rows[i].is_reached;
		problem_set(&bench.facts.problem, "no answer");
		check_bench_judged(&bench, VERDICT_UNFIT, rows[i].code);
		CHECK_TEXT(bench.judgement.reasons[0].text, "no answer");
	}
}

static void
test_times(void)
{
	tap_case("the clock: the shortest round trip counts, half of it is the error");
	check_bench_begin(&bench);
	check_facts_take_round(&bench.facts, 400 * NS_PER_US, 1000500, 1000000);
	CHECK_INT(bench.facts.clock_us, 300);
	CHECK_INT(bench.facts.clock_error_us, 200);
	check_facts_take_round(&bench.facts, 100 * NS_PER_US, 2000500, 2000000);
	CHECK_INT(bench.facts.clock_us, 450);
	CHECK_INT(bench.facts.clock_error_us, 50);
	check_facts_take_round(&bench.facts, 200 * NS_PER_US, 9000500, 3000000);
	CHECK_INT(bench.facts.clock_us, 450);
	check_facts_sort(&bench.facts);
	CHECK_INT(bench.facts.rounds, 3);
	CHECK_INT(bench.facts.round_ns[0], 100 * NS_PER_US);
	CHECK_INT(bench.facts.round_ns[2], 400 * NS_PER_US);
	for (int i = 0; i < 50; i++)
		check_facts_take_round(&bench.facts, NS_PER_US, 0, 0);
	CHECK_INT(bench.facts.rounds, CHECK_ROUNDS);

	static const struct {
		int64_t clock_us, error_us;
		const char *words; /* NULL: good */
	} rows[] = {
	    {0, 0, NULL},
	    {1000000, 0, NULL},
	    {-1000000, 0, NULL},
	    {1100000, 200000, NULL},
	    {2000000, 100, "ahead of this host's"},
	    {-3600000000, 100, "1h00m behind"},
	    {INT64_MAX, 0, "ahead of"},
	    {INT64_MIN + 1, 0, "behind"},
	    {5000000, -1, NULL},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		tap_case("a clock that is wrong by %lld us", (long long)rows[i].clock_us);
		check_bench_begin(&bench);
		bench.facts.clock_us = rows[i].clock_us;
		bench.facts.clock_error_us = rows[i].error_us;
		check_bench_judged(&bench, rows[i].words ? VERDICT_WORKS_BUT : VERDICT_GOOD,
		    rows[i].words ? "clock" : NULL);
		if (rows[i].words != NULL)
			CHECK_HAS(bench.judgement.reasons[0].text, rows[i].words);
	}

	tap_case("round trips longer than what a renewal may take: the median decides");
	check_bench_begin(&bench);
	for (int i = 0; i < 3; i++)
		bench.facts.round_ns[i] = (i == 2 ? 3 : 1) * NS_PER_S;
	bench.facts.rounds = 3;
	check_bench_judged(&bench, VERDICT_WORKS_BUT, "slow");
	bench.facts.round_ns[1] = 2600 * NS_PER_MS;
	check_bench_judged(&bench, VERDICT_UNFIT, "too-slow");
}

/* -- features --------------------------------------------------------------------------------- */

#define NOPERM "NOPERM this user has no permissions to run the 'x' command or its subcommand"

static void
test_rights(void)
{
	static const struct {
		const char *command;
		const char *lost; /* names of features, each with a blank behind it */
	} rows[] = {
	    {"HSET", "locks waiting shared slots break "},
	    {"ZADD", "waiting shared slots "},
	    {"PUBLISH", "messages "},
	    {"PUBSUB NUMSUB", "messages "},
	    {"PERSIST", "counter "},
	    {"SCAN", "list "},
	    {"HMGET", "status list "},
	    {"NOSUCH", ""},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char lost[256] = "";
		tap_case("%s is refused: %s", rows[i].command, rows[i].lost);
		check_bench_begin(&bench);
		check_facts_take_refusal(&bench.facts, rows[i].command,
		    "ERR The user executing the script can't run this command or subcommand");
		for (int k = 0; k < FEATURES; k++) {
			if (bench.facts.trials[k].missing[0] == '\0')
				continue;
			CHECK_TEXT(bench.facts.trials[k].missing, rows[i].command);
			snprintf(lost + strlen(lost), sizeof lost - strlen(lost), "%s ",
			    check_feature_name((enum check_feature)k));
		}
		CHECK_TEXT(lost, rows[i].lost);
	}

	tap_case("an error that is no refusal says nothing of rights; an unknown command does");
	check_bench_begin(&bench);
	check_facts_take_refusal(&bench.facts, "SET", "ERR invalid expire time in 'set' command");
	check_facts_take_refusal(&bench.facts, "SET",
	    "READONLY You can't write against a read only replica.");
	check_facts_take_refusal(&bench.facts, "SET", "OOM command not allowed");
	check_facts_take_refusal(&bench.facts, "PUBLISH",
	    "NOPERM ACL failure in script: No permissions to access a channel");
	check_bench_judged(&bench, VERDICT_GOOD, NULL);
	check_facts_take_refusal(&bench.facts, "SET",
	    "ERR Unknown Redis command called from script");
	check_bench_judged(&bench, VERDICT_UNFIT, "locks");
	CHECK_HAS(bench.judgement.reasons[0].text, "this user may not use SET");

	tap_case("a server that is too old for the channels of a cluster is told from a right");
	check_bench_begin(&bench);
	check_facts_take_refusal(&bench.facts, "PUBSUB SHARDNUMSUB",
	    "ERR Unknown subcommand or wrong number of arguments for 'SHARDNUMSUB'. Try PUBSUB "
	    "HELP.");
	check_facts_take_refusal(&bench.facts, "SPUBLISH",
	    "@user_script: 24: Unknown Redis command called from Lua script");
	CHECK_TEXT(bench.facts.trials[FEATURE_MESSAGES].missing, "");
	check_bench_judged(&bench, VERDICT_WORKS_BUT, "messages");
	CHECK_HAS(bench.judgement.reasons[0].text, "as Redis 7 has them");
	check_facts_take_refusal(&bench.facts, "SPUBLISH",
	    "ERR The user executing the script can't run this command or subcommand");
	CHECK_TEXT(bench.facts.trials[FEATURE_MESSAGES].missing, "SPUBLISH");

	tap_case("however many are refused, it has an end");
	check_bench_begin(&bench);
	for (int i = 0; i < 100; i++)
		check_facts_take_refusal(&bench.facts, "ZREMRANGEBYSCORE", NOPERM);
	CHECK(strlen(bench.facts.trials[FEATURE_SHARED].missing) < 200);
	check_bench_judged(&bench, VERDICT_WORKS_BUT, "shared");
}

static void
test_trials(void)
{
	tap_case("a command that the server's refusal names");
	check_bench_begin(&bench);
	check_facts_take_trial(&bench.facts, FEATURE_WATCH, false,
	    "the server says: NOPERM User app has no permissions to run the 'client|tracking' command "
	    "(what a user needs is in dlock(1) under Access control)");
	CHECK_TEXT(bench.facts.trials[FEATURE_WATCH].missing, "CLIENT TRACKING");
	CHECK_TEXT(bench.facts.trials[FEATURE_WATCH].why,
	    "the server says: NOPERM User app has no permissions to run the 'client|tracking' command");
	check_bench_judged(&bench, VERDICT_WORKS_BUT, "watch");
	CHECK_TEXT(bench.judgement.reasons[0].text,
	    "no --watch: this user may not use CLIENT TRACKING");

	tap_case("what has failed once does not work, whatever comes after it");
	check_facts_take_trial(&bench.facts, FEATURE_WATCH, true, "");
	CHECK_INT(bench.facts.trials[FEATURE_WATCH].result, CHECK_FAILS);

	tap_case("without locks what is lost with them is not said again");
	check_bench_begin(&bench);
	check_facts_take_trial(&bench.facts, FEATURE_LOCK, false, "OOM");
	check_facts_take_trial(&bench.facts, FEATURE_SHARED, false, "OOM");
	check_facts_take_trial(&bench.facts, FEATURE_STATUS, false, "OOM");
	check_facts_take_trial(&bench.facts, FEATURE_LIST, false, "something else");
	check_bench_judged(&bench, VERDICT_UNFIT, "locks");
	CHECK_INT((int64_t)bench.judgement.count, 2);
	CHECK_TEXT(bench.judgement.reasons[1].code, "list");

	tap_case("every reason at once has room, the fatal ones first");
	check_bench_begin(&bench);
	check_bench_info(&bench,
	    "loading:1\nrole:slave\nredis_mode:cluster\nmaxmemory:10\nmaxmemory_policy:allkeys-lru\n"
	    "redis_version:1.0\naof_enabled:0\nsave:\nrdb_last_bgsave_status:err\n"
	    "aof_last_write_status:err\nconnected_slaves:1\nmin-replicas-to-write:0\n"
	    "connected_clients:9\nmaxclients:9\ntimeout:1\n");
	bench.facts.clock_error_us = 0;
	bench.facts.clock_us = 5000000;
	for (int i = 0; i < FEATURES; i++) {
		bench.facts.trials[i].result = CHECK_FAILS;
		snprintf(bench.facts.trials[i].why, sizeof bench.facts.trials[i].why, "%d", i);
	}
	bench.facts.trials[FEATURE_LOCK].result = CHECK_WORKS;
	check_bench_judged(&bench, VERDICT_UNFIT, "clock");
	CHECK(bench.judgement.count >= 20);
}
int
main(void)
{
	test_verdicts();
	test_several_servers();
	test_failures();
	test_times();
	test_rights();
	test_trials();
	return tap_end();
}
