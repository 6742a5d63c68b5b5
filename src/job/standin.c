/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "job/standin.h"

int
standin_begin(struct job *job, enum cover cover)
{
	const struct job_settings *before = job->settings;
	struct job_settings *settings = &job->standin_settings;
	struct problem problem;
	before->store->operations->close(before->store);
	*settings = *before;
	settings->store = none_store_init(&job->none, job->loop, before->store->server);
	settings->at_least_ns = 0; /* nothing is there that could be kept */
	/* A grace that had room in the lease asked for has it in the longest. */
	lease_terms_make(&settings->lock.terms, LEASE_TTL_MOST, before->lock.terms.grace_ns,
	    &problem);
	job->settings = settings;
	job->cover = cover;
	lock_init(&job->lock, settings->store, &settings->lock, before->seed);
	lock_acquire(&job->lock, clock_now());
	while (job->lock.state != LOCK_HELD) {
		if (job_turn(job) != 0)
			return -1;
	}
	return 0;
}
