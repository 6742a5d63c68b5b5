/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "job/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/message.h"
#include "base/values.h"

void
words_describe_holder(const struct holder *holder, char *out, size_t size)
{
	char who[768];
	if (!holder->known) {
		snprintf(out, size, "an unknown client (token %s)%s", holder->token,
		    holder->left_ns < 0 ? "; its key has no expiry, somebody must delete it" : "");
		return;
	}
	bool past = holder->finished || holder->broken;
	identity_describe(&holder->identity, past ? -1 : holder->held_ns, who, sizeof who);
	if (holder->ours) {
		snprintf(out, size, "nobody: it was granted to us, and broken by %s", who);
		return;
	}
	if (holder->broken) {
		snprintf(out, size, "%s, whose lock was broken and whose command is being ended",
		    who);
		return;
	}
	if (!holder->finished) {
		/* A holder that lives renews, and sets it again. */
		snprintf(out, size, "%s%s", who,
		    holder->left_ns < 0
			? "; its key has no expiry, if it is not renewed somebody must delete it"
			: "");
		return;
	}
	char clock[32] = "?", left[32];
	time_t until = time(NULL) + (time_t)(holder->left_ns / NS_PER_S);
	struct tm local;
	if (localtime_r(&until, &local) != NULL)
		strftime(clock, sizeof clock, "%Y-%m-%d %H:%M:%S %z", &local);
	snprintf(out, size, "%s: finished, held until %s (for another %s)", who, clock,
	    value_print_duration(left, sizeof left, holder->left_ns));
}

void
words_describe_line(const struct place *place, char *out, size_t size)
{
	int64_t count = place->rank >= 0 ? place->rank : place->waiting;
	const char *where = place->rank >= 0 ? " before us" : place->full ? " already" : "";
	out[0] = '\0';
	if (count > 0)
		snprintf(out, size, ", and %" PRId64 " wait%s%s", count, count == 1 ? "s" : "",
		    where);
}

void
words_describe_loss(const struct job *job, char *out, size_t size)
{
	const struct lock *lock = &job->lock;
	char text[1024];
	switch (lock->loss) {
	case LOSS_NONE:
		snprintf(out, size,
		    lock->released == RELEASE_FOUND_LOST
			? "when its command had ended and it was released, it was no longer ours"
			: "its lease was over before it could be released");
		break;
	case LOSS_GONE:
		snprintf(out, size, "the key is gone");
		break;
	case LOSS_ANOTHER:
		text[0] = '\0';
		if (lock->holder.token[0] != '\0')
			words_describe_holder(&lock->holder, text, sizeof text);
		snprintf(out, size, "another holder has it%s%s", text[0] ? ": " : "", text);
		break;
	case LOSS_BROKEN:
		text[0] = '\0';
		if (lock->holder.known)
			identity_describe(&lock->holder.identity, -1, text, sizeof text);
		snprintf(out, size, "it was broken (dlock --break)%s%s", text[0] ? " by " : "",
		    text);
		break;
	case LOSS_ENDED:
		snprintf(out, size, "its session has ended, and others may have it: %s",
		    lock->loss_problem.text);
		break;
	case LOSS_UNCONFIRMED:
		snprintf(out, size, "could not be confirmed for %s (%s: %s)",
		    value_print_duration(text, sizeof text,
			instant_between(lock->t0, job->lost_at)),
		    job->settings->store->server,
		    lock->loss_problem.text[0] ? lock->loss_problem.text : "no renewal in time");
		break;
	}
}

/* For how long COMMAND may have run without the lock, ns: after a loss that the clock told, from
 * the end of the lease; after one that the server told, at most from the last confirmation. */
static int64_t
measure_breach(const struct job *job)
{
	const struct lock *lock = &job->lock;
	bool by_server = lock->loss == LOSS_GONE || lock->loss == LOSS_ANOTHER ||
	    lock->loss == LOSS_ENDED ||
	    (lock->loss == LOSS_NONE && lock->released == RELEASE_FOUND_LOST);
	struct instant from = lock->t0;
	if (!by_server)
		from = lease_sure_until(&job->settings->lock.terms, lock->t0);
	return instant_between(from, job->ended_at);
}

