/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "lock_bench.h"

#include <stdio.h>
#include <string.h>

#include "tap.h"

/* -- the store -------------------------------------------------------------------------------- */

static void
fake_start(struct store *store, const struct store_request *request)
{
	struct fake_store *fake = (struct fake_store *)store;
	if (fake->under_way && request->verb != STORE_RELEASE)
		fake->overlaps++;
	fake->under_way = true;
	fake->request = *request;
	fake->started_at = *fake->clock;
	fake->started[request->verb]++;
	fake->total++;
}

static void
fake_close(struct store *store)
{
	struct fake_store *fake = (struct fake_store *)store;
	fake->under_way = false;
	fake->closed++;
}

static const struct store_operations operations = {
    .start = fake_start,
    .close = fake_close,
};

static void
give(struct bench *bench, struct store_answer *answer, struct instant sent_at)
{
	struct fake_store *fake = &bench->store;
	if (!CHECK(fake->under_way))
		return;
	fake->under_way = false;
	fake->answered = answer->outcome;
	answer->sent_at = sent_at;
	answer->received_at = bench->now;
	fake->store.events->answered(fake->store.context, answer);
}

/* -- the bench -------------------------------------------------------------------------------- */

static void
on_changed(void *context, struct lock *lock, struct instant now)
{
	struct bench *bench = context;
	CHECK(lock == &bench->lock);
	bench->told++;
	bench->told_state = lock->state;
	bench->told_at = now;
}

void
bench_set_up(struct bench *bench, int64_t ttl_ns, int64_t wait_ns)
{
	struct problem problem;
	struct lock_settings settings = {
	    .wait_ns = wait_ns,
	    .connect_limit_ns = lease_default_connect_limit(ttl_ns),
	};
	memset(bench, 0, sizeof *bench);
	CHECK(lease_terms_make(&settings.terms, ttl_ns, lease_default_grace(ttl_ns), &problem));
	bench->now = (struct instant){1000 * S};
	bench->store.store.operations = &operations;
	bench->store.clock = &bench->now;
	lock_init(&bench->lock, &bench->store.store, &settings, 42);
	bench->lock.changed = on_changed;
	bench->lock.context = bench;
}

void
bench_acquire(struct bench *bench, int64_t ttl_ns, int64_t wait_ns)
{
	bench_set_up(bench, ttl_ns, wait_ns);
	lock_acquire(&bench->lock, bench->now);
	CHECK(bench_is_asked(bench, STORE_ACQUIRE));
}

void
bench_hold(struct bench *bench, int64_t ttl_ns)
{
	bench_acquire(bench, ttl_ns, 0);
	bench_answer(bench, OUTCOME_OK);
	CHECK_INT(bench->lock.state, LOCK_HELD);
}

/* Wakes the lock where it is due up to `until`; stops early at a request if that is wanted. */
static void
pass_until(struct bench *bench, struct instant until, bool stop_at_request)
{
	int total = bench->store.total;
	for (int turns = 0; turns < 100000; turns++) {
		struct instant due = lock_due(&bench->lock);
		if (due.ns > until.ns) {
			bench->now = until;
			return;
		}
		if (due.ns > bench->now.ns)
			bench->now = due;
		lock_tick(&bench->lock, bench->now);
		if (stop_at_request && bench->store.total > total)
			return;
	}
	CHECK(!"a lock that is due without end");
}

void
bench_pass(struct bench *bench, int64_t ns)
{
	pass_until(bench, instant_plus(bench->now, ns), false);
}

void
bench_sleep(struct bench *bench, int64_t ns)
{
	bench->now = instant_plus(bench->now, ns);
	pass_until(bench, bench->now, false);
}

bool
bench_pass_until_asked(struct bench *bench, int64_t ns)
{
	int total = bench->store.total;
	pass_until(bench, instant_plus(bench->now, ns), true);
	return bench->store.total > total;
}

void
bench_answer_sent_at(struct bench *bench, enum outcome outcome, struct instant sent_at)
{
	struct store_answer answer;
	memset(&answer, 0, sizeof answer);
	answer.outcome = outcome;
	if (outcome == OUTCOME_OK)
		strcpy(answer.fence, "1764000000000001");
	else
		problem_set(&answer.problem, "outcome %d", (int)outcome);
	give(bench, &answer, sent_at);
}

void
bench_answer(struct bench *bench, enum outcome outcome)
{
	bench_answer_sent_at(bench, outcome, bench->store.started_at);
}

