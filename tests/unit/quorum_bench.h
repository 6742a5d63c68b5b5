/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* One quorum, and a clock that is moved by hand: what the tests of store/quorum.h share. */
#ifndef DLOCK_TESTS_QUORUM_BENCH_H
#define DLOCK_TESTS_QUORUM_BENCH_H

#include "store/quorum.h"
#include "tap.h"

#define MS NS_PER_MS
#define T (10 * NS_PER_S)
#define LIMIT (T / 20)

extern struct quorum quorum;
extern struct instant now;

/* So many nodes, all connected. */
void
set_up(int count);

void
pass(int64_t ns);

/* Sends what is wanted; which ask it was, the same of all, and of how many. */
int
send_all(enum quorum_ask ask);

void
answer_with(int node, enum quorum_ask ask, enum quorum_word word, int64_t number);

void
answer(int node, enum quorum_ask ask, enum quorum_word word);

void
begin_taking(void);

/* By nodes 0 and 1; the third has not answered. */
void
acquire_by_two(void);

/* By all. */
void
acquire(void);

#endif
