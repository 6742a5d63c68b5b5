/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* The Test Anything Protocol for the unit tests: one line a case, and under a case that failed the
 * checks that did, with what was found and what was wanted.
 *
 *   tap_case("a grace of %s is refused", text);
 *   CHECK_INT(found, wanted);
 *   ...
 *   return tap_end();
 *
 * A case lasts to the next one. A case without a check fails: it could not have. */
#ifndef DLOCK_TESTS_TAP_H
#define DLOCK_TESTS_TAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Ends the case before and begins one. Bytes that a line cannot carry are shown as ?. */
void
tap_case(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Ends the last case, prints the plan, and gives main its exit status. */
int
tap_end(void);

/* Something to be printed below the checks of this case that fail from here on: which row of a
 * table, which step of a walk. */
void
tap_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Has the present case failed? Ends loops that would say the same a thousand times. */
bool
tap_failed(void);

/* Runs `act` in a child process and checks that it ends well: where undefined behaviour would end
 * the test itself, only the case fails. What it checks within counts for nothing. */
bool
tap_survives(void (*act)(const void *context), const void *context);

/* Used through the macros. Each returns whether the check held. */
bool
tap_check(bool holds, const char *file, int line, const char *text);
bool
tap_check_int(int64_t found, int64_t wanted, const char *file, int line, const char *text);
bool
tap_check_text(const char *found, const char *wanted, const char *file, int line, const char *text);
bool
tap_check_has(const char *found, const char *part, bool wanted, const char *file, int line,
    const char *text);

#define CHECK(condition) tap_check((condition), __FILE__, __LINE__, #condition)
#define CHECK_INT(found, wanted) tap_check_int((found), (wanted), __FILE__, __LINE__, #found)
#define CHECK_TEXT(found, wanted) tap_check_text((found), (wanted), __FILE__, __LINE__, #found)
#define CHECK_HAS(found, part) tap_check_has((found), (part), true, __FILE__, __LINE__, #found)
#define CHECK_HAS_NOT(found, part) tap_check_has((found), (part), false, __FILE__, __LINE__, #found)

/* The number of elements of an array. */
#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* Numbers at random, the same in every run: xorshift64 (Marsaglia 2003) from a seed that must not
 * be 0. */
uint64_t
tap_random(uint64_t *state);

/* Uniform enough in [0, below). */
int64_t
tap_random_below(uint64_t *state, int64_t below);

#endif
