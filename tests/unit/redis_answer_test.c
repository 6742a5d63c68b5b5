/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* store/redis_answer: what a server's answers mean, also those that no server should give. */
#include "store/redis_answer.h"

#include <inttypes.h>
#include <string.h>

#include "replies.h"
#include "tap.h"

#define NOW "'1764000000000000'"
#define NOW_US INT64_C(1764000000000000)
#define TOKEN "0f8fad5b-d9cb-469f-a165-70867728950e"
#define RECORD "host=web3\nuser=deploy\nsince=1763999808000000\nfence=7\n"

static struct store_answer
blank(void)
{
	struct store_answer answer;
	memset(&answer, 0, sizeof answer);
	answer.outcome = OUTCOME_UNKNOWN;
	return answer;
}

/* -- errors ----------------------------------------------------------------------------------- */

static const struct {
	const char *text;
	enum outcome outcome;
} errors[] = {
    /* 77: the server refuses the user. */
    {"NOAUTH Authentication required.", OUTCOME_DENIED},
    {"NOAUTH HELLO must be called with the client already authenticated", OUTCOME_DENIED},
    {"WRONGPASS invalid username-password pair or user is disabled.", OUTCOME_DENIED},
    {"ERR invalid password", OUTCOME_DENIED},
    {"ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?",
	OUTCOME_DENIED},
    {"ERR Client sent AUTH, but no password is set", OUTCOME_DENIED},
    {"NOPERM this user has no permissions to run the 'eval' command", OUTCOME_DENIED},
    {"NOPERM this user has no permissions to run the 'eval' command or its subcommand",
	OUTCOME_DENIED},
    {"NOPERM User app has no permissions to run the 'eval' command", OUTCOME_DENIED},
    {"NOPERM this user has no permissions to access one of the keys used as arguments",
	OUTCOME_DENIED},
    {"NOPERM No permissions to access a key", OUTCOME_DENIED},
    /* The same within a script: Redis 6.0 and 6.2, 7.0, 7.2 and 8. */
    {"ERR Error running script (call to f_0123): @user_script:19: @user_script: 19: -NOPERM this user has no permissions to run the 'get' command or its subcommand",
	OUTCOME_DENIED},
    {"ERR The user executing the script can't run this command or subcommand script: d3c2, on @user_script:19.",
	OUTCOME_DENIED},
    {"ERR The user executing the script can't access at least one of the keys mentioned in the command arguments script: c3f5, on @user_script:19.",
	OUTCOME_DENIED},
    {"NOPERM ACL failure in script: User app has no permissions to run the 'get' command",
	OUTCOME_DENIED},
    {"ERR ACL failure in script: No permissions to access a key script: c3f5, on @user_script:19.",
	OUTCOME_DENIED},
    /* 69: it refuses service. */
    {"READONLY You can't write against a read only replica.", OUTCOME_REFUSED},
    {"READONLY You can't write against a read only replica. script: 897a, on @user_script:70.",
	OUTCOME_REFUSED},
    {"ERR Error running script (call to f_0123): @user_script:70: @user_script: 70: -READONLY You can't write against a read only replica.",
	OUTCOME_REFUSED},
    {"LOADING Redis is loading the dataset in memory", OUTCOME_REFUSED},
    {"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
	OUTCOME_REFUSED},
    {"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
	OUTCOME_REFUSED},
    {"OOM command not allowed when used memory > 'maxmemory'.", OUTCOME_REFUSED},
    {"OOM command not allowed when used memory > 'maxmemory'. script: 897a, on @user_script:52.",
	OUTCOME_REFUSED},
    {"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
	OUTCOME_REFUSED},
    {"NOREPLICAS Not enough good replicas to write.", OUTCOME_REFUSED},
    {"WRONGTYPE Operation against a key holding the wrong kind of value", OUTCOME_REFUSED},
    {"ERR max number of clients reached", OUTCOME_REFUSED},
    {"DENIED Redis is running in protected mode because protected mode is enabled and no password is set for the default user.",
	OUTCOME_REFUSED},
    {"ERR value is not an integer or out of range", OUTCOME_REFUSED},
    {"ERR increment or decrement would overflow", OUTCOME_REFUSED},
    {"ERR DB index is out of range", OUTCOME_REFUSED},
    {"ERR unknown command 'EVAL', with args beginning with: ", OUTCOME_REFUSED},
    {"MOVED 3999 127.0.0.1:6381", OUTCOME_REFUSED},
    {"CLUSTERDOWN The cluster is down", OUTCOME_REFUSED},
    {"", OUTCOME_REFUSED},
};

