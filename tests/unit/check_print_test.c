/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* view/check_print, check_json: what --check prints of whatever was found. */
#include "view/check_print.h"

#include <string.h>

#include "check_bench.h"
#include "tap.h"

static struct check_bench bench;

/* What is printed, ends with NUL. */
static const char *
printed(bool json)
{
	static char copy[70000];
	struct text text = {.bytes = NULL};
	check_judge(&bench.facts, &bench.judgement);
	if (json) {
		text_add(&text, "[", 1);
		check_print_json(&text, &bench.facts, &bench.judgement);
		text_add(&text, "]\n", 2);
	} else {
		check_print_facts(&text, &bench.facts);
		check_print_verdict(&text, &bench.facts, &bench.judgement);
	}
	CHECK(!text.failed);
	CHECK(text.used < sizeof copy);
	memcpy(copy, text.bytes, text.used);
	copy[text.used] = '\0';
	text_free(&text);
	return copy;
}

static void
test_print(void)
{
	tap_case("nothing is known: every line says so, JSON has null");
	check_bench_begin(&bench);
	CHECK_HAS(printed(false), "version: not told\nrun id: not told\n");
	CHECK_HAS(printed(false), "verdict: good\n");
	CHECK_HAS(printed(true), "\"version\":null,\"run_id\":null,\"uptime_s\":null,\"db\":0");
	CHECK_HAS(printed(true), "\"clock_us\":null,\"clock_error_us\":null,\"round_trips\":0");

	tap_case("who is not told is said behind the verdict");
	bench.facts.told[SOURCE_INFO] = bench.facts.told[SOURCE_CONFIG] = false;
	CHECK_HAS(printed(false),
	    "verdict: good, as far as it is seen (INFO and CONFIG GET not told)\n");
	bench.facts.told[SOURCE_INFO] = true;
	CHECK_HAS(printed(false), "verdict: good, as far as it is seen (CONFIG GET not told)\n");
	check_bench_info(&bench, "timeout:1\n");
	CHECK_HAS(printed(false), " (CONFIG GET not told)\n");

	tap_case("bytes of a server drive no terminal, and make valid JSON");
	check_bench_begin(&bench);
	check_bench_info(&bench,
	    "run_id:\x1b[2J\"\\\xff\xc2\x9b\nredis_version:\x07\nrole:\x80\xe2\x80\xae\n");
	CHECK_HAS(printed(false), "run id: \\x1b[2J\"\\\\xff\\xc2\\x9b\n");
	CHECK_HAS_NOT(printed(false), "\x1b");
	CHECK_HAS(printed(true), "\"run_id\":\"\\u001b[2J\\\"\\\\\\\\xff");
	CHECK_HAS_NOT(printed(true), "\xff");

	tap_case("the longest texts of bytes that all have to be escaped fit");
	check_bench_begin(&bench);
	static char prefix[513];
	memset(prefix, '\x01', sizeof prefix - 1);
	bench.facts.prefix = bench.facts.server = prefix;
	for (int i = 0; i < FEATURES; i++) {
		bench.facts.trials[i].result = CHECK_FAILS;
		memset(bench.facts.trials[i].why, '\xff', sizeof bench.facts.trials[i].why - 1);
		memset(bench.facts.trials[i].missing, '\x02',
		    sizeof bench.facts.trials[i].missing - 1);
	}
	bench.facts.trials[FEATURE_LOCK].result = CHECK_WORKS;
	const char *json = printed(true);
	CHECK(strcmp(json + strlen(json) - 4, "]}]\n") == 0);
	CHECK_HAS(printed(false), "verdict: ");

	tap_case("not reached: three lines, and why");
	check_bench_begin(&bench);
	bench.facts.is_reached = false;
	bench.facts.failure = OUTCOME_UNREACHABLE;
	problem_set(&bench.facts.problem, "Connection refused");
	CHECK_TEXT(printed(false),
	    "server: redis://db1\nreached: no: Connection refused\nverdict: unfit: Connection refused\n");
}

int
main(void)
{
	test_print();
	return tap_end();
}
