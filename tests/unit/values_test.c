/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* base/values: durations, counts and signals, from text and to text (SPEC section 1). */
#include "base/values.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "tap.h"

#define MINUTE (60 * NS_PER_S)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

static const struct {
	const char *text;
	int64_t ns;
} durations[] = {
    {"0", 0},
    {"0s", 0},
    {"0ms", 0},
    {"0.0", 0},
    {"1", NS_PER_S},
    {"1s", NS_PER_S},
    {"250ms", 250 * NS_PER_MS},
    {"1m", MINUTE},
    {"1h", HOUR},
    {"1d", DAY},
    {"30d", 30 * DAY},
    {"010", 10 * NS_PER_S},
    {"00000000000000000000000001", NS_PER_S},
    {".5", 500 * NS_PER_MS},
    {".5s", 500 * NS_PER_MS},
    {"0.5", 500 * NS_PER_MS},
    {"1.5s", 1500 * NS_PER_MS},
    {"1.5m", 90 * NS_PER_S},
    {"1.5h", 90 * MINUTE},
    {"0.5d", 12 * HOUR},
    {".1", 100 * NS_PER_MS},
    {"0.3", 300 * NS_PER_MS},
    {"2.75ms", 2750 * NS_PER_US},
    {"0.000000001", 1},
    {"0.000001ms", 1},
    {"1.000000001s", NS_PER_S + 1},
    /* Finer than a nanosecond is cut off, not rounded. */
    {"0.0000000009", 0},
    {"0.9999999999", 999999999},
    {"1.9999999999999999999999999999999999999999", 1999999999},
    {"0.10000000000000000000000000000000000000000000001", 100 * NS_PER_MS},
    /* 292 years and a bit are what 63 bits hold. */
    {"9223372036", INT64_C(9223372036000000000)},
    {"9223372036.854775807", INT64_MAX},
    {"9223372036854ms", INT64_C(9223372036854000000)},
    {"106751d", INT64_C(106751) * 86400 * NS_PER_S},
};

static const char *const bad_durations[] = {
    "",
    ".",
    "s",
    "ms",
    ".s",
    ".ms",
    "-1",
    "+1",
    "-0",
    "-.5s",
    "1e3",
    "1E3",
    "1e3s",
    "0x10",
    " 1",
    "1 ",
    "1 s",
    "1\t",
    "1\n",
    "1s ",
    "1s\n",
    "inf",
    "INF",
    "infinity",
    "nan",
    "NaN",
    "1.5.5",
    "1..5",
    "1,5",
    "1_000",
    "1S",
    "1M",
    "1MS",
    "1us",
    "1ns",
    "1min",
    "1w",
    "1y",
    "1ss",
    "1m30s",
    "1h 5m",
    "s1",
    "\xd9\xa1", /* an Arabic-Indic digit one */
    "5\xc2\xa0s",
    "30s;",
    "1:", /* the neighbours of the digits */
    "1:s",
    "1/",
    "/5",
    "0.:",
};

static const char *const too_long[] = {
    "9223372037",
    "9223372036.854775808",
    "9223372036854.775808ms",
    "106752d",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551616", /* 2^64: what wraps would be 0 */
    "18446744073709551617",
    "99999999999999999999999999999999999999999999999999",
    "99999999999999999999999999999999999999999999999999ms",
    "213503982334d",
};

static void
test_durations(void)
{
	struct problem problem;
	for (size_t i = 0; i < COUNT_OF(durations); i++) {
		int64_t ns = -1;
		tap_case("duration '%s' is %" PRId64 " ns", durations[i].text, durations[i].ns);
		CHECK(value_parse_duration(durations[i].text, &ns, &problem));
		CHECK_INT(ns, durations[i].ns);
	}
	for (size_t i = 0; i < COUNT_OF(bad_durations); i++) {
		int64_t ns = -7;
		char quoted[64];
		tap_case("'%s' is no duration, and the sentence quotes it", bad_durations[i]);
		CHECK(!value_parse_duration(bad_durations[i], &ns, &problem));
		snprintf(quoted, sizeof quoted, "not a duration: '%s'", bad_durations[i]);
		CHECK_HAS(problem.text, quoted);
		CHECK_HAS(problem.text, "ms, s, m, h or d");
		CHECK_INT(ns, -7);
	}
	for (size_t i = 0; i < COUNT_OF(too_long); i++) {
		int64_t ns = -7;
		tap_case("duration '%s' overflows and is refused", too_long[i]);
		CHECK(!value_parse_duration(too_long[i], &ns, &problem));
		CHECK_HAS(problem.text, "too long a duration");
		CHECK_INT(ns, -7);
	}
}

