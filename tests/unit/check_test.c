/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* view/check_facts, check_judge: what is taken from a server's answers, whatever they are, and what
 * verdict follows. */
#include "view/check_facts.h"

#include <stdio.h>
#include <string.h>

#include "replies.h"
#include "tap.h"
#include "view/check_judge.h"

static struct check_facts facts;
static struct check_judgement judgement;

/* The facts of a server with which nothing is wrong. */
static void
begin(void)
{
	struct lease_terms terms;
	struct problem problem;
	CHECK(lease_terms_make(&terms, 30 * NS_PER_S, 5 * NS_PER_S, &problem));
	check_facts_init(&facts, "redis://db1", "lock:", 0, &terms);
	facts.is_reached = true;
	facts.told[SOURCE_INFO] = facts.told[SOURCE_CONFIG] = true;
	for (int i = 0; i < FEATURES; i++)
		check_facts_take_trial(&facts, (enum check_feature)i, true, "");
}

static void
info(const char *text)
{
	check_facts_take_info(&facts, text, strlen(text));
}

/* Has the judgement a reason of that code? NULL: it is good. */
static void
judged(enum check_verdict verdict, const char *code)
{
	check_judge(&facts, &judgement);
	CHECK_INT(judgement.verdict, verdict);
	bool found = code == NULL && judgement.count == 0;
	for (size_t i = 0; i < judgement.count; i++) {
		found = found || (code != NULL && strcmp(judgement.reasons[i].code, code) == 0);
		CHECK(judgement.reasons[i].text[0] != '\0');
		if (i > 0)
			CHECK(judgement.reasons[i - 1].is_fatal || !judgement.reasons[i].is_fatal);
	}
	CHECK(found);
}

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
		begin();
		snprintf(facts.product, sizeof facts.product, "%s", rows[i].product);
		snprintf(facts.version, sizeof facts.version, "%s", rows[i].version);
		if (rows[i].is_new_enough)
			judged(VERDICT_GOOD, NULL);
		else
			judged(VERDICT_UNFIT, "version");
	}
}

static void
test_products(void)
{
	tap_case("INFO of Redis");
	begin();
	info("# Server\r\nredis_version:7.0.15\r\nredis_git_sha1:0\r\nredis_mode:standalone\r\n"
	     "run_id:abc\r\nuptime_in_seconds:77\r\nrole:master\r\n");
	CHECK_TEXT(facts.product, "redis");
	CHECK_TEXT(facts.version, "7.0.15");
	CHECK_TEXT(facts.mode, "standalone");
	CHECK_TEXT(facts.run_id, "abc");
	CHECK_TEXT(facts.role, "master");
	CHECK_INT(facts.uptime_s, 77);

	tap_case("INFO of Valkey, which tells a version of Redis as well, in either order");
	begin();
	info("redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.1.1\r\n"
	     "server_mode:standalone\r\n");
	CHECK_TEXT(facts.product, "valkey");
	CHECK_TEXT(facts.version, "8.1.1");
	CHECK_TEXT(facts.mode, "standalone");
	begin();
	info("valkey_version:7.0.1\r\nredis_version:7.2.4\r\n");
	CHECK_TEXT(facts.version, "7.0.1");
	judged(VERDICT_UNFIT, "version");

	tap_case("HELLO, of Redis and of Valkey");
	begin();
	CHECK(check_facts_take_hello(&facts,
	    reply_from(
		"['server' 'redis' 'version' '6.2.1' 'proto' :2 'id' :5 'mode' 'cluster' 'role' "
		"'replica' 'modules' []]")));
	CHECK_TEXT(facts.product, "redis");
	CHECK_TEXT(facts.version, "6.2.1");
	CHECK_TEXT(facts.mode, "cluster");
	CHECK_TEXT(facts.role, "replica");
	judged(VERDICT_UNFIT, "replica");
	judged(VERDICT_UNFIT, "cluster");
	begin();
	CHECK(check_facts_take_hello(&facts,
	    reply_from(
		"['server' 'valkey' 'version' '9.0.0' 'proto' :2 'id' :5 'mode' 'standalone' "
		"'role' 'master' 'modules' [] 'availability_zone' '']")));
	CHECK_TEXT(facts.product, "valkey");
	info("redis_version:7.2.4\r\n");
	CHECK_TEXT(facts.version, "9.0.0");

	tap_case("a HELLO that makes no sense");
	begin();
	CHECK(!check_facts_take_hello(&facts, reply_from("'hello'")));
	CHECK(!check_facts_take_hello(&facts, reply_from("[]")));
	CHECK(!check_facts_take_hello(&facts, reply_from("['server']")));
	CHECK(!check_facts_take_hello(&facts, reply_from("[:1 :2 [] [] 'version' :7]")));
	CHECK(!facts.told[SOURCE_HELLO]);
}

