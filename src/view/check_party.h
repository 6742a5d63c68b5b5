/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* One of the two who want the lock of --check: a store (lock/store.h) as a run has it, with nobody
 * behind it but who asks. */
#ifndef DLOCK_VIEW_CHECK_PARTY_H
#define DLOCK_VIEW_CHECK_PARTY_H

#include <stdbool.h>

#include "base/identity.h"
#include "base/keys.h"
#include "store/redis.h"
#include "view/view.h"

/* The lease of such a lock: who dies in the middle of a check leaves it for so long. */
#define PARTY_TTL (5 * NS_PER_S)

struct party {
	struct redis_settings settings;
	struct store *store;
	struct loop *loop;
	char token[TOKEN_SIZE];
	char record[IDENTITY_RECORD];
	char mode[16];
	bool is_answered;
	struct store_answer answer;                        /* to the last request */
	struct instant granted_at, changed_at, listens_at; /* it was woken so; else never */
	struct timer limit;
	bool is_late;
};

/* Nothing is connected yet. The keys are borrowed. False: no memory. */
bool
check_party_open(struct party *party, const struct view_settings *settings,
    const struct keys *keys);
void
check_party_close(struct party *party);

/* How it wants the lock from the next request on: exclusive, shared, slots:N. */
void
check_party_set_mode(struct party *party, const char *mode);

/* One request of store.h and its answer; a waiter's next one keeps its place. */
enum outcome
check_party_request(struct party *party, const struct view_settings *settings, enum store_verb verb,
    bool wait, bool follow);

/* Until that instant of the party's is known. False: it has taken too long. */
bool
check_party_wait(struct party *party, const struct instant *when);

#endif
