/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* One look of a holder's second connection (redis_watch.h): is the lock still ours? And from then
 * on the server tells this connection when the answer may have become another.
 *
 *     UNSUBSCRIBE, MULTI, GET key, (ZSCORE members token,) SUBSCRIBE, EXEC
 *
 * The server remembers who has read the key, and tells him of the next change: a push. Reading and
 * subscribing are one transaction, so nothing falls between them, and what happens between
 * UNSUBSCRIBE and GET is what GET sees. After a push the server remembers no readers of that key
 * any more. */
#ifndef DLOCK_STORE_REDIS_LOOK_H
#define DLOCK_STORE_REDIS_LOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/problem.h"
#include "net/link.h"
#include "store/redis.h"

enum look_result {
	LOOK_PART,     /* of an answer: there is more to come */
	LOOK_OURS,     /* it has been answered: the lock is ours */
	LOOK_DOUBTFUL, /* and it may not be ours */
	LOOK_FAILED,  /* `problem` says why; another connection may do better: the server is busy */
	LOOK_REFUSED, /* `problem` says why; it would be refused again */
};

struct look {
	struct link *link;                     /* borrowed */
	const struct redis_settings *settings; /* borrowed */
	char value[64];                        /* what stands at the key while the lock is ours */
	bool is_member;                        /* of several holders */
	bool numbered;                         /* or it has still to learn its number */
	unsigned int awaited;                  /* answers to the present look */
	struct problem problem;
};

void
look_init(struct look *look, struct link *link, const struct redis_settings *settings);

/* Sends the first look on a connection that has logged in, after having asked for the number that
 * it has at the server; another look on it. False: it cannot be written. */
bool
look_first(struct look *look);
bool
look_again(struct look *look);

/* Is it a push? One may come at any time. */
bool
look_is_push(const struct look *look, const struct reply *reply);

/* Takes the next answer that is no push, after a look was sent. */
enum look_result
look_read(struct look *look, const struct reply *reply);

#endif
