/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* store/redis_answer: who has the lock, where in line a waiter stands, which slot a holder has. */
#include <string.h>

#include "replies.h"
#include "store/redis_answer.h"
#include "tap.h"

#define NOW "'1764000000000000'"
#define TOKEN "0f8fad5b-d9cb-469f-a165-70867728950e"
#define RECORD "host=web3\nuser=deploy\nsince=1763999808000000\nfence=7\n"

static struct store_answer
read_acquire(const char *reply)
{
	struct store_answer answer;
	int64_t server_us;
	memset(&answer, 0, sizeof answer);
	answer.outcome = OUTCOME_UNKNOWN;
	CHECK(answer_read_acquire(reply_from(reply), STORE_ACQUIRE, &answer, &server_us));
	return answer;
}

static void
test_holders(void)
{
	static const struct {
		const char *what, *reply;
		bool known, finished, broken;
		const char *token, *host;
		int64_t held_ns, left_ns;
	} rows[] = {
	    {"a dlock", "['BUSY' :1200 " NOW " '" TOKEN "' '" RECORD "' :-1 '0' :0]", true, false,
		false, TOKEN, "web3", 192 * NS_PER_S, 1200 * NS_PER_MS},
	    {"a foreign client without a record", "['BUSY' :1200 " NOW " 'abc' '' :-1 '0' :0]",
		false, false, false, "abc", "", -1, 1200 * NS_PER_MS},
	    {"a foreign key that does not expire", "['BUSY' :-1 " NOW " 'abc' '' :-1 '0' :0]",
		false, false, false, "abc", "", -1, -1},
	    {"one that is just expiring", "['BUSY' :0 " NOW " 'abc' '' :-1 '0' :0]", false, false,
		false, "abc", "", -1, 0},
	    {"a holding kept by --at-least",
		"['BUSY' :9000 " NOW " 'dlock!done:" TOKEN "' '" RECORD "' :-1 '0' :0]", true, true,
		false, "dlock!done:" TOKEN, "web3", 192 * NS_PER_S, 9 * NS_PER_S},
	    {"one that --break has ended",
		"['BUSY' :9000 " NOW " 'dlock!broken:" TOKEN "' '" RECORD "' :-1 '0' :0]", true,
		false, true, "dlock!broken:" TOKEN, "web3", 192 * NS_PER_S, 9 * NS_PER_S},
	    {"one of several", "['BUSY' :9000 " NOW " '" TOKEN "' '" RECORD "' :-1 '0' :0]", true,
		false, false, TOKEN, "web3", 192 * NS_PER_S, 9 * NS_PER_S},
	    {"a token that only resembles that marker",
		"['BUSY' :9 " NOW " 'dlock!done' '' :-1 '0' :0]", false, false, false, "dlock!done",
		"", -1, 9 * NS_PER_MS},
	    {"an empty token", "['BUSY' :9 " NOW " '' '' :-1 '0' :0]", false, false, false, "", "",
		-1, 9 * NS_PER_MS},
	    {"a token of bytes", "['BUSY' :9 " NOW " 'a~b' '' :-1 '0' :0]", false, false, false,
		"a", "", -1, 9 * NS_PER_MS},
	    {"a record from a clock that is ahead",
		"['BUSY' :9 " NOW " 'x' 'host=a\nsince=1764000000000001\n' :-1 '0' :0]", true,
		false, false, "x", "a", -1, 9 * NS_PER_MS},
	    {"a record without a time", "['BUSY' :9 " NOW " 'x' 'host=a\n' :-1 '0' :0]", true,
		false, false, "x", "a", -1, 9 * NS_PER_MS},
	    {"a record with a negative time",
		"['BUSY' :9 " NOW " 'x' 'host=a\nsince=-5\n' :-1 '0' :0]", true, false, false, "x",
		"a", -1, 9 * NS_PER_MS},
	    {"a record of garbage", "['BUSY' :9 " NOW " 'x' '~~==\n=' :-1 '0' :0]", true, false,
		false, "x", "", -1, 9 * NS_PER_MS},
	    {"an expiry of 292 years", "['BUSY' :9000000000000000000 " NOW " 'x' '' :-1 '0' :0]",
		false, false, false, "x", "", -1, INT64_MAX},
	    {"a token that is too long",
		"['BUSY' :9 " NOW " '" TOKEN TOKEN TOKEN "' '' :-1 '0' :0]", false, false, false,
		"0f8fad5b-d9cb-469f-a165-70867728950e0f8fad5b-d9cb-469f-a165-708", "", -1,
		9 * NS_PER_MS},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		tap_case("who has it: %s", rows[i].what);
		struct store_answer answer = read_acquire(rows[i].reply);
		CHECK_INT(answer.outcome, OUTCOME_HELD);
		CHECK_INT(answer.holder.known, rows[i].known);
		CHECK_INT(answer.holder.finished, rows[i].finished);
		CHECK_INT(answer.holder.broken, rows[i].broken);
		CHECK(!answer.holder.ours);
		CHECK_TEXT(answer.holder.token, rows[i].token);
		CHECK_TEXT(answer.holder.identity.host, rows[i].host);
		CHECK_INT(answer.holder.held_ns, rows[i].held_ns);
		CHECK_INT(answer.holder.left_ns, rows[i].left_ns);
	}
}

