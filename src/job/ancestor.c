/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "job/ancestor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/message.h"
#include "exits.h"
#include "run/descent.h"
#include "store/none.h"

/* For a RUNNER that is well, and need not ask its server. */
#define ABOVE_LIMIT_NS (500 * NS_PER_MS)

bool
ancestors_read(struct job *job)
{
	const char *text = getenv("DLOCK_HELD");
	if (text != NULL && text[0] != '\0' && !held_parse(&job->above, text))
		message_verbose("DLOCK_HELD in the environment makes no sense: passed over");
	if (job->above.count < HELD_DEEPEST)
		return true;
	message_error("'%s' would be the lock of a dlock below %d others: that is too deep, does "
		      "its command start itself?",
	    job->settings->name, HELD_DEEPEST);
	return false;
}

bool
ancestor_recognise(struct job *job)
{
	static struct inquiry_answer answer;
	const struct held_entry *entry = held_find_token(&job->above, job->lock.holder.token);
	if (entry == NULL)
		return false;
	/* Out of a pid namespace made below it, an ancestor cannot be seen: it is asked. */
	if (descent_is_below(getpid(), entry->runner) ||
	    (inquiry_ask(entry, INQUIRY_ABOVE, ABOVE_LIMIT_NS, job->settings->signals->fd,
		 &answer) == INQUIRY_ANSWERED &&
		answer.verdict == VERDICT_YES))
		job->ancestor = entry;
	return job->ancestor != NULL;
}
