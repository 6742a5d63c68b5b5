/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* cli/options: what the environment and the config file mean beside a command line. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lines.h"
#include "tap.h"

static struct options options;
static struct problem problem;

static enum options_result
parse(const char *line)
{
	return lines_parse(line, &options, &problem, NULL);
}

static void
check_runs(const char *line)
{
	if (!CHECK_INT(parse(line), OPTIONS_RUN))
		CHECK_TEXT(problem.text, "");
}

static void
test_environment(void)
{
	static const struct {
		const char *name, *value, *line;
		enum options_result result;
	} rows[] = {
	    {"DLOCK_TTL", "500ms", "", OPTIONS_CONFIG_ERROR},
	    {"DLOCK_TTL", "soon", "", OPTIONS_CONFIG_ERROR},
	    {"DLOCK_TTL", "soon", "-t 3", OPTIONS_RUN},
	    {"DLOCK_SERVER", "nonsense", "", OPTIONS_RUN}, /* -S is there */
	    {"REDIS_URL", "nonsense", "", OPTIONS_RUN},
	};
	tap_case("the environment stands for options, and the command line wins");
	lines_clear_environment();
	setenv("DLOCK_TTL", "12s", 1);
	setenv("DLOCK_SERVER", "redis://db2", 1);
	setenv("REDIS_URL", "redis://db3", 1);
	setenv("DLOCK_PREFIX", "", 1);
	setenv("DLOCK_LABEL", "nightly", 1);
	check_runs("job true");
	CHECK_INT(options.ttl_ns, 12 * NS_PER_S);
	CHECK_INT(options.grace_ns, 3 * NS_PER_S);
	CHECK_TEXT(options.url.host, "db2");
	CHECK_TEXT(options.prefix, "");
	CHECK_TEXT(options.label, "nightly");
	check_runs("-t 20s -S redis://db1 --prefix q: --label x job true");
	CHECK_INT(options.ttl_ns, 20 * NS_PER_S);
	CHECK_TEXT(options.url.host, "db1");
	CHECK_TEXT(options.prefix, "q:");
	CHECK_TEXT(options.label, "x");

	tap_case("REDIS_URL comes last, with what other programs put into it; empty is as unset");
	lines_clear_environment();
	setenv("REDIS_URL", "redis://db3/4?ssl_cert_reqs=none", 1);
	setenv("DLOCK_SERVER", "", 1);
	setenv("DLOCK_TTL", "", 1);
	check_runs("job true");
	CHECK_TEXT(options.url.host, "db3");
	CHECK_INT(options.url.db, 4);
	CHECK_INT(options.ttl_ns, 30 * NS_PER_S);

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char line[256];
		tap_case("%s=%s and options '%s'", rows[i].name, rows[i].value, rows[i].line);
		lines_clear_environment();
		setenv(rows[i].name, rows[i].value, 1);
		snprintf(line, sizeof line, "%s%s-S redis://db1 job true", rows[i].line,
		    rows[i].line[0] ? " " : "");
		CHECK_INT(parse(line), rows[i].result);
		if (rows[i].result != OPTIONS_RUN)
			CHECK_HAS(problem.text, rows[i].name);
	}
	tap_case("no server named is a matter of configuration, and it is said how to name one");
	lines_clear_environment();
	CHECK_INT(parse("job true"), OPTIONS_CONFIG_ERROR);
	CHECK_HAS(problem.text, "-S");
	CHECK_HAS(problem.text, "DLOCK_SERVER");
	CHECK_HAS(problem.text, "REDIS_URL");
	static const char *const names[] = {"DLOCK_SERVER", "REDIS_URL"};
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		tap_case("a bad %s is a matter of configuration, and no password is quoted",
		    names[i]);
		lines_clear_environment();
		setenv(names[i], "redis+other://ann:hush@db1", 1);
		CHECK_INT(parse("job true"), OPTIONS_CONFIG_ERROR);
		CHECK_HAS(problem.text, names[i]);
		CHECK_HAS(problem.text, "redis+other");
		CHECK_HAS_NOT(problem.text, "hush");
	}

	tap_case("connect-timeout: the option, else the URL's, else the default");
	lines_clear_environment();
	check_runs("-S redis://db1?connect-timeout=7s job true");
	CHECK_INT(options.connect_timeout_ns, 7 * NS_PER_S);
	check_runs("--connect-timeout 2s -S redis://db1?connect-timeout=7s job true");
	CHECK_INT(options.connect_timeout_ns, 2 * NS_PER_S);
}

