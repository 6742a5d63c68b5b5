/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* From the bytes of a connection to answers (struct reply), by hiredis' reader. For link.c alone,
 * and the only user of hiredis, of which it takes the formatter and the reader: hiredis'
 * connections block in getaddrinfo outside any time-out, try only the first address of a name,
 * have no CLOEXEC, and raise SIGPIPE.
 *
 * The answer is built in a block of fixed size, so that no length that a server announces makes
 * dlock allocate: hiredis' own objects would be 800 MB for "*100000000". */
#ifndef DLOCK_NET_READER_H
#define DLOCK_NET_READER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/problem.h"
#include "net/link.h"

struct link_reader;

/* A reader, or NULL: no memory. */
struct link_reader *
reader_new(void);
void
reader_free(struct link_reader *reader);

/* Forgets what was received, for a new connection. 0, or -1: no memory. */
int
reader_reset(struct link_reader *reader);

/* Takes bytes in. 0, or -1 and the reason: too many without a complete answer, no memory. */
int
reader_feed(struct link_reader *reader, const char *bytes, size_t length, struct problem *why);

/* 1 and the next complete answer in *reply, valid until the next call with this reader; 0: none
 * yet; -1 and the reason: this is not RESP2, or it is over the bounds. */
int
reader_next(struct link_reader *reader, const struct reply **reply, struct problem *why);

/* Is there more than what was given out, if only half of an answer? */
bool
reader_has_more(const struct link_reader *reader);

/* A command as bytes (RESP) into `out`: their number, or -1 when they are more than `size`. */
long
reader_format(char *out, size_t size, int argc, const char *const *argv);

#endif
