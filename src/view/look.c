/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "view/look.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/keys.h"

/* Some forty holders and waiters each: more is no server's honest answer. */
#define MAX_PAGES 10000

static bool
take_page(void *context, const struct reply *reply)
{
	return sight_add_page(context, reply);
}

bool
look_at(struct visit *visit, const char *name, struct sight *sight)
{
	static struct keys keys;
	char next[sizeof sight->next];
	const struct question question = {QUERY_STATUS, 4, 5,
	    {keys.lock, keys.info, keys.queue, keys.members, next}};
	if (!keys_make(&keys, visit->settings->prefix, name, &visit->problem))
		return false;
	visit_aim(visit, keys.lock);
	sight_begin(sight, name, keys.lock);
	for (int page = 0; page < MAX_PAGES; page++) {
		strcpy(next, sight->next);
		if (!visit_ask(visit, &question, take_page, sight)) {
			if (sight->no_memory)
				problem_set_errno(&visit->problem, NULL, ENOMEM);
			return false;
		}
		if (sight->next[0] == '\0')
			return true;
	}
	visit->outcome = OUTCOME_UNKNOWN;
	problem_set(&visit->problem, "the server's answers have no end");
	return false;
}

int
look_explain(const struct visit *visit, const char *name)
{
	char action[NAME_MAX_BYTES + 32];
	snprintf(action, sizeof action, "look at '%s'", name);
	return visit_explain(visit, action);
}
