/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What a server's answer means. Pure: no I/O, so that it can be tested and fuzzed with any bytes
 * that a server may send. */
#ifndef DLOCK_STORE_REDIS_ANSWER_H
#define DLOCK_STORE_REDIS_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lock/store.h"
#include "net/link.h"

/* An error text of the server as an outcome: OUTCOME_DENIED or OUTCOME_REFUSED. Errors from
 * within scripts are wrapped differently by each version, so the text is searched. */
enum outcome
answer_classify_error(const char *text);

/* Is it a refusal of which the server itself says that it is one for now? An operator or time will
 * end it: LOADING, BUSY, READONLY, MISCONF, MASTERDOWN, NOREPLICAS, and no room for one more
 * client. */
bool
answer_may_pass(const char *text);

/* Is it a refusal of a server that may not be the right one any more? Where a service moves a name
 * to a new master, the old one becomes a replica: READONLY, then LOADING or MASTERDOWN, or
 * NOREPLICAS where it is cut off. */
bool
answer_suggests_move(const char *text);

/* Was a request not executed because the server does not know its script by hash, or does not let
 * this user name it so? */
bool
answer_wants_text(const char *text);

/* An error text of the server for people, with what they can do about it where a user lacks a
 * permission. */
void
answer_tell_error(const char *text, struct problem *problem);

/* The answer to what merely sets something: the status OK, exactly. */
bool
answer_is_ok(const struct reply *reply);

/* The answer to acquire.lua in any mode. *server_us becomes the server's clock, 0 if the answer
 * does not tell. True: `answer` is complete. False: to be sent again, with a new
 * not-after (LATE), or whole (UNUSUAL). */
bool
answer_read_acquire(const struct reply *reply, enum store_verb verb, struct store_answer *answer,
    int64_t *server_us);

/* The answer to renew.lua and release.lua: 1, 0, -1. */
void
answer_read_number(const struct reply *reply, struct store_answer *answer);

/* The role in the answer to HELLO 2: "master", "replica", as the server calls it. False: it is no
 * such answer, or the role is no word. */
bool
answer_read_role(const struct reply *reply, char *role, size_t size);

/* Who has the lock: pttl, now, who and record are items 1 to 4 of the answer, and that is its
 * clock. False: they make no sense. */
bool
answer_read_holder(const struct reply *reply, int64_t now_us, struct holder *holder);

/* A string or a status of just that. */
bool
answer_is_word(const struct reply *reply, const char *word);

/* A server's clock in microseconds. One beyond the doubles of Lua is none. */
bool
answer_read_clock(const struct reply *reply, int64_t *server_us);

/* The answer to TIME in microseconds since 1970, 0 if it is none. */
int64_t
answer_read_time(const struct reply *reply);

#endif
