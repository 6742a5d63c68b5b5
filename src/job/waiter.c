/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "job/waiter.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

#include "base/message.h"
#include "base/values.h"
#include "exits.h"
#include "job/ancestor.h"
#include "job/standin.h"
#include "job/verdict.h"
#include "job/words.h"

/* A moment after the first in line has asked again: what is said is true then. */
#define WAIT_NOTICE_FIRST_NS (1050 * NS_PER_MS)
#define WAIT_NOTICE_NEXT_NS (60 * NS_PER_S)

static void
on_wait_notice(void *context, struct instant now)
{
	struct job *job = context;
	int64_t next_ns = WAIT_NOTICE_NEXT_NS;
	char who[1024];
	if (job->lock.failures > 0) {
		message_notice("waiting for '%s': %s: %s", job->settings->name,
		    job->settings->store->server, job->lock.problem.text);
	} else if (job->lock.state == LOCK_WAITING) {
		struct holder holder = job->lock.holder;
		if (holder.held_ns >= 0)
			holder.held_ns += instant_between(job->lock.holder_at, now);
		words_describe_holder(&holder, who, sizeof who);
		message_notice("waiting for '%s', held by %s", job->settings->name, who);
	} else {
		next_ns = WAIT_NOTICE_FIRST_NS; /* nothing is known yet */
	}
	loop_set_timer(job->loop, &job->wait_notice, instant_plus(now, next_ns));
}

/* With -vv: what each answer says, so that a key whose time does not pass is seen. */
static void
tell_expiry(const struct job *job)
{
	int64_t left_ns = job->lock.holder.left_ns;
	char left[32];
	if (job->lock.holder.by_session)
		message_debug("'%s' is held by a session", job->settings->name);
	else if (left_ns < 0)
		message_debug("'%s' is held; its key has no expiry", job->settings->name);
	else
		message_debug("'%s' is held; its key expires in %s", job->settings->name,
		    value_print_duration(left, sizeof left, left_ns));
}

/* Whoever asks again and again is a load for the server, and no longer sure to be next. */
static void
tell_untold(struct job *job)
{
	const struct lock *lock = &job->lock;
	if (job->told_untold || lock->place.rank < 0 || lock->place.told ||
	    lock->untold.text[0] == '\0') /* it may yet be told */
		return;
	job->told_untold = true;
	message_notice("waiting for '%s' by asking again and again: %s", job->settings->name,
	    lock->untold.text);
}

static void
on_waiter_signals(void *context, short revents)
{
	struct job *job = context;
	int number, code, sender;
	(void)revents;
	while (signals_read(job->settings->signals, &number, &code, &sender)) {
		if (number == SIGCHLD)
			tree_reap(job->settings->tree); /* of name look-ups */
		if (job->ended_by != 0 || !signals_ends_waiter(number))
			continue;
		job->ended_by = number;
		lock_give_up(&job->lock, clock_now());
	}
}

/* Whoever holds it has just been named: one of those above us would never let it go. */
static void
on_lock_changed(void *context, struct lock *lock, struct instant now)
{
	struct job *job = context;
	bool held_by_another = lock->state == LOCK_WAITING ||
	    (lock->state == LOCK_FAILED && lock->failure == OUTCOME_HELD);
	if (lock->state == LOCK_WAITING) {
		tell_expiry(job);
		tell_untold(job);
		job_prepare_split(job); /* if not now, then when it must */
	}
	if (held_by_another && job->ended_by == 0 && job->ancestor == NULL &&
	    ancestor_recognise(job) && lock->state == LOCK_WAITING)
		lock_give_up(lock, now);
}

