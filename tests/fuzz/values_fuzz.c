/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* base/values: durations, counts and names of signals, against a reading of the same text that is
 * written differently: with 128 bits and no care for speed. */
#include "base/values.h"

#include <ctype.h>
#include <signal.h>

#include "fuzz.h"

/* No product or sum below overflows. */
#define SATURATED ((__int128)1 << 70)

static const struct {
	const char *name;
	int64_t ns;
} units[] = {
    {"", 1000000000},
    {"ms", 1000000},
    {"s", 1000000000},
    {"m", 60000000000},
    {"h", 3600000000000},
    {"d", 86400000000000},
};

/* The digits at *text, which is moved behind them, or SATURATED; *count becomes their number. */
static __int128
digits_at(const char **text, size_t *count)
{
	__int128 total = 0;
	for (*count = 0; isdigit((unsigned char)**text); ++*text, ++*count) {
		if (total < SATURATED)
			total = total * 10 + (**text - '0');
	}
	return total;
}

/* -1: no duration. Digits of the fraction beyond the 18th are left out. */
static __int128
duration_of(const char *text, size_t *fraction_count)
{
	size_t whole_count;
	__int128 whole = digits_at(&text, &whole_count), fraction = 0, scale = 1;
	*fraction_count = 0;
	if (*text == '.') {
		for (text++; isdigit((unsigned char)*text); text++) {
			if (++*fraction_count > 18)
				continue;
			fraction = fraction * 10 + (*text - '0');
			scale *= 10;
		}
	}
	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		if (strcmp(text, units[i].name) == 0 && whole_count + *fraction_count > 0)
			return whole >= SATURATED
			    ? SATURATED
			    : whole * units[i].ns + fraction * units[i].ns / scale;
	}
	return -1;
}

static void
check_duration(const char *text)
{
	struct problem problem = {.text = ""};
	int64_t ns = -1, timeout = -1;
	size_t fraction_count;
	__int128 wanted = duration_of(text, &fraction_count);
	bool good = value_parse_duration(text, &ns, &problem);
	FUZZ_CHECK(good == (wanted >= 0 && wanted <= INT64_MAX));
	if (good) {
		FUZZ_CHECK(ns == wanted || (fraction_count > 18 && ns == wanted + 1));
		char shown[32] = "";
		FUZZ_CHECK(value_print_duration(shown, sizeof shown, ns) == shown);
		FUZZ_CHECK(strlen(shown) >= 2 && strspn(shown, "0123456789.smhd") == strlen(shown));
	}
	FUZZ_CHECK(good == (problem.text[0] == '\0'));
	FUZZ_CHECK(good || strncmp(problem.text, "not a duration: '", 17) == 0 ||
	    strncmp(problem.text, "too long a duration: '", 22) == 0);
	FUZZ_CHECK(value_parse_timeout(text, &timeout, &problem) == (good && ns >= 1000000));
	FUZZ_CHECK(timeout == -1 || timeout == ns);
}

static void
check_count(const char *text, int64_t least, int64_t most)
{
	struct problem problem = {.text = ""};
	int64_t count = -7;
	size_t digits;
	const char *end = text;
	__int128 wanted = digits_at(&end, &digits);
	bool good = digits > 0 && *end == '\0' && wanted >= least && wanted <= most;
	FUZZ_CHECK(value_parse_count(text, least, most, &count, &problem) == good);
	FUZZ_CHECK(good ? count == wanted : count == -7 && problem.text[0] != '\0');
}

static void
check_signal(const char *text)
{
	struct problem problem = {.text = ""};
	int number = -1, again = -1;
	char name[16];
	if (!value_parse_signal(text, &number, &problem)) {
		FUZZ_CHECK(number == -1 && strncmp(problem.text, "not a signal: '", 15) == 0);
		return;
	}
	FUZZ_CHECK(number >= 1 && number <= SIGRTMAX);
	value_print_signal(name, sizeof name, number);
	if (value_parse_signal(name, &again, &problem))
		FUZZ_CHECK(again == number);
	else /* one of the numbers between the names and RTMIN, which libc keeps to itself */
		FUZZ_CHECK(strncmp(name, "signal ", 7) == 0 && isdigit((unsigned char)*text));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	check_duration(text);
	check_count(text, 0, INT64_MAX);
	check_count(text, 1, 255);
	check_count(text, 0, 0);
	check_signal(text);
	free(text);
	return 0;
}