void
bench_answer_passing(struct bench *bench)
{
	struct store_answer answer;
	memset(&answer, 0, sizeof answer);
	answer.outcome = OUTCOME_REFUSED;
	problem_set(&answer.problem, "for now");
	answer.problem.is_passing = true;
	give(bench, &answer, bench->store.started_at);
}

void
bench_answer_place(struct bench *bench, int64_t left_ns, struct place place)
{
	struct store_answer answer;
	memset(&answer, 0, sizeof answer);
	answer.outcome = OUTCOME_HELD;
	answer.place = place;
	answer.holder.left_ns = left_ns;
	answer.holder.held_ns = -1;
	answer.holder.known = bench->known;
	strcpy(answer.holder.token, "another");
	if (place.rank >= 0 && !place.told)
		problem_set(&answer.problem, "no messages");
	give(bench, &answer, bench->store.started_at);
}

void
bench_answer_held(struct bench *bench, int64_t left_ns)
{
	bench_answer_place(bench, left_ns, (struct place){.rank = -1});
}

void
bench_answer_broken(struct bench *bench)
{
	struct store_answer answer;
	memset(&answer, 0, sizeof answer);
	answer.outcome = OUTCOME_HELD;
	answer.place.rank = -1;
	answer.holder.known = true;
	answer.holder.broken = true;
	answer.holder.ours = true;
	strcpy(answer.holder.token, "dlock!broken:mine");
	give(bench, &answer, bench->store.started_at);
}

void
bench_answer_lost(struct bench *bench, bool gone)
{
	struct store_answer answer;
	memset(&answer, 0, sizeof answer);
	answer.outcome = OUTCOME_LOST;
	answer.gone = gone;
	give(bench, &answer, bench->store.started_at);
}

void
bench_answer_lost_partly(struct bench *bench, bool gone)
{
	struct store_answer answer;
	memset(&answer, 0, sizeof answer);
	answer.outcome = OUTCOME_LOST;
	answer.gone = gone;
	answer.partly = true;
	give(bench, &answer, bench->store.started_at);
}

void
bench_wake(struct bench *bench, enum wake wake, int64_t left_ns)
{
	bench->store.store.events->woken(bench->store.store.context, wake, left_ns, bench->now);
}

void
bench_disturb(struct bench *bench)
{
	CHECK(!bench->store.under_way);
	bench->store.store.events->disturbed(bench->store.store.context, bench->now);
}

bool
bench_is_asked(const struct bench *bench, enum store_verb verb)
{
	return bench->store.under_way && bench->store.request.verb == verb;
}

struct instant
bench_after_t0(const struct bench *bench, int64_t ns)
{
	return instant_plus(bench->lock.t0, ns);
}

void
bench_check_failed(struct bench *bench, enum outcome failure)
{
	CHECK_INT(bench->lock.state, LOCK_FAILED);
	CHECK_INT(bench->lock.failure, failure);
	CHECK_INT(bench->told_state, LOCK_FAILED);
	CHECK_INT(lock_due(&bench->lock).ns, INT64_MAX);
	int total = bench->store.total, told = bench->told;
	bench_pass(bench, 3600 * S);
	CHECK_INT(bench->store.total, total);
	CHECK_INT(bench->told, told);
	CHECK_INT(bench->store.overlaps, 0);
}

void
bench_answer_line(struct bench *bench, int64_t left_ns, int64_t rank, bool followed)
{
	bench_answer_place(bench, left_ns,
	    (struct place){.rank = rank, .ticket = 4711, .told = true, .followed = followed});
}

void
bench_stand_in_line(struct bench *bench, int64_t left_ns, int64_t rank)
{
	bench_acquire(bench, 30 * S, WAIT_FOR_EVER);
	bench->known = true;
	bench_answer_line(bench, left_ns, rank, false);
	CHECK_INT(bench->lock.state, LOCK_WAITING);
}

int64_t
bench_pause_before_asking(struct bench *bench)
{
	struct instant before = bench->now;
	CHECK(bench->store.under_way || bench_pass_until_asked(bench, 100 * S));
	CHECK(bench_is_asked(bench, STORE_ACQUIRE));
	return instant_between(before, bench->now);
}

void
bench_check_about(int64_t pause, int64_t wanted)
{
	CHECK(pause >= wanted - wanted / 10 && pause <= wanted + wanted / 10);
}
