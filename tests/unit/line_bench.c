/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "line_bench.h"

#include <stdio.h>
#include <string.h>

#include "tap.h"

#define NOT_SUBSCRIBED                                                                             \
	"-ERR Can't execute '%s': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET "   \
	"are allowed in this context\r\n"

struct line_bench line_bench;

static bool
is(const struct peer_command *command, const char *word)
{
	return strcmp(command->words[0], word) == 0;
}

static bool
is_script(const struct peer_command *command)
{
	return is(command, "EVAL") || is(command, "EVALSHA");
}

/* In the log, and in `says`. */
static void
name_command(const struct peer_command *command, char *name, size_t size)
{
	const char *what = command->count > 1 ? command->words[1] : "";
	if (is_script(command))
		what = command->count == 20 ? command->words[10]
		    : command->count == 13  ? "confirm"
		    : command->count == 10  ? "release"
					    : "renew";
	else if (strcmp(what, OWN) == 0)
		what = "own";
	snprintf(name, size, "%.40s%s%.40s", command->words[0], *what ? " " : "", what);
}

static const char *
say_subscription(const char *kind, const char *channel)
{
	static char answers[2][200];
	static int which;
	char *answer = answers[which++ % 2];
	line_bench.own = strcmp(kind, "subscribe") == 0;
	snprintf(answer, sizeof answers[0], "*3\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n:%d\r\n",
	    strlen(kind), kind, strlen(channel), channel, line_bench.own);
	return answer;
}

static const char *
say_exec(void)
{
	static char answer[2000];
	struct line_bench *it = &line_bench;
	bool queues = it->queues;
	it->queues = false;
	if (!queues)
		return "-ERR EXEC without MULTI\r\n";
	if (it->dirty)
		return "-EXECABORT Transaction discarded because of previous errors.\r\n";
	const char *first = say_subscription("subscribe", OWN);
	snprintf(answer, sizeof answer, "*2\r\n%s%s", first, it->eval);
	return answer;
}

static const char *
answer_subscriber(const struct peer_command *command)
{
	struct line_bench *it = &line_bench;
	if (is(command, "SUBSCRIBE") && it->queues)
		return "+QUEUED\r\n";
	return say_subscription(is(command, "SUBSCRIBE") ? "subscribe" : "unsubscribe",
	    command->words[1]);
}

static const char *
answer_as_redis(struct peer *peer, const struct peer_command *command, const char *name)
{
	static char refusal[300];
	struct line_bench *it = &line_bench;
	if (is(command, "SUBSCRIBE") || is(command, "UNSUBSCRIBE"))
		return answer_subscriber(command);
	if (it->own) {
		snprintf(refusal, sizeof refusal, NOT_SUBSCRIBED, command->words[0]);
		it->dirty = true;
		return refusal;
	}
	if (is(command, "MULTI")) {
		it->queues = true;
		it->dirty = false;
		return "+OK\r\n";
	}
	if (is(command, "EXEC"))
		return say_exec();
	if (strcmp(name, "CLIENT ID") == 0)
		return ":7\r\n";
	if (strcmp(name, "CLIENT TRACKING") == 0 || strcmp(name, "CLIENT CACHING") == 0)
		return "+OK\r\n";
	if (is(command, "EXISTS"))
		return ":1\r\n";
	const char *answer = bench_answer_command(peer, command);
	if (!is_script(command) || !it->queues)
		return answer;
	it->eval = answer;
	return "+QUEUED\r\n";
}

static const char *
answer_line(struct peer *peer, const struct peer_command *command)
{
	struct line_bench *it = &line_bench;
	char name[100];
	if (it->connection != peer->connections) {
		it->connection = peer->connections;
		it->queues = it->own = false;
	}
	name_command(command, name, sizeof name);
	size_t length = strlen(it->log);
	snprintf(it->log + length, sizeof it->log - length, "%s%s", length ? ", " : "", name);
	for (int i = 0; i < LINE_BENCH_WORDS; i++) {
		const char *answer = it->says[i].answer;
		if (answer == NULL || strcmp(it->says[i].name, name) != 0)
			continue;
		it->dirty = true;
		return answer[0] != '\0' ? answer : NULL;
	}
	bool last = is(command, "EXEC") || (is_script(command) && !it->queues);
	if (last && it->ahead != NULL) {
		peer_say(peer, it->ahead, 0);
		it->ahead = NULL;
	}
	return answer_as_redis(peer, command, name);
}

void
line_bench_begin(void)
{
	bench_begin();
	memset(&line_bench, 0, sizeof line_bench);
	bench.peer.answer = answer_line;
	bench.eval = WAITING("1", "1");
	bench.wait = true;
}

void
line_bench_say(const char *name, const char *answer)
{
	int i = 0;
	while (i < LINE_BENCH_WORDS && line_bench.says[i].name != NULL &&
	    strcmp(line_bench.says[i].name, name) != 0)
		i++;
	if (!CHECK(i < LINE_BENCH_WORDS))
		return;
	line_bench.says[i].name = name;
	line_bench.says[i].answer = answer;
}

void
line_bench_check_log(const char *log)
{
	CHECK_TEXT(line_bench.log, log);
	line_bench.log[0] = '\0';
}

void
line_bench_check_place(int64_t rank, bool told, bool followed)
{
	CHECK_INT(bench.told.place.rank, rank);
	CHECK_INT(bench.told.place.told, told);
	CHECK_INT(bench.told.place.followed, followed);
}

void
line_bench_ask(enum store_verb verb, enum outcome outcome, const char *log)
{
	int connections = bench.peer.connections;
	char wanted[1000];
	bench_ask(verb, outcome);
	snprintf(wanted, sizeof wanted, "%s%s",
	    bench.peer.connections > connections ? "CLIENT SETNAME, SCRIPT EXISTS, TIME, " : "",
	    log);
	line_bench_check_log(wanted);
}
