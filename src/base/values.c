/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "base/values.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/nearest.h"

#define DURATION_FORM "a number with an optional unit ms, s, m, h or d, such as 250ms or 1.5m"

static const struct {
	const char *name;
	int64_t ns;
} units[] = {
    {"", NS_PER_S},
    {"ms", NS_PER_MS},
    {"s", NS_PER_S},
    {"m", NS_PER_S * 60},
    {"h", NS_PER_S * 3600},
    {"d", NS_PER_S * 24 * 3600},
};

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The digits from `first` to before `end`, behind a decimal point, in nanoseconds: from the last
 * one to the first, each worth a tenth of the one before. Exact, and never above ten units. */
static int64_t
parse_fraction(const char *first, const char *end, int64_t unit_ns)
{
	int64_t ns = 0;
	while (end > first)
		ns = (ns + (*--end - '0') * unit_ns) / 10;
	return ns;
}

bool
value_parse_duration(const char *text, int64_t *ns, struct problem *problem)
{
	const char *whole = text;
	while (is_digit(*text))
		text++;
	const char *whole_end = text;
	const char *fraction = NULL, *fraction_end = NULL;
	if (*text == '.') {
		fraction = ++text;
		while (is_digit(*text))
			text++;
		fraction_end = text;
	}
	bool has_digits = whole_end > whole || (fraction != NULL && text > fraction);
	int64_t unit_ns = 0;
	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		if (strcmp(text, units[i].name) == 0)
			unit_ns = units[i].ns;
	}
	if (!has_digits || unit_ns == 0) {
		problem_set(problem, "not a duration: '%.64s' (%s)", whole, DURATION_FORM);
		return false;
	}

	int64_t total = 0;
	for (const char *digit = whole; digit < whole_end; digit++) {
		if (__builtin_mul_overflow(total, 10, &total) ||
		    __builtin_add_overflow(total, *digit - '0', &total))
			goto overflow;
	}
	if (__builtin_mul_overflow(total, unit_ns, &total))
		goto overflow;
	if (fraction != NULL &&
	    __builtin_add_overflow(total, parse_fraction(fraction, fraction_end, unit_ns), &total))
		goto overflow;
	*ns = total;
	return true;

overflow:
	problem_set(problem, "too long a duration: '%.64s' (at most 292 years)", whole);
	return false;
}

bool
value_parse_timeout(const char *text, int64_t *ns, struct problem *problem)
{
	if (!value_parse_duration(text, ns, problem))
		return false;
	if (*ns < NS_PER_MS) {
		problem_set(problem, "too short a time: '%.64s' (at least 1ms)", text);
		return false;
	}
	return true;
}

bool
value_parse_count(const char *text, int64_t least, int64_t most, int64_t *count,
    struct problem *problem)
{
	int64_t total = 0;
	bool good = *text != '\0';
	for (const char *digit = text; good && *digit != '\0'; digit++) {
		good = is_digit(*digit) && !__builtin_mul_overflow(total, 10, &total) &&
		    !__builtin_add_overflow(total, *digit - '0', &total);
	}
	if (!good || total < least || total > most) {
		problem_set(problem, "not a number from %" PRId64 " to %" PRId64 ": '%.64s'", least,
		    most, text);
		return false;
	}
	*count = total;
	return true;
}

int
value_hex_digit(char digit)
{
	if (is_digit(digit))
		return digit - '0';
	if (digit >= 'a' && digit <= 'f')
		return digit - 'a' + 10;
	if (digit >= 'A' && digit <= 'F')
		return digit - 'A' + 10;
	return -1;
}

