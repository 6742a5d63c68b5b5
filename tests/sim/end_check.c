/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "end_check.h"

#include <signal.h>

#include "base/clock.h"
#include "dlock.h"
#include "exits.h"
#include "faults.h"
#include "node.h"
#include "world.h"

/* A turn, a signal, an end: what takes no time, but is not done in no time. */
#define MOMENTS (100 * NS_PER_MS)
/* Clocks differ by so little, in percent. */
#define CLOCKS_AGREE 101

static int64_t
later(int64_t one, int64_t other)
{
	return one > other ? one : other;
}

/* -- in time ----------------------------------------------------------------------------------- */

/* While it can do nothing, or has just been late, nothing is in time. */
static void
note_ability(const struct task *task, int64_t *able_since)
{
	if (task != NULL && (!task_is_able(task) || task->delayed_until > world.now))
		*able_since = world.now;
}

/* When -w is over a try that may have been granted is waited for, made once more, and undone. Each
 * is a connection and up to three answers, where those say LATE (src/store/redis_exchange.c), and
 * there are two more to undo it. */
static void
check_wait(const struct dlock *dlock)
{
	const struct lock_settings *lock = &dlock->settings.lock;
	int64_t wait_ns = dlock->plan->wait_ns;
	if (wait_ns == WAIT_FOR_EVER || dlock->runner != NULL || !dlock->outer->is_alive ||
	    dlock->outer->is_dying)
		return;
	int64_t over =
	    later(dlock->asks_since + wait_ns / 100 * CLOCKS_AGREE, dlock->outer_able_since) +
	    2 * lock->connect_limit_ns + 8 * lease_request_limit(&lock->terms) + MOMENTS;
	if (world.now > over)
		world_fail("d%d waits on, though its -w of %lld ms is over for %lld ms",
		    dlock->number, (long long)(wait_ns / NS_PER_MS),
		    (long long)((world.now - dlock->asks_since - wait_ns) / NS_PER_MS));
}

/* What it may have been granted is undone, if a moment is enough for that (src/lock/lock_parts.h).
 */
static void
check_term(const struct dlock *dlock)
{
	if (dlock->told_to_end_at == 0 || dlock->runner != NULL || !dlock->outer->is_alive ||
	    dlock->outer->is_dying)
		return;
	if (world.now > later(dlock->told_to_end_at, dlock->outer_able_since) + 2 * MOMENTS)
		world_fail("d%d waits on, though it was told to end %lld ms before", dlock->number,
		    (long long)((world.now - dlock->told_to_end_at) / NS_PER_MS));
}

/* The signal, the grace, and KILL. RUNNER is called when it is due, stopped or not, but not when it
 * does something else for so long. */
static void
check_hold(const struct dlock *dlock)
{
	const struct dlock_plan *plan = dlock->plan;
	const struct lease_terms *terms = &dlock->settings.lock.terms;
	if (plan->max_hold_ns == 0 || !dlock_works(dlock))
		return;
	int64_t over = later(dlock->began_at + plan->max_hold_ns / 100 * CLOCKS_AGREE,
			   dlock->runner_able_since) +
	    terms->grace_ns / 100 * CLOCKS_AGREE + MOMENTS;
	if (world.now > over)
		world_fail("the command of d%d runs, though its --max-hold of %lld ms is over for "
			   "%lld ms",
		    dlock->number, (long long)(plan->max_hold_ns / NS_PER_MS),
		    (long long)((world.now - dlock->began_at - plan->max_hold_ns) / NS_PER_MS));
}

void
end_check_look(struct dlock *dlock)
{
	if (!dlock->is_begun)
		return;
	if (dlock->job.lock.state == LOCK_IDLE)
		dlock->asks_since = world.now;
	note_ability(dlock->outer, &dlock->outer_able_since);
	note_ability(dlock->runner, &dlock->runner_able_since);
	check_wait(dlock);
	check_term(dlock);
	check_hold(dlock);
}

/* -- what is said ------------------------------------------------------------------------------ */

/* Somebody may have had the lock since it came: another dlock that got it, or a stranger. */
static bool
may_be_busy(const struct dlock *dlock)
{
	for (int i = 0; i < dlocks_count(); i++) {
		const struct dlock *other = dlocks_get(i);
		if (other != dlock && other->is_begun)
			return true;
	}
	return !faults_were_none();
}

/* Do others want another number of slots, or may the number that it wants to exceed be beyond what
 * there are? */
static bool
may_be_refused(const struct dlock *dlock)
{
	for (int i = 0; i < dlocks_count(); i++) {
		if (dlocks_get(i)->plan->slots != dlock->plan->slots)
			return true;
	}
	return dlock->plan->min_fence > 0;
}

/* NULL: it may say so. */
static const char *
find_lie(const struct dlock *dlock, int status)
{
	const struct dlock_plan *plan = dlock->plan;
	const struct task *command = dlock->command;
	bool ran = command != NULL && command->is_executed;
	bool ended_well = ran && !command->is_alive && command->code == CLD_EXITED;
	/* --max-hold counts from when RUNNER is there, which may be stopped before it starts
	 * COMMAND. */
	switch (status) {
	case 0:
		/* The release has found out: else its answer may have been lost, and it has asked
		 * again. */
		return !ended_well ? "its command has not come to its end"
		    : dlock->was_gone && faults_spare_answers()
		    ? "its lock had gone before its command ended"
		    : NULL;
	case EXIT_CONFLICT:
		return ran ? "its command has run" : may_be_busy(dlock) ? NULL : "nobody had it";
	case EXIT_LOST:
		return faults_were_none() ? "nothing was wrong" : NULL;
	case EXIT_MAX_HOLD:
		return plan->max_hold_ns == 0 ? "there is no --max-hold"
		    : !ran                    ? "its command has not run"
		    : dlock->ended_at - dlock->held_from < plan->max_hold_ns / CLOCKS_AGREE * 100
		    ? "it is not over"
		    : NULL;
	case EXIT_NOT_FOUND:
		return plan->is_missing ? NULL : "there is its command";
	case EXIT_UNREACHABLE:
	case EXIT_DENIED:
		return ran                                         ? "its command has run"
		    : faults_were_none() && !may_be_refused(dlock) ? "nothing was wrong"
								   : NULL;
	default:
		return "no status of that kind";
	}
}

void
end_check_status(const struct task *outer)
{
	const struct dlock *dlock = outer->dlock;
	if (outer->code != CLD_EXITED)
		return;
	const char *lie = find_lie(dlock, outer->status);
	if (lie != NULL)
		world_fail("d%d ends with %d, but %s", dlock->number, outer->status, lie);
}
