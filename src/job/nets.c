/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "job/nets.h"

#include "base/message.h"
#include "run/testing.h"

/* While it gives the lock back nothing needs killing, but a stop must not last. */
#define RELEASE_WAKE_NS (100 * NS_PER_MS)
#define WAKE_LEAST_NS (20 * NS_PER_MS)
/* With nothing due for long a stop of RUNNER lasts so long at most: COMMAND may end any time. */
#define IDLE_AFTER_NS (60 * NS_PER_S)
#define IDLE_WAKE_NS (10 * NS_PER_S)

bool
nets_kill_by_the_clock(const struct job *job)
{
	return job->settings->on_lost == ON_LOST_KILL && !testing_hook("no-kill");
}

/* When RUNNER must be awake for certain; *every_ns: and from then on. */
static struct instant
plan_call(const struct job *job, int64_t *every_ns)
{
	const struct lease_terms *terms = &job->settings->lock.terms;
	struct instant now = clock_now();
	struct instant wake_at = lease_renew_at(terms, job->lock.t0);
	if (job->max_hold.linked)
		wake_at = instant_earlier(wake_at, job->max_hold.at);
	if (job->command.grace.linked)
		wake_at = instant_earlier(wake_at, job->command.grace.at);
	*every_ns = terms->slack_ns / 2 > WAKE_LEAST_NS ? terms->slack_ns / 2 : WAKE_LEAST_NS;
	if (instant_between(now, wake_at) > IDLE_AFTER_NS) {
		wake_at = instant_plus(now, IDLE_WAKE_NS);
		*every_ns = IDLE_WAKE_NS;
	}
	return wake_at;
}

/* After each confirmation: the page first, then the timers, so that no net has an old deadline
 * when another already trusts the new one. */
void
nets_spread(struct job *job)
{
	const struct lease_terms *terms = &job->settings->lock.terms;
	struct instant t0 = job->lock.t0;
	struct instant guard_at = INSTANT_NEVER;
	int64_t every_ns;

	if (job->settings->on_lost == ON_LOST_KILL && !testing_hook("no-guard"))
		guard_at = lease_guard_at(terms, t0);
	atomic_store(&job->channel.page->guard_at_ns, guard_at.ns);
	message_debug("confirmed t0=%lld.%09lld ttl=%lldms", (long long)(t0.ns / NS_PER_S),
	    (long long)(t0.ns % NS_PER_S), (long long)ms_from_ns(terms->ttl_ns));
	/* In a sweep the KILL timer stays off and the wake-up calls stay frequent. */
	if (job->command.state == COMMAND_KILLING)
		return;
	struct instant wake_at = plan_call(job, &every_ns);
	deadman_arm(&job->deadman, wake_at, every_ns, guard_at);
}

void
nets_call(struct job *job)
{
	int64_t every_ns;
	if (job->command.state == COMMAND_KILLING || job->stage == STAGE_RELEASING)
		return;
	struct instant wake_at = plan_call(job, &every_ns);
	deadman_call(&job->deadman, wake_at, every_ns);
}

void
nets_take_down(struct job *job)
{
	atomic_store(&job->channel.page->guard_at_ns, INT64_MAX);
	deadman_arm(&job->deadman, instant_plus(clock_now(), RELEASE_WAKE_NS), RELEASE_WAKE_NS,
	    INSTANT_NEVER);
}
