/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What a node of a quorum answers. Pure: no I/O. */
#ifndef DLOCK_STORE_REDLOCK_ANSWER_H
#define DLOCK_STORE_REDLOCK_ANSWER_H

#include "lock/store.h"
#include "net/link.h"
#include "store/quorum.h"

struct redlock_answer {
	enum quorum_word word;
	int64_t number;       /* the highest that the node has accepted; 0: none, or not told */
	int64_t clock_us;     /* the node's; 0: not told */
	struct holder holder; /* BUSY */
	enum outcome outcome; /* FAILED: REFUSED, DENIED, or UNKNOWN for nonsense */
	struct problem problem;
};

/* The answer to that question. */
void
redlock_answer_read(const struct reply *reply, enum quorum_ask ask, struct redlock_answer *answer);

/* What INFO server and INFO replication tell. */
struct redlock_facts {
	char run_id[48]; /* empty: not told */
	char replid[48];
	bool is_replica;
	int64_t uptime_s; /* for so long at least; -1: not told */
};

/* Adds what the section says. */
void
redlock_facts_read(struct redlock_facts *facts, const char *info);

#endif