static int
explain_failure(struct job *job)
{
	const struct job_settings *settings = job->settings;
	const char *problem = job->lock.problem.text;
	char who[1024], line[64];
	switch (job->lock.failure) {
	case OUTCOME_HELD:
		if (job->ended_by != 0)
			verdict_die_of(job, job->ended_by);
		words_describe_holder(&job->lock.holder, who, sizeof who);
		words_describe_line(&job->lock.place, line, sizeof line);
		if (job->ancestor != NULL && settings->reentrant)
			message_notice(
			    "'%s' is held by the dlock above, %s, but not as it is wanted "
			    "here: waiting for it would never end",
			    settings->name, who);
		else if (job->ancestor != NULL)
			message_notice("'%s' is held by the dlock above, %s: waiting for it would "
				       "never end (--reentrant runs under its lock)",
			    settings->name, who);
		else
			message_notice("'%s' is held by %s%s", settings->name, who, line);
		verdict_set(job, REPORT_CONFLICT, who);
		return settings->conflict_status;
	case OUTCOME_DENIED:
		message_error("cannot lock '%s' at %s: %s", settings->name, settings->store->server,
		    problem);
		verdict_set(job, REPORT_DENIED, problem);
		return EXIT_DENIED;
	case OUTCOME_REFUSED:
	case OUTCOME_UNCONFIRMED:
		verdict_set(job, REPORT_REFUSED, problem);
		break;
	case OUTCOME_OK:
	case OUTCOME_LOST:
	case OUTCOME_UNREACHABLE:
	case OUTCOME_UNKNOWN:
		verdict_set(job, REPORT_UNREACHABLE, problem);
		break;
	}
	if (job->lock.problem.is_system)
		verdict_set(job, REPORT_SYSTEM_ERROR, problem);
	message_error("cannot lock '%s' at %s: %s", settings->name, settings->store->server,
	    problem);
	if (job->lock.problem.is_setting)
		return EXIT_CONFIG;
	return job->lock.problem.is_system ? EXIT_SYSTEM : EXIT_UNREACHABLE;
}

/* Has no server said a word in this run? One that answered the login has, even if the request that
 * followed was lost. */
static bool
nobody_answered(const struct lock *lock)
{
	return lock->state == LOCK_FAILED && lock->failure == OUTCOME_UNREACHABLE &&
	    !lock->contacted && !lock->in_doubt && !lock->problem.is_system;
}

/* --if-unreachable skip or run. As waiter_acquire. */
static bool
go_on_without(struct job *job, int *status)
{
	const char *name = job->settings->name;
	const char *server = job->settings->store->server;
	const char *why = job->lock.problem.text;
	if (job->settings->if_unreachable == IF_UNREACHABLE_SKIP) {
		message_notice("skipped the command of '%s': no server answers at %s: %s", name,
		    server, why);
		verdict_set(job, REPORT_SKIPPED, why);
		*status = 0;
		return false;
	}
	verdict_set(job, REPORT_UNLOCKED, why); /* which standin_begin forgets */
	message_error(
	    "WARNING: the command of '%s' runs WITHOUT A LOCK: no server answers at %s: %s", name,
	    server, why);
	if (standin_begin(job, COVER_NONE) == 0)
		return true;
	verdict_set(job, REPORT_SYSTEM_ERROR, strerror(errno));
	message_error("cannot run the command of '%s': %s", name, job->reason);
	*status = EXIT_SYSTEM;
	return false;
}

static bool
acquire(struct job *job, int *status)
{
	const struct job_settings *settings = job->settings;
	struct instant now = clock_now();
	job->signal_watch = (struct watch){.fd = settings->signals->fd,
	    .events = POLLIN,
	    .ready = on_waiter_signals,
	    .context = job};
	job->wait_notice = (struct timer){.due = on_wait_notice, .context = job};
	loop_watch(job->loop, &job->signal_watch);
	loop_set_timer(job->loop, &job->wait_notice, instant_plus(now, WAIT_NOTICE_FIRST_NS));
	job->lock.changed = on_lock_changed;
	job->lock.context = job;
	lock_acquire(&job->lock, now);
	while (job->lock.state != LOCK_HELD && job->lock.state != LOCK_FAILED &&
	    job->lock.state != LOCK_RELEASED) {
		if (job_turn(job) != 0) {
			verdict_set(job, REPORT_SYSTEM_ERROR, strerror(errno));
			message_error("cannot wait for '%s': %s", settings->name, job->reason);
			*status = EXIT_SYSTEM;
			return false;
		}
	}
	loop_stop_timer(job->loop, &job->wait_notice);
	loop_unwatch(job->loop, &job->signal_watch);
	if (job->ended_by != 0)
		verdict_die_of(job, job->ended_by);
	if (job->lock.state == LOCK_HELD)
		return true;
	if (nobody_answered(&job->lock) && settings->if_unreachable != IF_UNREACHABLE_FAIL)
		return go_on_without(job, status);
	if (job->ancestor != NULL && settings->reentrant && ancestor_covers(job))
		return ancestor_enter(job, status);
	*status = explain_failure(job);
	return false;
}

/* A process that was stopped, or a machine that slept, right after the grant: confirmed afresh with
 * the same token before anything runs. */
bool
waiter_acquire(struct job *job, int *status)
{
	do {
		if (!acquire(job, status))
			return false;
	} while (
	    instant_reached(lease_renew_at(&job->settings->lock.terms, job->lock.t0), clock_now()));
	return true;
}
