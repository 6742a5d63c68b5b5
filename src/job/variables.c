/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "job/variables.h"

#include <unistd.h>

int
variables_prepare(struct job *job)
{
	const struct job_settings *settings = job->settings;
	const struct spawn_variable variables[] = {
	    {"DLOCK_NAME", settings->name},
	    {"DLOCK_KEY", settings->key},
	    {"DLOCK_TOKEN", settings->token},
	    {"DLOCK_FENCE", job->lock.fence},
	};
	job->plan.envp =
	    spawn_environment(environ, variables, sizeof variables / sizeof *variables);
	return job->plan.envp == NULL ? -1 : 0;
}
