/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Text to values and back: durations, whole numbers, signals. Pure. Each parser returns false and
 * a sentence that quotes the text and says what would be right; the caller adds where it stood. */
#ifndef DLOCK_BASE_VALUES_H
#define DLOCK_BASE_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/problem.h"

/* A number with an optional unit ms, s, m, h or d (none: seconds); decimal fractions allowed
 * (".5", "1.5s"). No sign, exponent, space, inf or nan. Finer than a nanosecond is cut off. */
bool
value_parse_duration(const char *text, int64_t *ns, struct problem *problem);

/* A duration of at least 1 ms. */
bool
value_parse_timeout(const char *text, int64_t *ns, struct problem *problem);

/* A decimal whole number from `least` to `most`, digits only. */
bool
value_parse_count(const char *text, int64_t least, int64_t most, int64_t *count,
    struct problem *problem);

/* The value of a hexadecimal digit of either case, -1: it is none. */
int
value_hex_digit(char digit);

/* "TERM", "SIGTERM", "term" or "15"; real-time signals as RTMIN, RTMIN+N, RTMAX, RTMAX-N. */
bool
value_parse_signal(const char *text, int *signal_number, struct problem *problem);

/* "TERM" for 15; "signal 99" where there is no name. `size` of 16 is enough. Returns `out`. */
const char *
value_print_signal(char *out, size_t size, int signal_number);

/* For people: "0.123s", "4.2s", "3m12s", "2h05m", "3d04h". `size` of 32 is enough. Returns `out`.
 */
const char *
value_print_duration(char *out, size_t size, int64_t ns);

#endif
