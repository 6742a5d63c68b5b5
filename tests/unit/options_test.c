/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* cli/options: what a command line means (SPEC section 1), and that no password is left in it. */
#include "cli/options.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lines.h"
#include "tap.h"

static struct options options;
static struct problem problem;
static char **argv;

static enum options_result
parse(const char *line)
{
	return lines_parse(line, &options, &problem, &argv);
}

static void
check_runs(const char *line)
{
	if (!CHECK_INT(parse(line), OPTIONS_RUN))
		CHECK_TEXT(problem.text, "");
}

/* The first of all: the order of getopt is chosen at its first call. */
static void
test_order(void)
{
	tap_case("P43: options stop at NAME");
	lines_clear_environment();
	check_runs("-S redis://db1 job cat -v -n -q");
	CHECK_INT(options.verbosity, 0);
	CHECK(options.wait_ns == WAIT_FOR_EVER);
	CHECK_TEXT(options.name, "job");
	CHECK_TEXT(options.command[0], "cat");
	CHECK_TEXT(options.command[1], "-v");
}

static void
test_defaults(void)
{
	tap_case("the defaults of SPEC's table");
	lines_clear_environment();
	check_runs("-S redis://db1 job true");
	CHECK(options.wait_ns == WAIT_FOR_EVER);
	CHECK_INT(options.conflict_status, 75);
	CHECK_INT(options.ttl_ns, 30 * NS_PER_S);
	CHECK_INT(options.grace_ns, 5 * NS_PER_S);
	CHECK_INT(options.first_signal, SIGTERM);
	CHECK_INT(options.on_lost, ON_LOST_KILL);
	CHECK_INT(options.at_least_ns, 0);
	CHECK_TEXT(options.prefix, "lock:");
	CHECK_INT(options.fence_mode, FENCE_CLOCK);
	CHECK_INT(options.min_fence, 0);
	CHECK_TEXT(options.label, "");
	CHECK_INT(options.connect_timeout_ns, 5 * NS_PER_S);
	CHECK_INT(options.verbosity, 0);
	CHECK(!options.quiet);
	CHECK_TEXT(options.name, "job");
	CHECK_TEXT(options.command[0], "true");
	CHECK(options.command[1] == NULL);

	tap_case("the defaults that follow the TTL");
	check_runs("-S redis://db1 -t 3s job true");
	CHECK_INT(options.grace_ns, 750 * NS_PER_MS);
	CHECK_INT(options.connect_timeout_ns, 1 * NS_PER_S);
}

