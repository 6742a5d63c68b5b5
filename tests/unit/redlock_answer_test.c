/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* store/redlock_answer: what a node says, also what no node should. */
#include "store/redlock_answer.h"

#include <stdio.h>

#include "replies.h"
#include "tap.h"

#define NOW "'1764000000000000'"
#define TOKEN "0f8fad5b-d9cb-469f-a165-70867728950e"

static const struct {
	enum quorum_ask ask;
	const char *reply;
	enum quorum_word word;
	int64_t number;
} rows[] = {
    {ASK_TAKE, "['TAKEN' '' " NOW "]", WORD_TAKEN, 0},
    {ASK_TAKE, "['TAKEN' '12:" TOKEN "' " NOW "]", WORD_TAKEN, 12},
    {ASK_TAKE, "['OWNED' '9223372036854775805:x' " NOW "]", WORD_OWNED, INT64_MAX - 2},
    {ASK_RETAKE, "['LOW' '13:x' " NOW "]", WORD_LOW, 13},
    {ASK_ACCEPT, "['LOW' '13:x' " NOW "]", WORD_LOW, 13},
    {ASK_ACCEPT, "['ACCEPTED' '13:x' " NOW "]", WORD_ACCEPTED, 13},
    {ASK_ACCEPT, "['GONE' '' " NOW "]", WORD_GONE, 0},
    {ASK_LOOK, "['FREE' '' " NOW "]", WORD_FREE, 0},
    {ASK_LOOK, "['BUSY' :5000 " NOW " '" TOKEN "' '']", WORD_BUSY, 0},
    {ASK_RENEW, ":1", WORD_YES, 0},
    {ASK_RENEW, ":0", WORD_GONE, 0},
    {ASK_GIVE, ":-1", WORD_ANOTHERS, 0},
    /* Each question has its own words. */
    {ASK_ACCEPT, "['TAKEN' '' " NOW "]", WORD_FAILED, 0},
    {ASK_TAKE, "['ACCEPTED' '1:x' " NOW "]", WORD_FAILED, 0},
    {ASK_LOOK, "['TAKEN' '' " NOW "]", WORD_FAILED, 0},
    {ASK_RENEW, "['TAKEN' '' " NOW "]", WORD_FAILED, 0},
    {ASK_TAKE, ":1", WORD_FAILED, 0},
    /* Nonsense. */
    {ASK_RENEW, ":2", WORD_FAILED, 0},
    {ASK_TAKE, "[]", WORD_FAILED, 0},
    {ASK_TAKE, "['TAKEN' '' 'soon']", WORD_FAILED, 0},
    {ASK_TAKE, "['TAKEN' '' :-5]", WORD_FAILED, 0},
    {ASK_TAKE, "['TAKEN' _ " NOW "]", WORD_FAILED, 0},
    {ASK_TAKE, "['BUSY' :5000 " NOW "]", WORD_FAILED, 0},
    {ASK_TAKE, "['BUSY' 'soon' " NOW " 'x' '']", WORD_FAILED, 0},
    {ASK_TAKE, "['LATE' '' " NOW "]", WORD_FAILED, 0},
    {ASK_TAKE, "_", WORD_FAILED, 0},
};

/* What stands where a node keeps its last number, and was not written by us. */
static const char *const no_numbers[] = {
    "12",
    ":x",
    "0:x",
    "-1:x",
    "9223372036854775806:x", /* has no greater */
    "99999999999999999999999:x",
};

static void
test_numbers(void)
{
	struct redlock_answer answer;
	for (size_t i = 0; i < COUNT_OF(no_numbers); i++) {
		char text[128];
		tap_case("a number that is none, '%s', is refused, with the reason", no_numbers[i]);
		snprintf(text, sizeof text, "['TAKEN' '%s' " NOW "]", no_numbers[i]);
		redlock_answer_read(reply_from(text), ASK_TAKE, &answer);
		CHECK_INT(answer.word, WORD_FAILED);
		CHECK_INT(answer.outcome, OUTCOME_REFUSED);
		CHECK_HAS(answer.problem.text, "rfence");
		snprintf(text, sizeof text, "['LOW' '%s' " NOW "]", no_numbers[i]);
		redlock_answer_read(reply_from(text), ASK_ACCEPT, &answer);
		CHECK_INT(answer.outcome, OUTCOME_REFUSED);
	}
}

static void
test_words(void)
{
	struct redlock_answer answer;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		tap_case("asked %d: %s", (int)rows[i].ask, rows[i].reply);
		redlock_answer_read(reply_from(rows[i].reply), rows[i].ask, &answer);
		CHECK_INT(answer.word, rows[i].word);
		if (rows[i].word != WORD_FAILED)
			CHECK_INT(answer.number, rows[i].number);
		else
			CHECK_INT(answer.outcome, OUTCOME_UNKNOWN);
	}

	tap_case("an error is a refusal, of the user where it says so");
	redlock_answer_read(reply_from("-OOM command not allowed;"), ASK_TAKE, &answer);
	CHECK_INT(answer.word, WORD_FAILED);
	CHECK_INT(answer.outcome, OUTCOME_REFUSED);
	CHECK_HAS(answer.problem.text, "OOM");
	redlock_answer_read(reply_from("-NOPERM no permissions to access a key;"), ASK_RENEW,
	    &answer);
	CHECK_INT(answer.outcome, OUTCOME_DENIED);

	tap_case("who has it");
	redlock_answer_read(
	    reply_from("['BUSY' :5000 " NOW " 'dlock!done:" TOKEN "' 'host=web3\nuser=deploy\n']"),
	    ASK_TAKE, &answer);
	CHECK_INT(answer.holder.left_ns, 5000 * NS_PER_MS);
	CHECK(answer.holder.finished && answer.holder.known);
	CHECK_TEXT(answer.holder.identity.host, "web3");
	CHECK_INT(answer.clock_us, INT64_C(1764000000000000));
}

static void
test_facts(void)
{
	struct redlock_facts facts = {.uptime_s = -1};
	tap_case("what INFO tells");
	redlock_facts_read(&facts,
	    "# Server\r\nredis_version:7.0.15\r\nrun_id:abc\r\nuptime_in_seconds:17\r\n");
	redlock_facts_read(&facts, "# Replication\r\nrole:slave\r\nmaster_replid:def\r\n");
	CHECK_TEXT(facts.run_id, "abc");
	CHECK_TEXT(facts.replid, "def");
	CHECK_INT(facts.uptime_s, 16); /* it may have been started at the end of a second */
	CHECK(facts.is_replica);

	tap_case("what it does not tell, or nobody can read");
	facts = (struct redlock_facts){.uptime_s = -1};
	redlock_facts_read(&facts, "xrun_id:abc\nrole:master\nuptime_in_seconds:-3\nrun_id");
	CHECK_TEXT(facts.run_id, "");
	CHECK_INT(facts.uptime_s, -1);
	CHECK(!facts.is_replica);
	redlock_facts_read(&facts, "");
	redlock_facts_read(&facts,
	    "run_id:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n");
	CHECK_TEXT(facts.run_id, "");
}

int
main(void)
{
	test_words();
	test_numbers();
	test_facts();
	return tap_end();
}