static void
test_errors(void)
{
	for (size_t i = 0; i < COUNT_OF(errors); i++) {
		struct store_answer answer = blank();
		struct reply reply = {.kind = REPLY_ERROR, .text = errors[i].text};
		int64_t server_us = -7;
		reply.length = strlen(reply.text);
		tap_case("%s: %.100s", errors[i].outcome == OUTCOME_DENIED ? "denied" : "refused",
		    errors[i].text);
		CHECK_INT(answer_classify_error(errors[i].text), errors[i].outcome);
		/* In every answer it counts the same, and is quoted. */
		CHECK(answer_read_acquire(&reply, STORE_ACQUIRE, &answer, &server_us));
		CHECK_INT(answer.outcome, errors[i].outcome);
		CHECK_INT(server_us, 0);
		CHECK_HAS(answer.problem.text, "the server says: ");
		CHECK(strstr(answer.problem.text, "user_script") == NULL);
		answer = blank();
		answer_read_number(&reply, &answer);
		CHECK_INT(answer.outcome, errors[i].outcome);
		CHECK_HAS(answer.problem.text, "the server says: ");
		CHECK_INT(answer_read_time(&reply), 0);
	}
}

/* After which the name of the server is to be looked up again. */
static void
test_moves(void)
{
	static const char *const moved[] = {
	    "READONLY You can't write against a read only replica.",
	    "READONLY You can't write against a read only replica. script: 897a, on @user_script:70.",
	    "ERR Error running script (call to f_0123): @user_script:70: @user_script: 70: -READONLY You can't write against a read only replica.",
	    "LOADING Redis is loading the dataset in memory",
	    "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
	    "NOREPLICAS Not enough good replicas to write.",
	    "CLUSTERDOWN The cluster is down",
	};
	static const char *const same[] = {
	    "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
	    "OOM command not allowed when used memory > 'maxmemory'.",
	    "ERR what is READONLY about it?",
	    "READONLYLIKE",
	    "",
	};
	for (size_t i = 0; i < COUNT_OF(moved); i++) {
		tap_case("the server may have been replaced: %.100s", moved[i]);
		CHECK(answer_suggests_move(moved[i]));
	}
	for (size_t i = 0; i < COUNT_OF(same); i++) {
		tap_case("the server is the right one: %.100s", same[i]);
		CHECK(!answer_suggests_move(same[i]));
	}
}

/* What is told of it: not where in our script it came up, but what can be done. */
static void
test_quotes(void)
{
	static const char needs[] = " (what a user needs is in dlock(1) under Access control)";
	static const struct {
		const char *text, *told, *after;
	} rows[] = {
	    {"READONLY You can't write against a read only replica. script: 897a, on @user_script:70.",
		"READONLY You can't write against a read only replica.", ""},
	    {"ERR Error running script (call to f_0123): @user_script:70: @user_script: 70: -READONLY You can't write against a read only replica.",
		"READONLY You can't write against a read only replica.", ""},
	    {"ERR Error running script (call to f_0123): nonsense", NULL, ""},
	    {"ERR no script: at all", NULL, ""},
	    {"ERR no script: at all script: c3f5, on @user_script:19.", "ERR no script: at all",
		""},
	    {"ERR script: , on @user_script:1.", "ERR", ""},
	    {"ERR ERR The user executing the script can't run this command or subcommand script: d3c2, on @user_script:19.",
		"ERR The user executing the script can't run this command or subcommand", needs},
	    {"ERR ERRATIC", NULL, ""},
	    {" script: 1, on @user_script:1.", "", ""},
	    {"NOPERM this user has no permissions to access one of the keys used as arguments",
		NULL, needs},
	    {"ERR The user executing the script can't run this command or subcommand script: d3c2, on @user_script:19.",
		"ERR The user executing the script can't run this command or subcommand", needs},
	    {"NOAUTH Authentication required.", NULL, ""},
	    {"WRONGPASS invalid username-password pair or user is disabled.", NULL, ""},
	    {"OOM command not allowed when used memory > 'maxmemory'.", NULL, ""},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct problem problem, wanted;
		tap_case("told: %.60s", rows[i].text);
		problem_set(&wanted, "the server says: %s%s",
		    rows[i].told ? rows[i].told : rows[i].text, rows[i].after);
		answer_tell_error(rows[i].text, &problem);
		CHECK_TEXT(problem.text, wanted.text);
	}
}