static void
test_tls(void)
{
	const struct tls_settings *tls = &options.url.tls;
	tap_case(
	    "TLS: rediss:// or --tls; of URL and option the stronger counts, of equals the option");
	lines_clear_environment();
	check_runs("-S rediss://db1 job true");
	CHECK(tls->on && !tls->insecure && tls->cacert[0] == '\0');
	check_runs("-S redis://db1 --tls --insecure job true");
	CHECK(tls->on && tls->insecure);
	check_runs("-S redis://db1 job true");
	CHECK(!tls->on);
	check_runs("-S rediss://db1?cacert=a%2fb&sni=one&cert=c&key=k --sni two job true");
	CHECK(tls->on);
	CHECK_TEXT(tls->cacert, "a/b");
	CHECK_TEXT(tls->sni, "two");
	CHECK_TEXT(tls->cert, "c");
	CHECK_TEXT(tls->key, "k");
	setenv("DLOCK_SERVER", "rediss://db1?sni=one", 1);
	check_runs("--sni two job true");
	CHECK_TEXT(tls->sni, "two");
	check_runs("--cacertdir d job true");
	CHECK_TEXT(tls->sni, "one");
	CHECK_TEXT(tls->cacertdir, "d");
	setenv("DLOCK_SERVER", "redis://db1", 1);
	check_runs("--tls job true");
	CHECK(tls->on);
	lines_clear_environment();
}

/* What an option of a group says overrules the file's, whichever of them that names. */
static void
test_modes_in_file(void)
{
	static const struct {
		const char *file, *line;
		enum lock_mode mode;
		int slots;
	} rows[] = {
	    {"shared", "", MODE_SHARED, 0},
	    {"shared = yes", "", MODE_SHARED, 0},
	    {"shared = no", "", MODE_EXCLUSIVE, 0},
	    {"shared = no\nslots = 3", "", MODE_SLOTS, 3},
	    {"slots = 3", "", MODE_SLOTS, 3},
	    {"slots = 3", "--slots 4 ", MODE_SLOTS, 4},
	    {"slots = 3", "-x ", MODE_EXCLUSIVE, 0},
	    {"slots = 3", "-e ", MODE_EXCLUSIVE, 0},
	    {"slots = 3", "-s ", MODE_SHARED, 0},
	    {"shared", "-x ", MODE_EXCLUSIVE, 0},
	    {"shared", "--slots 2 ", MODE_SLOTS, 2},
	    {"exclusive", "--slots 2 ", MODE_SLOTS, 2},
	    {"exclusive", "-s ", MODE_SHARED, 0},
	};
	char path[] = "/tmp/dlock-options.XXXXXX", line[128];
	int fd = mkstemp(path);
	if (fd >= 0)
		close(fd);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		tap_case("the file says '%s', the line '%s'", rows[i].file, rows[i].line);
		lines_clear_environment();
		setenv("DLOCK_CONFIG", path, 1);
		FILE *file = fopen(path, "w");
		if (!CHECK(file != NULL))
			break;
		fprintf(file, "%s\n", rows[i].file);
		fclose(file);
		snprintf(line, sizeof line, "%s-S redis://db1 job true", rows[i].line);
		check_runs(line);
		CHECK_INT(options.mode, rows[i].mode);
		CHECK_INT(options.slots, rows[i].slots);
	}

	tap_case("--max-waiters, --watch and the wait, each for itself; and a report minds none");
	FILE *file = fopen(path, "w");
	if (CHECK(file != NULL)) {
		fputs("max-waiters = 5\nwatch\nslots = 3\nwait = 2s\nat-least = 1m\n", file);
		fclose(file);
	}
	check_runs("-S redis://db1 -w 7 job true");
	CHECK_INT(options.max_waiters, 5);
	CHECK_INT(options.wait_ns, 7 * NS_PER_S);
	CHECK(options.watch);
	check_runs("-S redis://db1 --max-waiters 0 job true");
	CHECK_INT(options.max_waiters, 0);
	CHECK_INT(options.wait_ns, 0);
	CHECK_INT(parse("-S redis://db1 --status job"), OPTIONS_STATUS);
	CHECK_INT(parse("-S redis://db1 --list"), OPTIONS_LIST);
	CHECK_INT(parse("-S redis://db1 --break --json job"), OPTIONS_BREAK);
	unlink(path);
}

int
main(void)
{
	test_environment();
	test_tls();
	test_modes_in_file();
	return tap_end();
}