static const struct {
	const char *name;
	int number;
} signals[] = {
    {"HUP", SIGHUP},
    {"INT", SIGINT},
    {"QUIT", SIGQUIT},
    {"ILL", SIGILL},
    {"TRAP", SIGTRAP},
    {"ABRT", SIGABRT},
    {"BUS", SIGBUS},
    {"FPE", SIGFPE},
    {"KILL", SIGKILL},
    {"USR1", SIGUSR1},
    {"SEGV", SIGSEGV},
    {"USR2", SIGUSR2},
    {"PIPE", SIGPIPE},
    {"ALRM", SIGALRM},
    {"TERM", SIGTERM},
    {"CHLD", SIGCHLD},
    {"CONT", SIGCONT},
    {"STOP", SIGSTOP},
    {"TSTP", SIGTSTP},
    {"TTIN", SIGTTIN},
    {"TTOU", SIGTTOU},
    {"URG", SIGURG},
    {"XCPU", SIGXCPU},
    {"XFSZ", SIGXFSZ},
    {"VTALRM", SIGVTALRM},
    {"PROF", SIGPROF},
    {"WINCH", SIGWINCH},
    {"IO", SIGIO},
    {"SYS", SIGSYS},
    /* Second names, as kill(1) and completions offer them; printed is the first. */
    {"IOT", SIGIOT},
    {"CLD", SIGCHLD},
    {"POLL", SIGPOLL},
#ifdef SIGSTKFLT
    {"STKFLT", SIGSTKFLT},
#endif
#ifdef SIGPWR
    {"PWR", SIGPWR},
#endif
};

/* RTMIN, RTMIN+n, RTMAX or RTMAX-n; 0: none of them. */
static int
parse_real_time(const char *name)
{
	struct problem ignored;
	int64_t number = 0;
	bool from_least = strncasecmp(name, "RTMIN", 5) == 0;
	if (!from_least && strncasecmp(name, "RTMAX", 5) != 0)
		return 0;
	if (name[5] != '\0' &&
	    (name[5] != (from_least ? '+' : '-') ||
		!value_parse_count(name + 6, 0, SIGRTMAX - SIGRTMIN, &number, &ignored)))
		return 0;
	return from_least ? SIGRTMIN + (int)number : SIGRTMAX - (int)number;
}

bool
value_parse_signal(const char *text, int *signal_number, struct problem *problem)
{
	const char *name = strncasecmp(text, "SIG", 3) == 0 ? text + 3 : text;
	struct problem ignored;
	int64_t number;

	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
		if (strcasecmp(name, signals[i].name) == 0) {
			*signal_number = signals[i].number;
			return true;
		}
	}
	int real_time = parse_real_time(name);
	if (real_time != 0) {
		*signal_number = real_time;
		return true;
	}
	if (value_parse_count(text, 1, SIGRTMAX, &number, &ignored)) {
		*signal_number = (int)number;
		return true;
	}
	struct nearest nearest = {.word = name};
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
		nearest_offer(&nearest, signals[i].name);
	if (nearest.name != NULL)
		problem_set(problem, "not a signal: '%.64s' (did you mean %s?)", text,
		    nearest.name);
	else
		problem_set(problem,
		    "not a signal: '%.64s' (a name such as TERM or SIGINT, or a number from 1 to %d)",
		    text, SIGRTMAX);
	return false;
}

const char *
value_print_signal(char *out, size_t size, int signal_number)
{
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
		if (signals[i].number == signal_number) {
			snprintf(out, size, "%s", signals[i].name);
			return out;
		}
	}
	if (signal_number >= SIGRTMIN && signal_number <= SIGRTMAX)
		snprintf(out, size, "RTMIN+%d", signal_number - SIGRTMIN);
	else
		snprintf(out, size, "signal %d", signal_number);
	return out;
}

const char *
value_print_duration(char *out, size_t size, int64_t ns)
{
	if (ns < 0)
		ns = 0;
	int64_t ms = ns / NS_PER_MS;
	int64_t s = ns / NS_PER_S;
	if (s < 1)
		snprintf(out, size, "0.%03" PRId64 "s", ms);
	else if (s < 60)
		snprintf(out, size, "%" PRId64 ".%" PRId64 "s", s, ms % 1000 / 100);
	else if (s < 3600)
		snprintf(out, size, "%" PRId64 "m%02" PRId64 "s", s / 60, s % 60);
	else if (s < INT64_C(24) * 3600)
		snprintf(out, size, "%" PRId64 "h%02" PRId64 "m", s / 3600, s / 60 % 60);
	else
		snprintf(out, size, "%" PRId64 "d%02" PRId64 "h", s / 86400, s / 3600 % 24);
	return out;
}
