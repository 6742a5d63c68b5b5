/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* One schedule of lock_walk_test: a lock on its bench, and what the test knows itself to compare it
 * with. */
#ifndef DLOCK_TESTS_WALK_H
#define DLOCK_TESTS_WALK_H

#include "lock_bench.h"

struct walk {
	struct bench bench;
	uint64_t random;
	bool telling;
	int64_t ttl_ns;
	bool was_held;
	bool in_doubt;      /* an acquire may have been executed, and nothing has undone it */
	bool in_line;       /* the server has said so, and nothing has undone it */
	struct place place; /* what it has said last */
	bool release_wanted;
	struct instant last_t0;
	int total; /* requests, before the step */
	int closed;
	int ended_total; /* requests when it ended; -1: it has not */
	struct instant term_at;
};

/* Does something at random, of what may happen to the lock now. Returns its name: "wake": the lock
 * was ticked; "answer": what was under way was answered. */
const char *
walk_take_step(struct walk *walk);

#endif
