/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "job/variables.h"

#include <unistd.h>

int
variables_prepare(struct job *job)
{
	const struct job_settings *settings = job->settings;
	bool locked = job->cover == COVER_LOCK;
	/* Inherited ones speak of another lock, or of none: they are replaced or removed. */
	const struct spawn_variable variables[] = {
	    {"DLOCK_NAME", locked ? settings->name : NULL},
	    {"DLOCK_KEY", locked ? settings->key : NULL},
	    {"DLOCK_TOKEN", locked ? settings->token : NULL},
	    {"DLOCK_FENCE", locked ? job->lock.fence : NULL},
	    {"DLOCK_SLOT", NULL},
	    {"DLOCK_HELD", NULL},
	    {"DLOCK_UNLOCKED", locked ? NULL : "1"},
	};
	/* Under an ancestor's lock all stays as the ancestor set it. */
	size_t count = job->cover == COVER_ANCESTOR ? 0 : sizeof variables / sizeof *variables;
	job->plan.envp = spawn_environment(environ, variables, count);
	return job->plan.envp == NULL ? -1 : 0;
}