static void
test_each(void)
{
	static const struct {
		const char *line;
		size_t at; /* of the field */
		bool is_int;
		int64_t value;
	} rows[] = {
#define WIDE(line, field, value) {line, offsetof(struct options, field), false, value}
#define NARROW(line, field, value)                                                                 \
	{                                                                                          \
		line, offsetof(struct options, field), true, value                                 \
	}
	    WIDE("-n", wait_ns, 0),
	    WIDE("--nonblock", wait_ns, 0),
	    WIDE("--nb", wait_ns, 0),
	    WIDE("-w 0", wait_ns, 0),
	    WIDE("-w 0.3", wait_ns, 300 * NS_PER_MS),
	    WIDE("-w0.3", wait_ns, 300 * NS_PER_MS),
	    WIDE("--wait 5", wait_ns, 5 * NS_PER_S),
	    WIDE("--wait=5", wait_ns, 5 * NS_PER_S),
	    WIDE("--timeout 1m", wait_ns, 60 * NS_PER_S),
	    WIDE("-n -w 2", wait_ns, 2 * NS_PER_S),
	    WIDE("-t 10", ttl_ns, 10 * NS_PER_S),
	    WIDE("--ttl 1s", ttl_ns, NS_PER_S),
	    WIDE("-t 30d", ttl_ns, INT64_C(30) * 86400 * NS_PER_S),
	    WIDE("-k 0", grace_ns, 0),
	    WIDE("--kill-after 250ms", grace_ns, 250 * NS_PER_MS),
	    WIDE("--at-least 60s", at_least_ns, 60 * NS_PER_S),
	    WIDE("--min-fence 9007199254740990", min_fence, INT64_C(9007199254740990)),
	    WIDE("--connect-timeout 1ms", connect_timeout_ns, NS_PER_MS),
	    WIDE("-n", max_waiters, -1),
	    WIDE("--max-waiters 5", max_waiters, 5),
	    WIDE("--max-waiters 0", wait_ns, 0),
	    WIDE("--max-waiters 0 -w 5", wait_ns, 0),
	    WIDE("--max-waiters 1 -w 5", wait_ns, 5 * NS_PER_S),
	    NARROW("-n", mode, MODE_EXCLUSIVE),
	    NARROW("-s", mode, MODE_SHARED),
	    NARROW("--shared", mode, MODE_SHARED),
	    NARROW("-sn", mode, MODE_SHARED),
	    NARROW("--slots 3", mode, MODE_SLOTS),
	    NARROW("--slots 3", slots, 3),
	    NARROW("--slots=1", slots, 1),
	    NARROW("--slots 1000", slots, 1000),
	    /* The last of those that say who may have it. */
	    NARROW("-s -x", mode, MODE_EXCLUSIVE),
	    NARROW("-x -s", mode, MODE_SHARED),
	    NARROW("-es", mode, MODE_SHARED),
	    NARROW("--slots 3 -e", mode, MODE_EXCLUSIVE),
	    NARROW("--slots 3 -e", slots, 0),
	    NARROW("-x --slots 3", slots, 3),
	    NARROW("--slots 3 --slots 4", slots, 4),
	    NARROW("-E 0", conflict_status, 0),
	    NARROW("-E 255", conflict_status, 255),
	    NARROW("--conflict-exit-code 99", conflict_status, 99),
	    NARROW("--signal INT", first_signal, SIGINT),
	    NARROW("--signal SIGUSR1", first_signal, SIGUSR1),
	    NARROW("--signal 9", first_signal, SIGKILL),
	    NARROW("--on-lost signal", on_lost, ON_LOST_SIGNAL),
	    NARROW("--on-lost kill", on_lost, ON_LOST_KILL),
	    NARROW("--fence counter", fence_mode, FENCE_COUNTER),
	    NARROW("--fence clock", fence_mode, FENCE_CLOCK),
	    NARROW("-v", verbosity, 1),
	    NARROW("-vv", verbosity, 2),
	    NARROW("-v --verbose -v", verbosity, 3),
	    /* flock's, which change nothing. */
	    NARROW("-x", conflict_status, 75),
	    NARROW("-e", conflict_status, 75),
	    NARROW("-o", conflict_status, 75),
	    NARROW("--exclusive --close", conflict_status, 75),
	    /* flock's clusters of letters. */
	    WIDE("-xn", wait_ns, 0),
	    NARROW("-xnE 3", conflict_status, 3),
	    /* getopt_long's abbreviations, where they are not ambiguous. */
	    NARROW("--conflict 3", conflict_status, 3),
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char line[256];
		tap_case("option %s", rows[i].line);
		lines_clear_environment();
		snprintf(line, sizeof line, "%s -S redis://db1 job true", rows[i].line);
		check_runs(line);
		const char *at = (const char *)&options + rows[i].at;
		int64_t wide;
		int narrow;
		memcpy(&wide, at, sizeof wide);
		memcpy(&narrow, at, sizeof narrow);
		CHECK_INT(rows[i].is_int ? narrow : wide, rows[i].value);
	}
	tap_case("the options that are text");
	check_runs("--prefix p: --label a_b -S unix:///run/r?db=2 -q job true");
	CHECK_TEXT(options.prefix, "p:");
	CHECK_TEXT(options.label, "a b");
	CHECK_TEXT(options.url.path, "/run/r");
	CHECK_INT(options.url.db, 2);
	CHECK(options.quiet);
	check_runs("--prefix '' -S redis://db1 job true");
	CHECK_TEXT(options.prefix, "");
}

