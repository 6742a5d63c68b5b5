/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* cli/options: --held, --status, --list and --break, what is asked of them, and which settings of
 * other sources they live with. */
#include <stdlib.h>

#include "lines.h"
#include "tap.h"

static struct options options;
static struct problem problem;

static void
check_gives(const char *line, enum options_result wanted)
{
	if (!CHECK_INT(lines_parse(line, &options, &problem, NULL), wanted))
		CHECK_TEXT(problem.text, "");
}

static void
test_operands(void)
{
	tap_case("--status has one NAME or more, and a COMMAND is just another");
	lines_clear_environment();
	check_gives("-S redis://db1 --status job", OPTIONS_STATUS);
	CHECK_TEXT(options.names[0], "job");
	CHECK(options.names[1] == NULL);
	check_gives("--status -S redis://db1 a true b_c", OPTIONS_STATUS);
	CHECK_TEXT(options.names[1], "true");
	CHECK_TEXT(options.names[2], "b c");
	CHECK(options.names[3] == NULL);

	tap_case("after -- a NAME may begin with a dash");
	check_gives("-S redis://db1 --status -- -job --json", OPTIONS_STATUS);
	CHECK_TEXT(options.names[0], "-job");
	CHECK_TEXT(options.names[1], "--json");
	CHECK(!options.json);
	check_gives("-S redis://db1 --status - -", OPTIONS_STATUS);
	CHECK_TEXT(options.names[1], "-");

	tap_case("--list has a GLOB or none");
	check_gives("-S redis://db1 --list", OPTIONS_LIST);
	CHECK(options.glob == NULL);
	check_gives("-S redis://db1 --list web-*", OPTIONS_LIST);
	CHECK_TEXT(options.glob, "web-*");
	check_gives("-S redis://db1 --list ''", OPTIONS_LIST);
	CHECK_TEXT(options.glob, "");

	tap_case("--break has one NAME");
	check_gives("-S redis://db1 --break job", OPTIONS_BREAK);
	CHECK_TEXT(options.name, "job");
	CHECK(!options.force);
	CHECK(options.token == NULL);

	tap_case("--help wins over all of them");
	check_gives("--status --help", OPTIONS_HELP);
	check_gives("--break -V", OPTIONS_VERSION);
}

static void
test_options(void)
{
	tap_case("what goes with them");
	lines_clear_environment();
	check_gives("-S redis://db1 --status --json -q -v --prefix p: --connect-timeout 1s job",
	    OPTIONS_STATUS);
	CHECK(options.json);
	CHECK(options.quiet);
	CHECK_TEXT(options.prefix, "p:");
	CHECK_INT(options.connect_timeout_ns, NS_PER_S);
	check_gives("--config /dev/null -S redis://db1 --list --password-file x --json",
	    OPTIONS_LIST);
	CHECK_INT(options.password_from, PASSWORD_IN_FILE);
	check_gives("-S redis://db1 --break --password-command x --json --force --token a-b job",
	    OPTIONS_BREAK);
	CHECK(options.json);
	CHECK(options.force);
	CHECK_TEXT(options.token, "a-b");

	tap_case("a server is needed, and no password is said");
	CHECK_INT(lines_parse("--status job", &options, &problem, NULL), OPTIONS_CONFIG_ERROR);
	CHECK_HAS(problem.text, "no server named");
	CHECK_INT(
	    lines_parse("--list -S redis://:hush@db1 --password-file x", &options, &problem, NULL),
	    OPTIONS_USAGE_ERROR);
	CHECK_HAS(problem.text, "more than one password");
	CHECK_HAS_NOT(problem.text, "hush");
}

static void
test_other_sources(void)
{
	tap_case("settings of a run in the environment are nothing to them");
	lines_clear_environment();
	setenv("DLOCK_TTL", "3s", 1);
	setenv("DLOCK_LABEL", "x", 1);
	setenv("DLOCK_SERVER", "redis://db2", 1);
	check_gives("--status job", OPTIONS_STATUS);
	CHECK_TEXT(options.url.host, "db2");
	check_gives("--list", OPTIONS_LIST);
	check_gives("--break job", OPTIONS_BREAK);

	tap_case("a setting that is wrong is wrong there too");
	setenv("DLOCK_TTL", "soon", 1);
	CHECK_INT(lines_parse("--list", &options, &problem, NULL), OPTIONS_CONFIG_ERROR);
	CHECK_HAS(problem.text, "DLOCK_TTL");
}

int
main(void)
{
	test_operands();
	test_options();
	test_other_sources();
	return tap_end();
}
