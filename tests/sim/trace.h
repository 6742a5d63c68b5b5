/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What a schedule does, a line each, when somebody wants to read it: time, who, what. */
#ifndef DLOCK_TESTS_TRACE_H
#define DLOCK_TESTS_TRACE_H

#include <stdbool.h>
#include <stddef.h>

/* Whether lines are printed. */
void
trace_turn(bool on);
bool
trace_is_on(void);

/* "     +1.234567s  d1 runner   text": `who` did it, or was told. */
void
trace_line(const char *who, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The words of a request or an answer in RESP, long ones cut, scripts by their names. */
void
trace_bytes(const char *who, const char *direction, const char *bytes, size_t length);

#endif