/* With -w they are tried again at first contact too. */
static void
test_passing(void)
{
	static const char *const passing[] = {"READONLY", "LOADING", "BUSY", "MASTERDOWN",
	    "MISCONF", "NOREPLICAS", "CLUSTERDOWN", "max number of clients"};
	for (size_t i = 0; i < COUNT_OF(errors); i++) {
		struct problem problem;
		bool passes = false;
		for (size_t k = 0; k < COUNT_OF(passing); k++)
			passes = passes || strstr(errors[i].text, passing[k]) != NULL;
		tap_case("%s: %.100s", passes ? "may pass" : "stays", errors[i].text);
		CHECK_INT(answer_may_pass(errors[i].text), passes);
		answer_tell_error(errors[i].text, &problem);
		CHECK_INT(problem.is_passing, passes);
	}
	tap_case("a key's busy group is not a busy server");
	CHECK(!answer_may_pass("BUSYGROUP Consumer Group name already exists"));
	CHECK(!answer_may_pass("BUSYKEY Target key name already exists."));
}

/* -- acquire.lua ------------------------------------------------------------------------------ */

static const struct acquire_row {
	const char *reply;
	enum store_verb verb;
	enum outcome outcome;
	bool gone;
	const char *fence;
} acquires[] = {
    {"['GRANTED' '1764000000000001' " NOW " :0]", STORE_ACQUIRE, OUTCOME_OK, false,
	"1764000000000001"},
    {"['OWNED' '1764000000000001' " NOW " :0]", STORE_ACQUIRE, OUTCOME_OK, false,
	"1764000000000001"},
    {"['OWNED' '1' " NOW " :0]", STORE_TOUCH, OUTCOME_OK, false, "1"},
    {"['GRANTED' '9223372036854775807' " NOW " :0]", STORE_ACQUIRE, OUTCOME_OK, false,
	"9223372036854775807"},
    {"[+GRANTED; '5' :1764000000000000 :0]", STORE_ACQUIRE, OUTCOME_OK, false, "5"},
    {"['BUSY' :1200 " NOW " '" TOKEN "' '" RECORD "' :-1 '0' :0]", STORE_ACQUIRE, OUTCOME_HELD,
	false, ""},
    {"['BUSY' :1200 " NOW " '" TOKEN "' '" RECORD "' :-1 '0' :0]", STORE_LOOK, OUTCOME_HELD, false,
	""},
    {"['BUSY' :1200 " NOW " '" TOKEN "' '" RECORD "' :-1 '0' :0]", STORE_TOUCH, OUTCOME_LOST, false,
	""},
    {"['FREE' :0 " NOW "]", STORE_LOOK, OUTCOME_OK, true, ""},
    {"['FREE' :0 " NOW "]", STORE_TOUCH, OUTCOME_LOST, true, ""},
};

