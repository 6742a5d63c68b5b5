/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* One simulated `dlock [OPTION]... NAME COMMAND`: what it was asked to do, and the real code that
 * does it, on processes of its own (task.h). */
#ifndef DLOCK_TESTS_DLOCK_H
#define DLOCK_TESTS_DLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/keys.h"
#include "job/job_parts.h"
#include "node.h"
#include "store/redis.h"
#include "store/redlock.h"
#include "task.h"

#define MOST_DLOCKS 8

/* Its arguments. */
struct dlock_plan {
	bool is_there; /* false: left out (minimise.h) */
	int64_t begins_at;
	enum lock_mode mode;
	int slots;
	int64_t ttl_ns, grace_ns, wait_ns, at_least_ns, max_hold_ns;
	int64_t min_fence, max_waiters;
	enum fence_mode fence_mode;
	bool only_signals; /* --on-lost signal */
	bool watches;      /* --watch */
	bool looks_up;     /* its URLs have names; else that is left to chance */
	/* COMMAND: */
	int64_t work_ns;    /* how long it takes, if it may */
	int64_t cleanup_ns; /* how long it lives after a first signal */
	bool ignores_signals;
	bool is_missing;
};

struct dlock {
	int number;
	const struct dlock_plan *plan;
	struct host host;
	struct task *outer, *runner, *command;
	bool is_begun;
	int64_t lookups_hang_until;

	/* What COMMAND is told. */
	int64_t shown_fence;
	int shown_slot;

	/* The checker's: */
	int64_t began_at, ended_at; /* COMMAND; 0: not yet */
	int64_t taken_at;           /* the lock, at the first server, with: */
	int64_t held_from;          /* that, when COMMAND began */
	char taken_token[TOKEN_SIZE];
	int64_t kept_until[MOST_NODES]; /* as that server has confirmed it, true time */
	bool is_forgotten[MOST_NODES];  /* a server has lost what it had confirmed */
	int64_t ticket;                 /* with which it was seen in line */
	int64_t had_until[MOST_NODES];  /* kept for it when it was last seen at work */
	int64_t excused_until;          /* others may hold the lock beside it; 0: never */
	int64_t awake_since;
	bool was_gone;          /* at the one server, when COMMAND ended */
	int64_t asks_since;     /* its first try */
	int64_t told_to_end_at; /* TERM, while it waited; 0: never */
	int64_t outer_able_since, runner_able_since;
	int64_t guard_seen;     /* OUTER's deadline when it was last looked at */
	struct instant t0_seen; /* of the lease; 0: COMMAND does not work */

	/* The real code's: */
	struct keys keys;
	char token[TOKEN_SIZE];
	char record[256], mode[24];
	struct redis_settings redis;
	struct redlock_member members[MOST_NODES];
	struct redlock_settings redlock;
	struct store *store;
	struct loop loop, outer_loop;
	struct channel outer_channel;
	struct guard_settings outer_guard;
	struct signals signals;
	struct report report;
	struct job_settings settings;
	struct tree tree;
	struct job job;
};

/* All of a schedule; how many servers decide together (1, or a quorum). */
void
dlocks_begin(const struct dlock_plan *plans, int count, uint64_t seed);
int
dlocks_count(void);
struct dlock *
dlocks_get(int index);

/* Gives back what the real code has allocated. */
void
dlocks_end(void);

struct dlock *
dlock_of(const struct job *job);

struct host *
dlock_host(struct dlock *dlock);
int
dlock_number(const struct dlock *dlock);

/* Counts the state that its lock is in. */
void
dlock_note_state(const struct dlock *dlock);

/* Nothing of it is left. */
bool
dlock_is_over(const struct dlock *dlock);

/* The token that it holds the lock with, or wants to. */
const char *
dlock_token(const struct dlock *dlock);

/* COMMAND runs. */
bool
dlock_works(const struct dlock *dlock);

#endif
