/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "job/words.h"

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
	identity_describe(&holder->identity, holder->finished ? -1 : holder->held_ns, who,
	    sizeof who);
	if (!holder->finished) {
		snprintf(out, size, "%s", who);
		return;
	}
	char clock[16] = "?";
	time_t until = time(NULL) + (time_t)(holder->left_ns / NS_PER_S);
	struct tm local;
	if (localtime_r(&until, &local) != NULL)
		strftime(clock, sizeof clock, "%H:%M:%S", &local);
	snprintf(out, size, "%s: finished, held until %s", who, clock);
}

void
words_tell_loss(struct job *job, struct instant now)
{
	const struct lock *lock = &job->lock;
	const char *name = job->settings->name;
	char who[1024], since[32];
	if (job->lost_told || !lock->explained)
		return;
	job->lost_told = true;
	switch (lock->loss) {
	case LOSS_NONE:
		break;
	case LOSS_GONE:
		message_error("lost '%s': the key is gone", name);
		break;
	case LOSS_ANOTHER:
		who[0] = '\0';
		if (lock->holder.token[0] != '\0')
			words_describe_holder(&lock->holder, who, sizeof who);
		message_error("lost '%s': another holder has it%s%s", name, who[0] ? ": " : "",
		    who);
		break;
	case LOSS_UNCONFIRMED:
		message_error("lost '%s': could not be confirmed since %s (%s: %s)", name,
		    value_print_duration(since, sizeof since, instant_between(lock->t0, now)),
		    job->settings->store->server,
		    lock->problem.text[0] ? lock->problem.text : "no renewal in time");
		break;
	}
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
words_tell_release(const struct job *job)
{
	const struct lock *lock = &job->lock;
	const char *name = job->settings->name;
	char held[32];
	if (lock->loss != LOSS_NONE && lock->released != RELEASE_UNCONFIRMED)
		return;
	switch (lock->released) {
	case RELEASE_CONFIRMED:
		message_verbose("released '%s' after %s", name,
		    value_print_duration(held, sizeof held,
			instant_between(lock->acquired_at, clock_now())));
		break;
	case RELEASE_FOUND_LOST:
		message_error("lost '%s': at its release it was no longer ours", name);
		break;
	case RELEASE_UNCONFIRMED:
		message_error("cannot release '%s' at %s: %s; it is free when its TTL is over",
		    name, job->settings->store->server,
		    lock->problem.text[0] ? lock->problem.text : "no answer");
		break;
	}
}

void
words_tell_breach(const struct job *job)
{
	const struct lock *lock = &job->lock;
	const struct lease_terms *terms = &job->settings->lock.terms;
	bool by_clock = lock->loss == LOSS_UNCONFIRMED || lock->loss == LOSS_NONE;
	struct instant from = by_clock && lock->released != RELEASE_FOUND_LOST
	    ? lease_sure_until(terms, lock->t0)
	    : lock->t0;
	int64_t breach = instant_between(from, job->ended_at);
	char text[32];
	if (breach > 0)
		message_error("exclusivity of '%s' may have been broken for up to %s",
		    job->settings->name, value_print_duration(text, sizeof text, breach));
}