/* What a server with these scripts in hand never says: nobody knows what it has done. */
static const struct acquire_row garbled[] = {
    {"_", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {":1", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"'GRANTED'", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"+OK;", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"[]", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"['GRANTED']", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"['GRANTED' '5']", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"['GRANTED' '5' _]", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"['GRANTED' '5' '']", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"['GRANTED' '5' 'x']", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"['GRANTED' '5' '-1']", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"['GRANTED' '5' '1.7e15']", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"['GRANTED' '5' '99999999999999999999']", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"['GRANTED' '5' [" NOW "]]", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"['GRANTED' _ " NOW " :0]", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"['GRANTED' ['5'] " NOW " :0]", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"['GRANTED' -ERR; " NOW " :0]", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"[_ '5' " NOW " :0]", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"[:1 '5' " NOW " :0]", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"[['GRANTED'] '5' " NOW " :0]", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"[-GRANTED; '5' " NOW " :0]", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"['granted' '5' " NOW " :0]", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"['GRANTED ' '5' " NOW " :0]", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"['GRANTED~' '5' " NOW " :0]", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"['GRANTED' '5' '1764000000000000~']", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"['FREE~' :0 " NOW "]", STORE_LOOK, OUTCOME_UNKNOWN, false, ""},
    {"['OWNED~' '5' " NOW " :0]", STORE_TOUCH, OUTCOME_UNKNOWN, false, ""},
    {"['' '5' " NOW " :0]", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"['PONG' '5' " NOW " :0]", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"['FREE' :0 " NOW "]", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"['BUSY' :1200 " NOW "]", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"['BUSY' :1200 " NOW " '" TOKEN "']", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"['BUSY' :1200 " NOW " '" TOKEN "' '' '']", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"['BUSY' '1200' " NOW " '" TOKEN "' '' :-1 '0' :0]", STORE_ACQUIRE, OUTCOME_UNKNOWN, false,
	""},
    {"['BUSY' _ " NOW " '" TOKEN "' '' :-1 '0' :0]", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"['BUSY' :1200 " NOW " _ '' :-1 '0' :0]", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"['BUSY' :1200 " NOW " :5 '' :-1 '0' :0]", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"['BUSY' :1200 " NOW " '" TOKEN "' _ :-1 '0' :0]", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"['BUSY' :1200 " NOW " '" TOKEN "' ['host=x'] :-1 '0' :0]", STORE_ACQUIRE, OUTCOME_UNKNOWN,
	false, ""},
    {"['BUSY' :1200 " NOW " '" TOKEN "' :5 :-1 '0' :0]", STORE_TOUCH, OUTCOME_UNKNOWN, false, ""},
    {"['BUSY' :1200 " NOW " '" TOKEN "' :5 :-1 '0' :0]", STORE_LOOK, OUTCOME_UNKNOWN, false, ""},
    /* A fence that is no decimal number from 1 to 2^63-1 must not reach COMMAND. */
    {"['GRANTED' '' " NOW " :0]", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"['GRANTED' '0' " NOW " :0]", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"['GRANTED' '-5' " NOW " :0]", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"['GRANTED' '1e18' " NOW " :0]", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"['GRANTED' '0x10' " NOW " :0]", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"['GRANTED' '5~6' " NOW " :0]", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"['GRANTED' '5 ' " NOW " :0]", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"['OWNED' 'nan' " NOW " :0]", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"['GRANTED' '9223372036854775808' " NOW " :0]", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"['GRANTED' '123456789012345678901234567890' " NOW " :0]", STORE_ACQUIRE, OUTCOME_UNKNOWN,
	false, ""},
    {"['GRANTED' '5' " NOW "]", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"['GRANTED' '5' " NOW " '0']", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"['GRANTED' '5' " NOW " :-1]", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"['GRANTED' '5' " NOW " :1000]", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"['GRANTED' '5' " NOW " :0 :0]", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"['BUSY' :1200 " NOW " '" TOKEN "' '' '0' '0' :0]", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"['BUSY' :1200 " NOW " '" TOKEN "' '' :-2 '0' :0]", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"['BUSY' :1200 " NOW " '" TOKEN "' '' :0 'x' :0]", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"['BUSY' :1200 " NOW " '" TOKEN "' '' :0 '1' 'x']", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"['FULL' :1200 " NOW " '" TOKEN "' '' :-1 '0' :0]", STORE_LOOK, OUTCOME_UNKNOWN, false, ""},
    {"['SLOTS' '3' " NOW " :2]", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"['SLOTS' :3 " NOW " '2']", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"['SLOTS' :3 " NOW "]", STORE_ACQUIRE, OUTCOME_UNKNOWN, false, ""},
    {"['SLOTS' :3 " NOW " :2]", STORE_TOUCH, OUTCOME_UNKNOWN, false, ""},
};

static void
test_acquire_row(const struct acquire_row *row)
{
	struct store_answer answer = blank();
	int64_t server_us = -7;
	CHECK(answer_read_acquire(reply_from(row->reply), row->verb, &answer, &server_us));
	CHECK_INT(answer.outcome, row->outcome);
	if (row->outcome == OUTCOME_UNKNOWN) {
		CHECK(answer.problem.text[0] != '\0');
		return;
	}
	CHECK_INT(server_us, NOW_US);
	CHECK_INT(answer.gone, row->gone);
	CHECK_TEXT(answer.fence, row->fence);
}

static void
test_acquire(void)
{
	for (size_t i = 0; i < COUNT_OF(acquires); i++) {
		tap_case("verb %d answered by %s", (int)acquires[i].verb, acquires[i].reply);
		test_acquire_row(&acquires[i]);
	}
	for (size_t i = 0; i < COUNT_OF(garbled); i++) {
		tap_case("makes no sense: verb %d answered by %s", (int)garbled[i].verb,
		    garbled[i].reply);
		test_acquire_row(&garbled[i]);
	}
	static const char *const unanswered[] = {"['LATE' :0 " NOW "]", "['UNUSUAL' :0 " NOW "]"};
	for (size_t i = 0; i < COUNT_OF(unanswered); i++) {
		tap_case("no answer, but it tells the server's clock: %s", unanswered[i]);
		struct store_answer answer = blank();
		int64_t server_us = -7;
		CHECK(!answer_read_acquire(reply_from(unanswered[i]), STORE_ACQUIRE, &answer,
		    &server_us));
		CHECK_INT(server_us, NOW_US);
	}
}

/* -- renew.lua, release.lua, TIME ------------------------------------------------------------- */

static void
test_numbers(void)
{
	static const struct {
		const char *reply;
		enum outcome outcome;
		bool gone;
	} rows[] = {
	    {":1", OUTCOME_OK, false},
	    {":0", OUTCOME_LOST, true},
	    {":-1", OUTCOME_LOST, false},
	    {":2", OUTCOME_UNKNOWN, false},
	    {":-2", OUTCOME_UNKNOWN, false},
	    {":9223372036854775807", OUTCOME_UNKNOWN, false},
	    {":4294967297", OUTCOME_UNKNOWN, false}, /* 2^32 + 1 */
	    {"'1'", OUTCOME_UNKNOWN, false},
	    {"+OK;", OUTCOME_UNKNOWN, false},
	    {"_", OUTCOME_UNKNOWN, false},
	    {"[:1]", OUTCOME_UNKNOWN, false},
	    {"[]", OUTCOME_UNKNOWN, false},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct store_answer answer = blank();
		tap_case("renew or release answered by %s", rows[i].reply);
		answer_read_number(reply_from(rows[i].reply), &answer);
		CHECK_INT(answer.outcome, rows[i].outcome);
		if (answer.outcome == OUTCOME_LOST)
			CHECK_INT(answer.gone, rows[i].gone);
		if (answer.outcome == OUTCOME_UNKNOWN)
			CHECK(answer.problem.text[0] != '\0');
	}
}

static void
test_time(void)
{
	static const struct {
		const char *reply;
		int64_t us; /* 0: none */
	} rows[] = {
	    {"['1764000000' '123456']", INT64_C(1764000000123456)},
	    {"['1764000000' '0']", INT64_C(1764000000000000)},
	    {"[:1764000000 :123456]", INT64_C(1764000000123456)},
	    {"['1764000000']", 0},
	    {"['1764000000' '1' '2']", 0},
	    {"['x' '1']", 0},
	    {"['1764000000' 'x']", 0},
	    {"['-1' '0']", 0},
	    {"[_ _]", 0},
	    {"[]", 0},
	    {"_", 0},
	    {"'1764000000'", 0},
	    {":1764000000", 0},
	    {"['9223372036854775807' '0']", 0},
	    {"['99999999999999999999' '0']", 0},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		tap_case("TIME answered by %s", rows[i].reply);
		CHECK_INT(answer_read_time(reply_from(rows[i].reply)), rows[i].us);
	}
}

int
main(void)
{
	test_errors();
	test_moves();
	test_quotes();
	test_passing();
	test_acquire();
	test_numbers();
	test_time();
	return tap_end();
}
