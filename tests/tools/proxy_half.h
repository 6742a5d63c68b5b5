/* Copyright (c) 2026 the dlock authors */
/* SPDX-License-Identifier: MIT */

/* One direction of a connection through flaky_proxy: pieces that are passed on when due. */
#ifndef TESTS_TOOLS_PROXY_HALF_H
#define TESTS_TOOLS_PROXY_HALF_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "proxy_sockets.h"

#define NO_TIME (-1LL)
#define HELD_BACK 0x7fffffffffffffffLL

struct chunk {
	struct chunk *next;
	long long due_ns;
	size_t len;
	char data[];
};

/* One direction of a connection. */
struct half {
	int from, to;
	bool ended;      /* `from` said end of file */
	bool passed_end; /* ... and `to` was told */
	struct chunk *first;
	struct chunk **last;
};

static inline long long
now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static inline void
half_init(struct half *half, int from, int to)
{
	*half = (struct half){.from = from, .to = to};
	half->last = &half->first;
}

static inline void
half_queue(struct half *half, const char *data, size_t len, long long due_ns)
{
	struct chunk *chunk = malloc(sizeof *chunk + len);

	if (chunk == NULL)
		fail("malloc");
	chunk->next = NULL;
	chunk->due_ns = due_ns;
	chunk->len = len;
	memcpy(chunk->data, data, len);
	*half->last = chunk;
	half->last = &chunk->next;
}

static inline void
half_drop_first(struct half *half)
{
	struct chunk *chunk = half->first;

	half->first = chunk->next;
	if (half->first == NULL)
		half->last = &half->first;
	free(chunk);
}

/* Passes on what is due; returns when the next piece is, or NO_TIME. */
static inline long long
half_flush(struct half *half)
{
	long long now = now_ns();

	while (half->first != NULL && half->first->due_ns <= now) {
		/* A peer that went away, or does not read, loses the rest: it is a test's proxy. */
		if (send(half->to, half->first->data, half->first->len,
			MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
			half->ended = true;
		half_drop_first(half);
	}
	if (half->first != NULL)
		return half->first->due_ns == HELD_BACK ? NO_TIME : half->first->due_ns;
	if (half->ended && !half->passed_end) {
		shutdown(half->to, SHUT_WR);
		half->passed_end = true;
	}
	return NO_TIME;
}

#endif
