/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* store/line: the longest request that there can be, with all that belongs to it, is sent whole. */
#include <stdio.h>
#include <string.h>

#include "redis_bench.h"
#include "tap.h"

static const char *
say_subscription(const char *kind, const char *channel)
{
	static char answer[3000];
	snprintf(answer, sizeof answer, "*3\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n:0\r\n", strlen(kind),
	    kind, strlen(channel), channel);
	return answer;
}

static const char *
answer(struct peer *peer, const struct peer_command *command)
{
	static char exec[8000];
	const char *word = command->words[0];
	if (strcmp(word, "UNSUBSCRIBE") == 0)
		return say_subscription("unsubscribe", command->words[1]);
	if (strcmp(word, "MULTI") == 0)
		return "+OK\r\n";
	if (strcmp(word, "EXEC") == 0) {
		snprintf(exec, sizeof exec, "*2\r\n%s%s", say_subscription("subscribe", "x"),
		    WAITING("0", "1"));
		return exec;
	}
	if (strcmp(word, "EXISTS") == 0)
		return ":1\r\n";
	if (strcmp(word, "CLIENT") == 0)
		return strcmp(command->words[1], "ID") == 0 ? ":7\r\n" : "+OK\r\n";
	if (strcmp(word, "SCRIPT") == 0)
		return KNOWN("0", "0", "0");
	if (strcmp(word, "TIME") == 0)
		return TIME_ANSWER;
	CHECK(peer == &bench.peer);
	bench.evals += strcmp(word, "EVAL") == 0;
	return command->count == 10 ? ":1\r\n" : "+QUEUED\r\n";
}

static void
test_longest(void)
{
	char prefix[PREFIX_MAX_BYTES + 1], name[NAME_MAX_BYTES + 1], record[IDENTITY_RECORD];
	struct problem problem;
	bench_begin();
	memset(prefix, 'p', PREFIX_MAX_BYTES);
	memset(name, 'n', NAME_MAX_BYTES);
	memset(record, 'r', IDENTITY_RECORD - 1);
	prefix[PREFIX_MAX_BYTES] = name[NAME_MAX_BYTES] = record[IDENTITY_RECORD - 1] = '\0';
	tap_case("the longest key, the longest record: in line, followed, and left again");
	CHECK(keys_make(&bench.keys, prefix, name, &problem));
	bench_use_password(NULL); /* a store that knows these keys */
	bench.settings.record = record;
	bench.settings.mode = "slots:1000";
	bench.settings.max_waiters = INT64_MAX;
	bench.settings.min_fence = INT64_MAX - 1;
	bench.settings.fence_mode = FENCE_COUNTER;
	bench.peer.answer = answer;
	bench.wait = true;
	bench.ticket = INT64_MAX;
	bench_ask(STORE_ACQUIRE, OUTCOME_HELD);
	bench.follow = true;
	for (int i = 0; i < 2; i++) {
		bench_ask(STORE_ACQUIRE, OUTCOME_HELD);
		CHECK(bench.told.place.followed);
		CHECK_TEXT(bench.told.problem.text, "");
	}
	bench_ask(STORE_RELEASE, OUTCOME_OK);
	CHECK_INT(bench.evals, 4);

	tap_case("and with the release that takes its place");
	bench_ask(STORE_ACQUIRE, OUTCOME_HELD);
	bench_start(STORE_ACQUIRE);
	bench_start(STORE_RELEASE);
	bench_check_answer(OUTCOME_OK);
	CHECK_INT(bench.evals, 7);
	CHECK_INT(bench.peer.connections, 1);
	bench_end();
}

int
main(void)
{
	if (!bench_open())
		return 1;
	test_longest();
	return tap_end();
}
