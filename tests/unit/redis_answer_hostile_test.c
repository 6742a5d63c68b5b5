/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* store/redis_answer: numbers that a hostile server, or a foreign client, may choose. None may
 * overflow: each is read in a process of its own, under UBSan. */
#include <string.h>

#include "replies.h"
#include "store/redis_answer.h"
#include "tap.h"

#define MOST "9223372036854775807"
#define LEAST "-9223372036854775808"

static void
read_as_acquire(const void *context)
{
	static const enum store_verb verbs[] = {STORE_ACQUIRE, STORE_TOUCH, STORE_LOOK};
	for (size_t i = 0; i < COUNT_OF(verbs); i++) {
		struct store_answer answer;
		int64_t server_us;
		memset(&answer, 0, sizeof answer);
		answer_read_acquire(reply_from(context), verbs[i], &answer, &server_us);
	}
}

static void
read_as_time(const void *context)
{
	answer_read_time(reply_from(context));
}

static void
read_as_number(const void *context)
{
	struct store_answer answer;
	memset(&answer, 0, sizeof answer);
	answer_read_number(reply_from(context), &answer);
}

static const struct {
	void (*read)(const void *context);
	const char *reply;
} rows[] = {
    {read_as_acquire, "['BUSY' :" MOST " '1764000000000000' 'x' '' :-1 '0' :0]"},
    {read_as_acquire, "['BUSY' :" LEAST " '1764000000000000' 'x' '' :-1 '0' :0]"},
    {read_as_acquire, "['BUSY' :9 '" MOST "' 'x' 'since=1\n' :-1 '0' :0]"},
    {read_as_acquire, "['BUSY' :9 '1764000000000000' 'x' 'since=" MOST "\n' :-1 '0' :0]"},
    {read_as_acquire, "['BUSY' :9 '1764000000000000' 'x' 'since=" LEAST "\n' :-1 '0' :0]"},
    {read_as_acquire,
	"['BUSY' :9 '1764000000000000' 'x' 'pid=" LEAST "\nstarted=" MOST "\n' :-1 '0' :0]"},
    {read_as_acquire, "['BUSY' :9 :" LEAST " 'x' 'since=1\n' :-1 '0' :0]"},
    {read_as_acquire, "['BUSY' :9 :" LEAST " 'x' 'since=" LEAST "\n' :-1 '0' :0]"},
    {read_as_acquire, "['GRANTED' '" MOST "' :" MOST "]"},
    {read_as_acquire, "['LATE' :0 :" MOST "]"},
    {read_as_time, "['1764000000' '" MOST "']"},
    {read_as_time, "[:" MOST " :0]"},
    {read_as_time, "[:" LEAST " :0]"},
    {read_as_time, "[:1764000000 :" LEAST "]"},
    {read_as_time, "[:4611686018427 :" MOST "]"},
    {read_as_time, "[:" LEAST " :" LEAST "]"},
    {read_as_number, ":" MOST},
    {read_as_number, ":" LEAST},
};

int
main(void)
{
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		tap_case("nothing overflows in %s", rows[i].reply);
		tap_survives(rows[i].read, rows[i].reply);
	}
	tap_case("a clock that is not from 1970 to 2255 is none");
	CHECK_INT(answer_read_time(reply_from("[:-5 :0]")), 0);
	CHECK_INT(answer_read_time(reply_from("[:1764000000 :-5]")), 0);
	CHECK_INT(answer_read_time(reply_from("['1764000000' '1000000']")), 0);
	return tap_end();
}
