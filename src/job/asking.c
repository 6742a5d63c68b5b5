/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "job/asking.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/message.h"
#include "exits.h"

/* Which there are: the remedy may be another --prefix. */
static void
list_keys(const struct held *held, char *out, size_t size)
{
	size_t used = 0;
	out[0] = '\0';
	for (int i = held->count - 1; i >= 0 && used + 1 < size; i--)
		used += (size_t)snprintf(out + used, size - used, "%s'%s'", used ? ", " : "",
		    held->entries[i].key);
}

static const struct held_entry *
find_entry(const char *name, const char *key)
{
	static struct held held;
	const char *text = getenv("DLOCK_HELD");
	char keys[512];
	if (text == NULL || text[0] == '\0') {
		message_error("--held: this is not below a dlock (DLOCK_HELD is not set)");
		return NULL;
	}
	if (!held_parse(&held, text)) {
		message_error("--held: DLOCK_HELD in the environment makes no sense: it is to be "
			      "handed on as dlock set it");
		return NULL;
	}
	const struct held_entry *entry =
	    key == NULL ? held_innermost(&held) : held_find_key(&held, key);
	if (entry == NULL) {
		list_keys(&held, keys, sizeof keys);
		message_error("--held: no dlock above holds '%s' (key '%s'); those above hold %s",
		    name, key, keys);
	}
	return entry;
}

static int
explain_no_answer(const char *name, const struct held_entry *entry, enum inquiry_result result)
{
	int pid = (int)entry->runner;
	if (result == INQUIRY_FAILED) {
		message_error("cannot ask about '%s': %s", name, strerror(errno));
		return EXIT_SYSTEM;
	}
	if (result == INQUIRY_SILENT)
		message_error("'%s' cannot be confirmed: the dlock that holds it (pid %d) does not "
			      "answer",
		    name, pid);
	else if (inquiry_runner_is_above(entry))
		message_error("'%s' cannot be confirmed: the dlock above (pid %d) cannot be asked "
			      "from here (is this another network namespace?)",
		    name, pid);
	else
		message_error("'%s' is not held any more: the dlock that held it (pid %d) has "
			      "ended, or is in another network namespace",
		    name, pid);
	return EXIT_LOST;
}

static int
explain_answer(const char *name, const struct held_entry *entry,
    const struct inquiry_answer *answer)
{
	switch ((enum inquiry_verdict)answer->verdict) {
	case VERDICT_YES:
		return 0;
	case VERDICT_LOST:
		message_error("'%s' is lost; its command is being ended", name);
		break;
	case VERDICT_ENDING:
		message_error("'%s' is about to be released; what is left of its command is not "
			      "protected by it",
		    name);
		break;
	case VERDICT_STRANGER:
		message_error("--held: the dlock that holds '%s' (pid %d) is not above this "
			      "process: DLOCK_HELD is somebody else's",
		    name, (int)entry->runner);
		return EXIT_USAGE;
	case VERDICT_REFUSED:
		message_error("'%s' cannot be confirmed: the dlock that holds it (pid %d) answers "
			      "its own user and root only",
		    name, (int)entry->runner);
		break;
	case VERDICT_UNCONFIRMED:
		message_error("'%s' cannot be confirmed: %s", name, answer->reason);
		break;
	}
	return EXIT_LOST;
}

int
asking_explain(const char *name, const struct held_entry *entry, enum inquiry_result result,
    const struct inquiry_answer *answer)
{
	return result == INQUIRY_ANSWERED ? explain_answer(name, entry, answer)
					  : explain_no_answer(name, entry, result);
}

/* What the innermost lock is called there; its key, where the environment does not tell. */
static const char *
name_innermost(const struct held_entry *entry)
{
	const char *name = getenv("DLOCK_NAME"), *key = getenv("DLOCK_KEY");
	bool is_told = name != NULL && key != NULL && strcmp(key, entry->key) == 0;
	return is_told ? name : entry->key;
}

int
asking_run(const char *name, const char *key)
{
	static struct inquiry_answer answer;
	const struct held_entry *entry = find_entry(name, key);
	if (entry == NULL)
		return EXIT_USAGE;
	if (name == NULL)
		name = name_innermost(entry);
	enum inquiry_result result =
	    inquiry_ask(entry, INQUIRY_HELD, INQUIRY_LIMIT_NS, -1, &answer);
	int status = asking_explain(name, entry, result, &answer);
	if (status == 0)
		message_verbose("'%s' is held, confirmed just now", name);
	return status;
}
