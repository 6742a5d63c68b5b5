/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* The names of one lock's keys in Redis (SPEC section 7). Pure.
 *
 * K is prefix + NAME. A sibling of K named x must hash to the same cluster slot, and must be
 * covered by an ACL pattern such as lock:*:
 *   K has a hash tag ({...} with something in it):  K#x
 *   K has no brace at all:                          K#x{K}
 *   anything else (a lone brace, an empty tag):     refused, no such sibling exists. */
#ifndef DLOCK_BASE_KEYS_H
#define DLOCK_BASE_KEYS_H

#include <stdbool.h>

#include "base/problem.h"

#define NAME_MAX_BYTES 512
#define PREFIX_MAX_BYTES 512
#define KEY_SIZE (PREFIX_MAX_BYTES + NAME_MAX_BYTES + 1)
#define SIBLING_SIZE (2 * KEY_SIZE + 16)

/* Before a token, at the lock's key or in members: its command has ended, and --at-least lasts; the
 * lock was broken. */
#define DONE_MARKER "dlock!done:"
#define BROKEN_MARKER "dlock!broken:"

struct keys {
	char lock[KEY_SIZE];        /* string: the token of the exclusive holder */
	char fence[SIBLING_SIZE];   /* string: the last fencing number */
	char rfence[SIBLING_SIZE];  /* string: the same at a node of a quorum, and whose it is */
	char info[SIBLING_SIZE];    /* hash: token -> record of who that is */
	char queue[SIBLING_SIZE];   /* sorted set: token of a waiter -> ticket */
	char members[SIBLING_SIZE]; /* sorted set: token of one of several holders -> expiry */
};

/* Makes the keys of NAME. False: the name is empty or too long, has braces that no sibling can be
 * made for, or would itself be a sibling of another lock. */
bool
keys_make(struct keys *keys, const char *prefix, const char *name, struct problem *problem);

#endif
