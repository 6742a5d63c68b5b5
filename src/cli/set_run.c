/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* The options of a run: what its lock is like, and what becomes of COMMAND. */
#include <string.h>

#include "base/values.h"
#include "cli/options_parts.h"
#include "cli/setters.h"
#include "lock/lease.h"

#define LABEL_MAX 255
#define WAITERS_MOST 1000000

bool
set_nonblock(struct options *options, const char *value, struct problem *problem)
{
	(void)value;
	(void)problem;
	options->wait_ns = 0;
	return true;
}

bool
set_wait(struct options *options, const char *value, struct problem *problem)
{
	return value_parse_duration(value, &options->wait_ns, problem);
}

bool
set_conflict_status(struct options *options, const char *value, struct problem *problem)
{
	int64_t status;
	if (!value_parse_count(value, 0, 255, &status, problem))
		return false;
	options->conflict_status = (int)status;
	return true;
}

bool
set_exclusive(struct options *options, const char *value, struct problem *problem)
{
	(void)value;
	(void)problem;
	options->mode = MODE_EXCLUSIVE;
	options->slots = 0;
	return true;
}

bool
set_shared(struct options *options, const char *value, struct problem *problem)
{
	(void)value;
	(void)problem;
	options->mode = MODE_SHARED;
	options->slots = 0;
	return true;
}

bool
set_slots(struct options *options, const char *value, struct problem *problem)
{
	int64_t slots;
	if (!value_parse_count(value, 1, SLOTS_MOST, &slots, problem))
		return false;
	options->mode = MODE_SLOTS;
	options->slots = (int)slots;
	return true;
}

bool
set_max_waiters(struct options *options, const char *value, struct problem *problem)
{
	return value_parse_count(value, 0, WAITERS_MOST, &options->max_waiters, problem);
}

/* Accepted for what scripts written for flock(1) say: it is so anyway. */
bool
set_nothing(struct options *options, const char *value, struct problem *problem)
{
	(void)options;
	(void)value;
	(void)problem;
	return true;
}

bool
set_ttl(struct options *options, const char *value, struct problem *problem)
{
	if (!value_parse_duration(value, &options->ttl_ns, problem))
		return false;
	if (options->ttl_ns < LEASE_TTL_LEAST) {
		problem_set(problem,
		    "not a TTL from 1s to 30d: '%.64s' is too short to be renewed in time", value);
		return false;
	}
	if (options->ttl_ns > LEASE_TTL_MOST) {
		problem_set(problem,
		    "not a TTL from 1s to 30d: '%.64s' is longer (for so long a dead holder would "
		    "block the others)",
		    value);
		return false;
	}
	return true;
}

bool
set_grace(struct options *options, const char *value, struct problem *problem)
{
	options->has_grace = true;
	return value_parse_duration(value, &options->grace_ns, problem);
}

bool
set_signal(struct options *options, const char *value, struct problem *problem)
{
	return value_parse_signal(value, &options->first_signal, problem);
}

bool
set_on_lost(struct options *options, const char *value, struct problem *problem)
{
	if (strcmp(value, "kill") != 0 && strcmp(value, "signal") != 0) {
		problem_set(problem, "neither 'kill' nor 'signal': '%.64s'", value);
		return false;
	}
	options->on_lost = value[0] == 'k' ? ON_LOST_KILL : ON_LOST_SIGNAL;
	return true;
}

bool
set_at_least(struct options *options, const char *value, struct problem *problem)
{
	if (!value_parse_duration(value, &options->at_least_ns, problem))
		return false;
	if (options->at_least_ns > LEASE_TTL_MOST) {
		problem_set(problem, "longer than 30d: '%.64s'", value);
		return false;
	}
	return true;
}

/* Which of three words; -1: none of them. */
static int
choose(const char *value, const char *const words[3], struct problem *problem)
{
	for (int i = 0; i < 3; i++) {
		if (strcmp(value, words[i]) == 0)
			return i;
	}
	problem_set(problem, "none of '%s', '%s' and '%s': '%s'", words[0], words[1], words[2],
	    value);
	return -1;
}

bool
set_max_hold(struct options *options, const char *value, struct problem *problem)
{
	return value_parse_duration(value, &options->max_hold_ns, problem);
}

bool
set_descendants(struct options *options, const char *value, struct problem *problem)
{
	static const char *const words[] = {
	    [DESCENDANTS_LEAVE] = "leave",
	    [DESCENDANTS_WAIT] = "wait",
	    [DESCENDANTS_KILL] = "kill",
	};
	int which = choose(value, words, problem);
	options->descendants = which < 0 ? DESCENDANTS_LEAVE : (enum descendants)which;
	return which >= 0;
}

bool
set_if_unreachable(struct options *options, const char *value, struct problem *problem)
{
	static const char *const words[] = {
	    [IF_UNREACHABLE_FAIL] = "fail",
	    [IF_UNREACHABLE_SKIP] = "skip",
	    [IF_UNREACHABLE_RUN] = "run",
	};
	int which = choose(value, words, problem);
	options->if_unreachable = which < 0 ? IF_UNREACHABLE_FAIL : (enum if_unreachable)which;
	return which >= 0;
}

bool
set_fence(struct options *options, const char *value, struct problem *problem)
{
	if (strcmp(value, "clock") != 0 && strcmp(value, "counter") != 0) {
		problem_set(problem, "neither 'clock' nor 'counter': '%.64s'", value);
		return false;
	}
	options->fence_mode = strcmp(value, "clock") == 0 ? FENCE_CLOCK : FENCE_COUNTER;
	return true;
}

bool
set_min_fence(struct options *options, const char *value, struct problem *problem)
{
	/* PostgreSQL's may be higher: options_settle_servers knows whether it is that. */
	return value_parse_count(value, 0, FENCE_MOST, &options->min_fence, problem) ||
	    value_parse_count(value, 0, FENCE_BELOW - 1, &options->min_fence, problem);
}

bool
set_label(struct options *options, const char *value, struct problem *problem)
{
	if (strlen(value) > LABEL_MAX) {
		problem_set(problem, "a label has at most %d bytes, not %zu", LABEL_MAX,
		    strlen(value));
		return false;
	}
	options->label = value;
	return true;
}

bool
set_report(struct options *options, const char *value, struct problem *problem)
{
	if (value[0] == '\0') {
		problem_set(problem, "an empty file name");
		return false;
	}
	options->report = value;
	return true;
}

bool
set_reentrant(struct options *options, const char *value, struct problem *problem)
{
	(void)value;
	(void)problem;
	options->reentrant = true;
	return true;
}

bool
set_watch(struct options *options, const char *value, struct problem *problem)
{
	(void)value;
	(void)problem;
	options->watch = true;
	return true;
}
