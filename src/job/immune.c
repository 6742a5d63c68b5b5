/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "job/immune.h"

#include <unistd.h>

#include "base/message.h"

#define FIRST_NS NS_PER_S
#define LAST_NS (300 * NS_PER_S)

static void
on_due(void *context, struct instant now)
{
	struct job *job = context;
	pid_t example;
	int count = command_count_immune(&job->command, &example);
	if (count > 0) {
		message_error("%d process%s of '%s' may not be signalled by this user (pid %d%s): "
			      "should the lock be lost, %s not be ended",
		    count, count == 1 ? "" : "es", job->settings->name, (int)example,
		    count == 1 ? "" : " is one", count == 1 ? "it will" : "they will");
		return;
	}
	/* Every process is looked at, which must not become a load. */
	job->immune_pause_ns *= 2;
	if (job->immune_pause_ns > LAST_NS)
		job->immune_pause_ns = LAST_NS;
	loop_set_timer(job->loop, &job->immune, instant_plus(now, job->immune_pause_ns));
}

void
immune_watch(struct job *job)
{
	job->immune = (struct timer){.due = on_due, .context = job};
	job->immune_pause_ns = FIRST_NS;
	if (geteuid() != 0)
		loop_set_timer(job->loop, &job->immune, instant_plus(clock_now(), FIRST_NS));
}

void
immune_unwatch(struct job *job)
{
	loop_stop_timer(job->loop, &job->immune);
}