void
words_announce_loss(struct job *job)
{
	char why[1536];
	words_describe_loss(job, why, sizeof why);
	message_error("lost '%s': %s; its command has been signalled", job->settings->name, why);
	job->loss_announced = true;
}

void
words_tell_loss(const struct job *job)
{
	const char *name = job->settings->name;
	char why[1536], text[32], breach[96] = "";
	int64_t breach_ns = measure_breach(job);
	if (breach_ns > 0)
		snprintf(breach, sizeof breach, "exclusivity may have been broken for up to %s",
		    value_print_duration(text, sizeof text, breach_ns));
	words_describe_loss(job, why, sizeof why);
	if (!job->loss_announced)
		message_error("lost '%s': %s%s%s", name, why, breach[0] ? "; " : "", breach);
	else if (breach[0] != '\0')
		message_error("'%s' was lost: %s", name, breach);
}

void
words_tell_trouble(const struct job *job, struct instant now)
{
	char left[32];
	int64_t left_ns =
	    instant_between(now, lease_term_at(&job->settings->lock.terms, job->lock.t0));
	message_verbose("cannot renew '%s' at %s: %s; its command is ended in %s",
	    job->settings->name, job->settings->store->server, job->lock.problem.text,
	    value_print_duration(left, sizeof left, left_ns));
}

void
words_tell_left(const struct job *job, int left, pid_t example)
{
	const char *wait = "";
	if (job->stage == STAGE_LINGERING)
		wait = left == 1 ? ": waiting for it" : ": waiting for them";
	message_notice("the command of '%s' has ended and left %d process%s running (pid %d%s)%s",
	    job->settings->name, left, left == 1 ? "" : "es", (int)example,
	    left == 1 ? "" : " is one", wait);
}

void
words_tell_stuck(struct job *job)
{
	const struct tree *tree = &job->command.tree;
	const char *how = tree->denied > 0 ? "may not be killed by this user" : "do not die";
	message_error("processes of '%s' %s (pid %d is one): the lock is left to its TTL",
	    job->settings->name, how, (int)tree->example);
	snprintf(job->reason, sizeof job->reason, "processes of it %s (pid %d is one)", how,
	    (int)tree->example);
}

void
words_tell_max_hold(const struct job *job)
{
	char limit[32];
	value_print_duration(limit, sizeof limit, job->settings->max_hold_ns);
	if (job->cover == COVER_LOCK)
		message_error("'%s' was held for its --max-hold of %s: its command has been ended",
		    job->settings->name, limit);
	else
		message_error("the command of '%s' ran for its --max-hold of %s: it has been ended",
		    job->settings->name, limit);
}

void
words_tell_release(const struct job *job)
{
	const struct lock *lock = &job->lock;
	const char *name = job->settings->name;
	char held[32];
	/* What a loss left to be released is not worth a word, nor what never was a lock. */
	if (lock->loss != LOSS_NONE || job->cover != COVER_LOCK)
		return;
	switch (lock->released) {
	case RELEASE_CONFIRMED:
		if (lock->rest_ns > 0)
			message_verbose("'%s' is kept for another %s (--at-least)", name,
			    value_print_duration(held, sizeof held, lock->rest_ns));
		else
			message_verbose("released '%s' after %s", name,
			    value_print_duration(held, sizeof held,
				instant_between(lock->acquired_at, clock_now())));
		break;
	case RELEASE_FOUND_LOST:
		break; /* words_tell_loss does */
	case RELEASE_UNCONFIRMED:
		message_error("cannot release '%s' at %s: %s; it is free when its TTL is over",
		    name, job->settings->store->server,
		    lock->problem.text[0] ? lock->problem.text : "no answer");
		break;
	}
}
