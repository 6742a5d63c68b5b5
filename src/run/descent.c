/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "run/descent.h"

#include <unistd.h>

#include "run/proc.h"

/* Who dies while it is being passed leaves its children to somebody else: once more, then. */
#define TRIES 3

static bool
walk_up(pid_t first, pid_t target)
{
	struct process process;
	pid_t listed = first;
	int tries = 1;
	for (int steps = 0; steps < DESCENT_DEEPEST; steps++) {
		if (!proc_read(listed, &process)) {
			if (listed == first || tries++ == TRIES)
				return false;
			listed = first;
			continue;
		}
		if (process.parent == target)
			return true;
		if (process.parent <= 1)
			return false;
		listed = process.parent;
	}
	return false;
}

struct search {
	pid_t wanted;
	pid_t target;
	bool found;
};

static void
check_number(void *context, pid_t listed)
{
	struct search *search = context;
	struct process process;
	if (!search->found && proc_read(listed, &process) && process.pid == search->wanted)
		search->found = walk_up(listed, search->target);
}

bool
descent_is_below(pid_t pid, pid_t from)
{
	pid_t target = proc_listed(from);
	if (target <= 0 || pid <= 0)
		return false;
	if (!proc_is_foreign())
		return walk_up(pid, target);
	/* Processes of sibling namespaces may have the same number; none of those is below. */
	struct search search = {.wanted = pid, .target = target};
	proc_for_each(check_number, &search);
	return search.found;
}