static void
test_place(void)
{
#define HEAD "['BUSY' :1200 " NOW " '" TOKEN "' '" RECORD "' "
	static const struct {
		const char *reply;
		struct place place;
	} rows[] = {
	    {HEAD ":0 '1764000000000001' :1]",
		{0, INT64_C(1764000000000001), 0, true, false, false}},
	    {HEAD ":999 '1764000000000001' :0]",
		{999, INT64_C(1764000000000001), 0, false, false, false}},
	    {HEAD ":-1 '0' :0]", {-1, 0, 0, false, false, false}},
	    {HEAD ":3 :17 :1]", {3, 17, 0, true, false, false}},
	    {HEAD ":-1 :17 :0]", {-1, 0, 17, false, false, false}},
	    {"['FULL' :1200 " NOW " '" TOKEN "' '" RECORD "' :-1 '3' :0]",
		{-1, 0, 3, false, true, false}},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		tap_case("where in line: row %zu", i + 1);
		struct store_answer answer = read_acquire(rows[i].reply);
		CHECK_INT(answer.outcome, OUTCOME_HELD);
		CHECK_INT(answer.place.rank, rows[i].place.rank);
		CHECK_INT(answer.place.ticket, rows[i].place.ticket);
		CHECK_INT(answer.place.waiting, rows[i].place.waiting);
		CHECK_INT(answer.place.told, rows[i].place.told);
		CHECK_INT(answer.place.full, rows[i].place.full);
		CHECK(!answer.place.followed);
		CHECK_TEXT(answer.holder.token, TOKEN);
	}
}

static void
test_slots(void)
{
	static const int64_t slots[] = {0, 1, 999};
	static const char *const replies[] = {"['GRANTED' '5' " NOW " :0]",
	    "['OWNED' '5' " NOW " :1]", "['GRANTED' '5' " NOW " :999]"};
	for (size_t i = 0; i < COUNT_OF(slots); i++) {
		tap_case("which slot: %s", replies[i]);
		struct store_answer answer = read_acquire(replies[i]);
		CHECK_INT(answer.outcome, OUTCOME_OK);
		CHECK_INT(answer.slot, slots[i]);
		CHECK(!answer.for_good);
	}

	tap_case("another number of slots: refused for good, and both numbers are said");
	struct store_answer answer = read_acquire("['SLOTS' :3 " NOW " :2]");
	CHECK_INT(answer.outcome, OUTCOME_REFUSED);
	CHECK(answer.for_good);
	CHECK_HAS(answer.problem.text, "3 slots");
	CHECK_HAS(answer.problem.text, "not 2");
}

int
main(void)
{
	test_holders();
	test_place();
	test_slots();
	return tap_end();
}
