/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "job/variables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void
copy(char *out, size_t size, const char *text)
{
	size_t length = strnlen(text, size - 1);
	memcpy(out, text, length);
	out[length] = '\0';
}

int
variables_prepare(struct job *job)
{
	static char held[HELD_SIZE], own_slot[16];
	const struct job_settings *settings = job->settings;
	struct held_entry own = {.runner = getpid(),
	    .started_cs = ms_from_ns(job->started_at.ns) / 10};
	copy(own.address, sizeof own.address, job->answering.address);
	copy(own.token, sizeof own.token, job_token(job));
	copy(own.key, sizeof own.key, settings->key);
	held_write(&job->above, &own, held); /* not too deep: ancestors_read */
	bool locked = job->cover != COVER_NONE;
	bool own_lock = job->cover == COVER_LOCK;
	const char *slot = NULL;
	if (own_lock && settings->lock.mode == MODE_SLOTS) {
		snprintf(own_slot, sizeof own_slot, "%d", job->lock.slot);
		slot = own_slot;
	} else if (job->cover == COVER_ANCESTOR && job->under.slot[0] != '\0') {
		slot = job->under.slot;
	}
	/* Inherited ones speak of another lock, or of none: they are replaced or removed. */
	const struct spawn_variable variables[] = {
	    {"DLOCK_NAME",
		own_lock     ? settings->name
		    : locked ? job->under.name
			     : NULL},
	    {"DLOCK_KEY", locked ? settings->key : NULL},
	    {"DLOCK_TOKEN", locked ? job_token(job) : NULL},
	    {"DLOCK_FENCE", locked ? job->lock.fence : NULL},
	    {"DLOCK_SLOT", slot},
	    {"DLOCK_HELD",
		own_lock     ? held
		    : locked ? getenv("DLOCK_HELD")
			     : NULL},
	    {"DLOCK_UNLOCKED", locked ? NULL : "1"},
	};
	job->plan.envp =
	    spawn_environment(environ, variables, sizeof variables / sizeof *variables);
	return job->plan.envp == NULL ? -1 : 0;
}