static void
test_strange_answers(void)
{
	tap_case("INFO that is no INFO changes nothing");
	begin();
	info("");
	info("\r\n\r\n");
	info(":");
	info(":::\n");
	info("role");
	info("role:");
	info("maxclients:-5\nmaxclients:ten\nmaxclients: 1\nmaxclients:99999999999999999999\n"
	     "#role:replica\nconnected_clients:\n");
	CHECK_INT(facts.clients_most, -1);
	CHECK_INT(facts.clients, -1);
	CHECK_TEXT(facts.role, "");
	judged(VERDICT_GOOD, NULL);

	tap_case("a value of any length and any bytes, with a NUL in it, is cut");
	char text[4096];
	begin();
	memset(text, 'x', sizeof text);
	memcpy(text, "run_id:", 7);
	check_facts_take_info(&facts, text, sizeof text);
	CHECK_INT((int64_t)strlen(facts.run_id), sizeof facts.run_id - 1);
	check_facts_take_info(&facts, "role:ma\0ster\r\n", 14);
	CHECK_TEXT(facts.role, "ma");

	tap_case("CONFIG GET that makes no sense");
	CHECK(!check_facts_take_config(&facts, reply_from("'save'")));
	CHECK(!check_facts_take_config(&facts, reply_from("['save' []]")));
	CHECK(check_facts_take_config(&facts, reply_from("[]")));
	CHECK(!facts.save_known);
}

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
		begin();
		info(rows[i].told);
		judged(rows[i].code == NULL ? VERDICT_GOOD
			: rows[i].is_fatal  ? VERDICT_UNFIT
					    : VERDICT_WORKS_BUT,
		    rows[i].code);
		CHECK(judgement.count <= 1);
	}
}

static void
test_several_servers(void)
{
	tap_case("two run ids: two servers behind one address");
	begin();
	info("run_id:abc\n");
	snprintf(facts.other_run_id, sizeof facts.other_run_id, "abc");
	judged(VERDICT_GOOD, NULL);
	snprintf(facts.other_run_id, sizeof facts.other_run_id, "def");
	judged(VERDICT_UNFIT, "several-servers");
	facts.run_id[0] = '\0';
	judged(VERDICT_GOOD, NULL);
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
		begin();
		facts.failure = rows[i].outcome;
		facts.is_reached = rows[i].is_reached;
		problem_set(&facts.problem, "no answer");
		judged(VERDICT_UNFIT, rows[i].code);
		CHECK_TEXT(judgement.reasons[0].text, "no answer");
	}
}

static void
test_times(void)
{
	tap_case("the clock: the shortest round trip counts, half of it is the error");
	begin();
	check_facts_take_round(&facts, 400 * NS_PER_US, 1000500, 1000000);
	CHECK_INT(facts.clock_us, 300);
	CHECK_INT(facts.clock_error_us, 200);
	check_facts_take_round(&facts, 100 * NS_PER_US, 2000500, 2000000);
	CHECK_INT(facts.clock_us, 450);
	CHECK_INT(facts.clock_error_us, 50);
	check_facts_take_round(&facts, 200 * NS_PER_US, 9000500, 3000000);
	CHECK_INT(facts.clock_us, 450);
	check_facts_sort(&facts);
	CHECK_INT(facts.rounds, 3);
	CHECK_INT(facts.round_ns[0], 100 * NS_PER_US);
	CHECK_INT(facts.round_ns[2], 400 * NS_PER_US);
	for (int i = 0; i < 50; i++)
		check_facts_take_round(&facts, NS_PER_US, 0, 0);
	CHECK_INT(facts.rounds, CHECK_ROUNDS);

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
		begin();
		facts.clock_us = rows[i].clock_us;
		facts.clock_error_us = rows[i].error_us;
		judged(rows[i].words ? VERDICT_WORKS_BUT : VERDICT_GOOD,
		    rows[i].words ? "clock" : NULL);
		if (rows[i].words != NULL)
			CHECK_HAS(judgement.reasons[0].text, rows[i].words);
	}

	tap_case("round trips longer than what a renewal may take: the median decides");
	begin();
	for (int i = 0; i < 3; i++)
		facts.round_ns[i] = (i == 2 ? 3 : 1) * NS_PER_S;
	facts.rounds = 3;
	judged(VERDICT_WORKS_BUT, "slow");
	facts.round_ns[1] = 2600 * NS_PER_MS;
	judged(VERDICT_UNFIT, "too-slow");
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
		begin();
		check_facts_take_refusal(&facts, rows[i].command,
		    "ERR The user executing the script can't run this command or subcommand");
		for (int k = 0; k < FEATURES; k++) {
			if (facts.trials[k].missing[0] == '\0')
				continue;
			CHECK_TEXT(facts.trials[k].missing, rows[i].command);
			snprintf(lost + strlen(lost), sizeof lost - strlen(lost), "%s ",
			    check_feature_name((enum check_feature)k));
		}
		CHECK_TEXT(lost, rows[i].lost);
	}

	tap_case("an error that is no refusal says nothing of rights; an unknown command does");
	begin();
	check_facts_take_refusal(&facts, "SET", "ERR invalid expire time in 'set' command");
	check_facts_take_refusal(&facts, "SET",
	    "READONLY You can't write against a read only replica.");
	check_facts_take_refusal(&facts, "SET", "OOM command not allowed");
	check_facts_take_refusal(&facts, "PUBLISH",
	    "NOPERM ACL failure in script: No permissions to access a channel");
	judged(VERDICT_GOOD, NULL);
	check_facts_take_refusal(&facts, "SET", "ERR Unknown Redis command called from script");
	judged(VERDICT_UNFIT, "locks");
	CHECK_HAS(judgement.reasons[0].text, "this user may not use SET");

	tap_case("however many are refused, it has an end");
	begin();
	for (int i = 0; i < 100; i++)
		check_facts_take_refusal(&facts, "ZREMRANGEBYSCORE", NOPERM);
	CHECK(strlen(facts.trials[FEATURE_SHARED].missing) < 200);
	judged(VERDICT_WORKS_BUT, "shared");
}

