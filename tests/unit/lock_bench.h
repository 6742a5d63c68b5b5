/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* A lock on a bench: lock.c with a store that only notes what it is asked and answers on command,
 * and a clock that is moved by hand. The bench wakes the lock as its loop would. */
#ifndef DLOCK_TESTS_LOCK_BENCH_H
#define DLOCK_TESTS_LOCK_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "lock/lock.h"

#define MS NS_PER_MS
#define S NS_PER_S

/* -- the store -------------------------------------------------------------------------------- */

#define VERBS (STORE_LOOK + 1)

struct fake_store {
	struct store store; /* first: a store is converted back */
	const struct instant *clock;
	bool under_way;
	struct store_request request; /* the last one */
	struct instant started_at;    /* when */
	int started[VERBS];           /* how many of each verb */
	int total;
	int closed;
	enum outcome answered; /* the last answer */
	int overlaps; /* requests that began while another was under way, other than RELEASE */
};

/* -- the bench -------------------------------------------------------------------------------- */

struct bench {
	struct instant now;
	struct fake_store store;
	struct lock lock;
	bool known; /* the holder that the server tells of is a dlock */
	int told;   /* how often `changed` was called */
	enum lock_state told_state;
	struct instant told_at;
};

/* A lock that is idle, its grace the default. */
void
bench_set_up(struct bench *bench, int64_t ttl_ns, int64_t wait_ns);

/* One that waits for its first answer; one that holds, confirmed at this very instant. */
void
bench_acquire(struct bench *bench, int64_t ttl_ns, int64_t wait_ns);
void
bench_hold(struct bench *bench, int64_t ttl_ns);

/* Lets time pass, waking the lock whenever it is due. A lock that is due again and again without
 * end fails the case. */
void
bench_pass(struct bench *bench, int64_t ns);

/* Lets time pass while the whole machine sleeps: the lock is woken at the end of it. */
void
bench_sleep(struct bench *bench, int64_t ns);

/* Lets time pass until the next request; at most `ns`. Whether there was one. */
bool
bench_pass_until_asked(struct bench *bench, int64_t ns);

/* Answers what is under way: sent when it was started, answered now. */
void
bench_answer(struct bench *bench, enum outcome outcome);

/* REFUSED, for now. */
void
bench_answer_passing(struct bench *bench);

/* HELD, by one whose key expires in left_ns; LOST, gone or another's; what sent_at says. */
void
bench_answer_held(struct bench *bench, int64_t left_ns);
void
bench_answer_lost(struct bench *bench, bool gone);
void
bench_answer_lost_partly(struct bench *bench, bool gone);
void
bench_answer_sent_at(struct bench *bench, enum outcome outcome, struct instant sent_at);

/* HELD, by one whose key expires in left_ns, with our place in line, or whatever the store said of
 * it.
 */
void
bench_answer_place(struct bench *bench, int64_t left_ns, struct place place);

/* LOOK: HELD, our own lock, broken. */
void
bench_answer_broken(struct bench *bench);

/* -- a waiter in line, for lock_line_test and lock_woken_test -- */

/* HELD, with a place in line that is told. */
void
bench_answer_line(struct bench *bench, int64_t left_ns, int64_t rank, bool followed);

/* In line and told, with the first answer had. */
void
bench_stand_in_line(struct bench *bench, int64_t left_ns, int64_t rank);

/* How long it takes to the next request: an acquire. */
int64_t
bench_pause_before_asking(struct bench *bench);

/* A tenth more or less than that. */
void
bench_check_about(int64_t pause, int64_t wanted);

/* A message; left_ns as in struct holder. */
void
bench_wake(struct bench *bench, enum wake wake, int64_t left_ns);

/* The idle connection is lost. */
void
bench_disturb(struct bench *bench);

/* Is a request of this verb under way? */
bool
bench_is_asked(const struct bench *bench, enum store_verb verb);

/* The lock has failed, has said so, and it is over: nothing comes after it. */
void
bench_check_failed(struct bench *bench, enum outcome failure);

/* The instant that is that much after t0. */
struct instant
bench_after_t0(const struct bench *bench, int64_t ns);

#endif
