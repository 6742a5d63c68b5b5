/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "job/nets.h"

#include "base/message.h"
#include "run/testing.h"

/* While it gives the lock back nothing needs killing, but a stop must not last. */
#define RELEASE_WAKE_NS (100 * NS_PER_MS)
#define WAKE_LEAST_NS (20 * NS_PER_MS)

bool
nets_kill_by_the_clock(const struct job *job)
{
	return job->settings->on_lost == ON_LOST_KILL && !testing_hook("no-kill");
}

/* After each confirmation: the page first, then the timers, so that no net has an old deadline
 * when another already trusts the new one. */
void
nets_spread(struct job *job)
{
	const struct lease_terms *terms = &job->settings->lock.terms;
	struct instant t0 = job->lock.t0;
	struct instant guard_at = INSTANT_NEVER;
	int64_t wake_every = terms->slack_ns / 2;

	if (job->settings->on_lost == ON_LOST_KILL && !testing_hook("no-guard"))
		guard_at = lease_guard_at(terms, t0);
	atomic_store(&job->channel.page->guard_at_ns, guard_at.ns);
	message_debug("confirmed t0=%lld.%09lld ttl=%lldms", (long long)(t0.ns / NS_PER_S),
	    (long long)(t0.ns % NS_PER_S), (long long)ms_from_ns(terms->ttl_ns));
	/* In a sweep the KILL timer stays off and the wake-up calls stay frequent. */
	if (job->command.state == COMMAND_KILLING)
		return;
	deadman_arm(&job->deadman, lease_renew_at(terms, t0),
	    wake_every > WAKE_LEAST_NS ? wake_every : WAKE_LEAST_NS, guard_at);
}

void
nets_take_down(struct job *job)
{
	atomic_store(&job->channel.page->guard_at_ns, INT64_MAX);
	deadman_arm(&job->deadman, instant_plus(clock_now(), RELEASE_WAKE_NS), RELEASE_WAKE_NS,
	    INSTANT_NEVER);
}