static void
test_trials(void)
{
	tap_case("a command that the server's refusal names");
	begin();
	check_facts_take_trial(&facts, FEATURE_WATCH, false,
	    "the server says: NOPERM User app has no permissions to run the 'client|tracking' command "
	    "(what a user needs is in dlock(1) under Access control)");
	CHECK_TEXT(facts.trials[FEATURE_WATCH].missing, "CLIENT TRACKING");
	CHECK_TEXT(facts.trials[FEATURE_WATCH].why,
	    "the server says: NOPERM User app has no permissions to run the 'client|tracking' command");
	judged(VERDICT_WORKS_BUT, "watch");
	CHECK_TEXT(judgement.reasons[0].text, "no --watch: this user may not use CLIENT TRACKING");

	tap_case("what has failed once does not work, whatever comes after it");
	check_facts_take_trial(&facts, FEATURE_WATCH, true, "");
	CHECK_INT(facts.trials[FEATURE_WATCH].result, CHECK_FAILS);

	tap_case("without locks what is lost with them is not said again");
	begin();
	check_facts_take_trial(&facts, FEATURE_LOCK, false, "OOM");
	check_facts_take_trial(&facts, FEATURE_SHARED, false, "OOM");
	check_facts_take_trial(&facts, FEATURE_STATUS, false, "OOM");
	check_facts_take_trial(&facts, FEATURE_LIST, false, "something else");
	judged(VERDICT_UNFIT, "locks");
	CHECK_INT((int64_t)judgement.count, 2);
	CHECK_TEXT(judgement.reasons[1].code, "list");

	tap_case("every reason at once has room, the fatal ones first");
	begin();
	info(
	    "loading:1\nrole:slave\nredis_mode:cluster\nmaxmemory:10\nmaxmemory_policy:allkeys-lru\n"
	    "redis_version:1.0\naof_enabled:0\nsave:\nrdb_last_bgsave_status:err\n"
	    "aof_last_write_status:err\nconnected_slaves:1\nmin-replicas-to-write:0\n"
	    "connected_clients:9\nmaxclients:9\ntimeout:1\n");
	facts.clock_error_us = 0;
	facts.clock_us = 5000000;
	for (int i = 0; i < FEATURES; i++) {
		facts.trials[i].result = CHECK_FAILS;
		snprintf(facts.trials[i].why, sizeof facts.trials[i].why, "%d", i);
	}
	facts.trials[FEATURE_LOCK].result = CHECK_WORKS;
	judged(VERDICT_UNFIT, "clock");
	CHECK(judgement.count >= 20);
}

int
main(void)
{
	test_versions();
	test_products();
	test_strange_answers();
	test_verdicts();
	test_several_servers();
	test_failures();
	test_times();
	test_rights();
	test_trials();
	return tap_end();
}
