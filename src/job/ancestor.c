/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "job/ancestor.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/message.h"
#include "exits.h"
#include "job/asking.h"
#include "job/standin.h"
#include "job/verdict.h"

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
	if (inquiry_runner_is_above(entry) ||
	    (inquiry_ask(entry, INQUIRY_ABOVE, ABOVE_LIMIT_NS, job->settings->signals->fd,
		 &answer) == INQUIRY_ANSWERED &&
		answer.verdict == VERDICT_YES))
		job->ancestor = entry;
	return job->ancestor != NULL;
}

bool
ancestor_covers(const struct job *job)
{
	const char *mode = job->lock.holder.identity.mode;
	switch (job->settings->lock.mode) {
	case MODE_EXCLUSIVE:
		break;
	case MODE_SHARED:
		if (strcmp(mode, "shared") == 0)
			return true;
		break;
	case MODE_SLOTS:
		if (strncmp(mode, "slots:", 6) == 0)
			return true;
		break;
	}
	/* Empty: of a version that knew no other. */
	return strcmp(mode, "exclusive") == 0 || mode[0] == '\0';
}

/* Asks until there is an answer, or none; a signal that ends a waiter ends this process. */
static enum inquiry_result
ask_for_confirmation(struct job *job)
{
	const struct job_settings *settings = job->settings;
	struct instant until = instant_plus(clock_now(), INQUIRY_LIMIT_NS);
	for (;;) {
		int64_t left_ns = instant_between(clock_now(), until);
		enum inquiry_result result = inquiry_ask(job->ancestor, INQUIRY_HELD,
		    left_ns > 0 ? left_ns : 0, settings->signals->fd, &job->under);
		int number, code, sender;
		if (result != INQUIRY_INTERRUPTED)
			return result;
		while (signals_read(settings->signals, &number, &code, &sender)) {
			if (number == SIGCHLD)
				tree_reap(settings->tree);
			else if (signals_ends_waiter(number))
				verdict_die_of(job, number);
		}
	}
}

bool
ancestor_enter(struct job *job, int *status)
{
	const char *name = job->settings->name;
	*status = asking_explain(name, job->ancestor, ask_for_confirmation(job), &job->under);
	if (*status == EXIT_LOST)
		verdict_set(job, REPORT_LOST, "the lock of the dlock above");
	if (*status != 0)
		return false;
	if (standin_begin(job, COVER_ANCESTOR) != 0) {
		message_error("cannot run the command of '%s': %s", name, strerror(errno));
		*status = EXIT_SYSTEM;
		return false;
	}
	job->standin_settings.key = job->under.key;
	job->standin_settings.token = job->under.token;
	memcpy(job->lock.fence, job->under.fence, sizeof job->lock.fence);
	message_verbose(
	    "'%s' is held by the dlock above: its command runs under that lock, fence %s", name,
	    job->lock.fence);
	return true;
}