static void
test_endless_duration(void)
{
	static char digits[10001];
	struct problem problem;
	int64_t ns = -7;
	tap_case("ten thousand digits overflow, or as a fraction are cut off");
	memset(digits, '9', sizeof digits - 1);
	CHECK(!value_parse_duration(digits, &ns, &problem));
	CHECK_INT(ns, -7);
	CHECK(strlen(problem.text) < sizeof problem.text);
	digits[0] = '.';
	CHECK(value_parse_duration(digits, &ns, &problem));
	CHECK_INT(ns, 999999999);
}

static void
test_counts(void)
{
	static const struct {
		const char *text;
		int64_t least, most, value; /* value -1: refused */
	} rows[] = {
	    {"0", 0, 255, 0},
	    {"255", 0, 255, 255},
	    {"256", 0, 255, -1},
	    {"600", 0, 255, -1}, /* P33: flock made 88 of it */
	    {"00075", 0, 255, 75},
	    {"-1", 0, 255, -1},
	    {"+1", 0, 255, -1},
	    {" 1", 0, 255, -1},
	    {"1 ", 0, 255, -1},
	    {"1\n", 0, 255, -1},
	    {"", 0, 255, -1},
	    {"1.0", 0, 255, -1},
	    {"1e2", 0, 255, -1},
	    {"0x1f", 0, 255, -1},
	    {"abc", 0, 255, -1},
	    {"1:", 0, 255, -1},
	    {"1/", 0, 255, -1},
	    {"4294967297", 0, 255, -1},           /* 2^32 + 1 */
	    {"18446744073709551617", 0, 255, -1}, /* 2^64 + 1 */
	    {"0", 1, 65535, -1},
	    {"1", 1, 65535, 1},
	    {"65535", 1, 65535, 65535},
	    {"65536", 1, 65535, -1},
	    {"9223372036854775807", 0, INT64_MAX, INT64_MAX},
	    {"9223372036854775808", 0, INT64_MAX, -1},
	    {"9999999999999999999999999999999999999", 0, INT64_MAX, -1},
	};
	struct problem problem;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		int64_t value = -7;
		char bounds[80];
		bool good = rows[i].value >= 0;
		tap_case("count '%s' in [%" PRId64 ", %" PRId64 "] is %s", rows[i].text,
		    rows[i].least, rows[i].most, good ? "taken" : "refused");
		CHECK(value_parse_count(rows[i].text, rows[i].least, rows[i].most, &value,
			  &problem) == good);
		CHECK_INT(value, good ? rows[i].value : -7);
		if (good)
			continue;
		snprintf(bounds, sizeof bounds, "from %" PRId64 " to %" PRId64 ": '%s'",
		    rows[i].least, rows[i].most, rows[i].text);
		CHECK_HAS(problem.text, bounds);
	}
}

