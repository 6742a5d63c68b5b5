/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* A link on a bench: with a server that says what the test wants, and notes of what was told. */
#ifndef DLOCK_TESTS_LINK_BENCH_H
#define DLOCK_TESTS_LINK_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "net/link.h"
#include "peer.h"

#define LINK_LIMIT_MS 20000

struct link_bench {
	struct loop loop;
	struct peer peer;
	struct link line;
	struct url url;
	bool opened, answered, failed;
	int answers;
	char last_text[128];
	int64_t last_integer;
	struct problem reason;
	void (*on_answer)(void); /* called by an answer; may be NULL */
};

extern struct link_bench talk;

/* Once; then around each case. */
bool
link_bench_set_up(void);
void
link_bench_begin(void);
void
link_bench_end(void);

/* What was told so far. */
void
link_bench_forget(void);

/* Begins to connect; connects, and waits for it at both ends. */
void
link_bench_begin_to_open(void);
bool
link_bench_open(void);

/* The largest part of a command that fits into a request, and a socket that takes little of it. */
extern const char *const link_bench_large_command[2];
void
link_bench_make_narrow(void);

#endif
