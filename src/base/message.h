/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Everything dlock says: one line each, on stderr, "dlock: " first; stdout belongs to COMMAND.
 *
 * A line is written with one write(2). One that stderr cannot take within 100 ms is dropped: a
 * stuck terminal, or a full pipe that nobody reads, must not keep -w or a signal from ending
 * dlock. Control characters, and bytes that are not UTF-8, are shown as \xHH, because names and
 * labels of other people's locks end up here and must not be able to drive a terminal. */
#ifndef DLOCK_BASE_MESSAGE_H
#define DLOCK_BASE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

/* The longest line; a longer one is cut. */
#define MESSAGE_MAX 2048

/* quiet: no notices. verbosity: the number of -v. */
void
message_set_level(bool quiet, int verbosity);

/* From now on a line that stderr cannot take at once is dropped, not waited for at all. For the two
 * processes that keep a promise by the clock. */
void
message_never_block(void);

/* A failure: always said. */
void
message_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Conflicts, waits, left-over processes: not with -q. */
void
message_notice(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* With -v. */
void
message_verbose(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* With -vv: protocol detail. */
void
message_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Copies `text` to `out`, printable: see above. `size` counts the final NUL; what does not fit is
 * cut at a whole character. Returns the length. Pure. */
size_t
message_escape(char *out, size_t size, const char *text);

/* The length of the character that `text` begins with, if it is valid UTF-8 and printable; 0 if it
 * is not. Pure. */
size_t
message_character(const char *text);

#endif