static void
test_signals(void)
{
	static const struct {
		const char *text;
		int number; /* 0: refused */
	} rows[] = {
	    {"TERM", SIGTERM},
	    {"SIGTERM", SIGTERM},
	    {"term", SIGTERM},
	    {"sigterm", SIGTERM},
	    {"SigTerm", SIGTERM},
	    {"15", SIGTERM},
	    {"HUP", SIGHUP},
	    {"INT", SIGINT},
	    {"QUIT", SIGQUIT},
	    {"KILL", SIGKILL},
	    {"USR1", SIGUSR1},
	    {"USR2", SIGUSR2},
	    {"ALRM", SIGALRM},
	    {"WINCH", SIGWINCH},
	    {"CONT", SIGCONT},
	    {"1", SIGHUP},
	    {"9", SIGKILL},
	    {"64", 64},
	    {"RTMIN+0", -1}, /* SIGRTMIN is no constant */
	    {"SIGRTMIN+0", -1},
	    {"RTMIN", -1},
	    {"sigrtmin", -1},
	    {"RTMAX", 64},
	    {"SIGRTMAX-0", 64},
	    {"RTMAX-1", 64 - 1},
	    {"ABRT", SIGABRT},
	    {"IOT", SIGABRT},
	    {"CLD", SIGCHLD},
	    {"IO", SIGIO},
	    {"SIGPOLL", SIGIO},
	    {"0", 0},
	    {"-1", 0},
	    {"-TERM", 0},
	    {"65", 0},
	    {"128", 0},
	    {"4294967311", 0}, /* 2^32 + 15 */
	    {"", 0},
	    {"SIG", 0},
	    {"SIG15", 0},
	    {"SIGSIGTERM", 0},
	    {"TERM ", 0},
	    {" TERM", 0},
	    {"TERMINATE", 0},
	    {"TER", 0},
	    {"EXIT", 0},
	    {"RTMIN+", 0},
	    {"RTMIN+-1", 0},
	    {"RTMIN+99", 0},
	    {"RTMIN-1", 0},
	    {"RTMIN1", 0},
	    {"RTMAX+0", 0},
	    {"RTMAX-", 0},
	    {"RTMAX-99", 0},
	    {"15s", 0},
	};
	struct problem problem;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		int number = -7;
		int wanted = rows[i].number == -1 ? SIGRTMIN : rows[i].number;
		tap_case("signal '%s' is %s", rows[i].text, wanted ? "known" : "refused");
		CHECK(value_parse_signal(rows[i].text, &number, &problem) == (wanted != 0));
		CHECK_INT(number, wanted ? wanted : -7);
		if (wanted == 0) {
			CHECK_HAS(problem.text, "not a signal");
			CHECK_HAS(problem.text, rows[i].text);
		}
	}
	tap_case("every signal is printed as something that is read as the same signal");
	for (int number = 1; number <= SIGRTMAX; number++) {
		char text[16];
		int again = -7;
		/* Two between the names and RTMIN are the C library's own. */
		if (number > SIGSYS && number < SIGRTMIN)
			continue;
		tap_note("signal %d", number);
		value_print_signal(text, sizeof text, number);
		CHECK(value_parse_signal(text, &again, &problem));
		CHECK_INT(again, number);
	}
	char text[16];
	tap_case("a number that is no signal is printed as a number");
	CHECK_TEXT(value_print_signal(text, sizeof text, 99), "signal 99");
	CHECK_TEXT(value_print_signal(text, sizeof text, SIGTERM), "TERM");
	CHECK_TEXT(value_print_signal(text, sizeof text, SIGRTMIN + 3), "RTMIN+3");
}

static void
test_printed_durations(void)
{
	static const struct {
		int64_t ns;
		const char *text;
	} rows[] = {
	    {0, "0.000s"},
	    {-5, "0.000s"},
	    {INT64_MIN, "0.000s"},
	    {123 * NS_PER_MS, "0.123s"},
	    {999999999, "0.999s"},
	    {NS_PER_S, "1.0s"},
	    {4200 * NS_PER_MS, "4.2s"},
	    {59999 * NS_PER_MS, "59.9s"},
	    {MINUTE, "1m00s"},
	    {3 * MINUTE + 12 * NS_PER_S, "3m12s"},
	    {HOUR - 1, "59m59s"},
	    {HOUR, "1h00m"},
	    {2 * HOUR + 5 * MINUTE, "2h05m"},
	    {DAY - 1, "23h59m"},
	    {DAY, "1d00h"},
	    {3 * DAY + 4 * HOUR, "3d04h"},
	    {INT64_MAX, "106751d23h"},
	};
	char text[32];
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		tap_case("%" PRId64 " ns are shown as %s", rows[i].ns, rows[i].text);
		CHECK_TEXT(value_print_duration(text, sizeof text, rows[i].ns), rows[i].text);
	}
}

int
main(void)
{
	test_durations();
	test_endless_duration();
	test_counts();
	test_signals();
	test_printed_durations();
	return tap_end();
}
