/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* DLOCK_HELD: the locks of the dlocks above, and where each can be asked about. Pure.
 *
 * An entry for each enclosing dlock that holds a lock, the outermost first, one blank between two:
 *
 *   PID:STARTED:ADDRESS:TOKEN:KEY
 *   4712:8123456:9f2c41d07a6b3e55:0b5ec1f2-8d0a-4a52-9f43-cd7b14f63d4c:lock:nightly
 *
 * PID is RUNNER's in its own pid namespace, STARTED when it began, in hundredths of a second since
 * the machine's start: together they tell it from another process with that number. ADDRESS is
 * where it listens (run/inquiry.h), - if it cannot be asked. KEY comes last, so it may hold colons;
 * blanks, control characters, bytes above 126 and % are written %HH in it.
 *
 * It is an environment variable: it may be stale, cut, forged, copied to another machine. So it is
 * never believed: it only says whom to ask, and RUNNER itself looks whether who asks descends from
 * it. What is not exactly as above counts for nothing as a whole. */
#ifndef DLOCK_RUN_HELD_H
#define DLOCK_RUN_HELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/identity.h"
#include "base/keys.h"

/* Nested deeper, nothing is run: who needs so many locks at once has started himself by mistake,
 * and the variable must fit into what execve(2) takes as one string (128 KiB). */
#define HELD_DEEPEST 32

#define HELD_ADDRESS_SIZE 17 /* 16 hexadecimal digits and NUL */
#define HELD_ENTRY_SIZE (10 + 1 + 19 + 1 + 16 + 1 + 36 + 1 + 3 * (KEY_SIZE - 1) + 1)
#define HELD_SIZE (HELD_DEEPEST * HELD_ENTRY_SIZE)

struct held_entry {
	pid_t runner;
	int64_t started_cs;
	char address[HELD_ADDRESS_SIZE]; /* empty: it cannot be asked */
	char token[TOKEN_SIZE];
	char key[KEY_SIZE];
};

struct held {
	int count;
	struct held_entry entries[HELD_DEEPEST]; /* the innermost last */
};

/* Reads the variable's value. False: it makes no sense, and *held is empty. */
bool
held_parse(struct held *held, const char *text);

/* Writes the value with `entry` as the innermost behind all that are in *held. False: too deep. */
bool
held_write(const struct held *held, const struct held_entry *entry, char out[HELD_SIZE]);

/* The innermost entry, or the innermost that holds this key, or this token; NULL: none. */
const struct held_entry *
held_innermost(const struct held *held);
const struct held_entry *
held_find_key(const struct held *held, const char *key);
const struct held_entry *
held_find_token(const struct held *held, const char *token);

#endif