static void
test_operands(void)
{
	static const struct {
		const char *line, *name;
		const char *command[5];
	} rows[] = {
	    {"job cat -v file", "job", {"cat", "-v", "file"}},
	    {"job -- cat -v file", "job", {"cat", "-v", "file"}},
	    {"-- job cat -n", "job", {"cat", "-n"}},
	    {"-n -- -job cat", "-job", {"cat"}},
	    {"job cat -- -v", "job", {"cat", "--", "-v"}},
	    {"job printf [%s] a_b", "job", {"printf", "[%s]", "a b"}},
	    {"job ''", "job", {""}},
	    {"a_b true", "a b", {"true"}},
	    {"7 true", "7", {"true"}},
	    {"job -c echo_$0_|_cat", "job", {"/bin/sh", "-c", "echo $0 | cat"}},
	    {"job --command x", "job", {"/bin/sh", "-c", "x"}},
	    {"job -c -n", "job", {"/bin/sh", "-c", "-n"}},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char line[256];
		tap_case("P42, P43: dlock %s", rows[i].line);
		lines_clear_environment();
		snprintf(line, sizeof line, "-S redis://db1 %s", rows[i].line);
		check_runs(line);
		CHECK_TEXT(options.name, rows[i].name);
		for (size_t k = 0; k < COUNT_OF(rows[i].command); k++) {
			if (rows[i].command[k] == NULL) {
				CHECK(options.command[k] == NULL);
				break;
			}
			CHECK_TEXT(options.command[k], rows[i].command[k]);
		}
	}
	tap_case("P45: -c takes $SHELL, and /bin/sh where that is empty");
	setenv("SHELL", "/bin/bash", 1);
	check_runs("-S redis://db1 job -c x");
	CHECK_TEXT(options.command[0], "/bin/bash");
	setenv("SHELL", "", 1);
	check_runs("-S redis://db1 job -c x");
	CHECK_TEXT(options.command[0], "/bin/sh");
}

static void
test_scrubbed(void)
{
	static const char *const lines[] = {"-S redis://ann:hush@db1/2 job true",
	    "-Sredis://ann:hush@db1/2 job true", "--server=redis://ann:hush@db1/2 job true",
	    "--server redis://ann:hush@db1/2 job true", "-n -S redis://ann:hush@db1/2 job true"};
	for (size_t i = 0; i < COUNT_OF(lines); i++) {
		tap_case("P97: the password is scrubbed from argv, and used: %s", lines[i]);
		lines_clear_environment();
		check_runs(lines[i]);
		CHECK_TEXT(options.url.password, "hush");
		for (int k = 0; argv[k] != NULL; k++)
			CHECK_HAS_NOT(argv[k], "hush");
	}
	static const char *const bad[] = {"-S redis://ann:hush@db1:x job true",
	    "-S rediss://ann:hush@db1", "-S redis://ann:hush@db1 -t x job true",
	    "-S redis://db1 -S redis://ann:hush@db2:x job true", "-w redis://ann:hush@db1 job true",
	    "-wredis://ann:hush@db1 job true", "--url=redis://ann:hush@db1 job true",
	    "--nonblock=redis://ann:hush@db1 job true"};
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		tap_case("P97: also when there is an error: %s", bad[i]);
		lines_clear_environment();
		CHECK_INT(parse(bad[i]), OPTIONS_USAGE_ERROR);
		CHECK_HAS_NOT(problem.text, "hush");
		for (int k = 0; argv[k] != NULL; k++)
			CHECK_HAS_NOT(argv[k], "hush");
	}
}

int
main(void)
{
	test_order();
	test_defaults();
	test_each();
	test_operands();
	test_scrubbed();
	return tap_end();
}
