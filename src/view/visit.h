/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* A visit to a server: connects, asks one thing after the other, waits for each answer, and leaves.
 * Who calls is held up meanwhile, but a signal that ends a process by default is obeyed at once. */
#ifndef DLOCK_VIEW_VISIT_H
#define DLOCK_VIEW_VISIT_H

#include "store/redis_query.h"
#include "view/text.h"
#include "view/view.h"

struct visit {
	const struct view_settings *settings;
	struct redis_query query;
	struct watch signals;
	bool is_over; /* what was begun last */
	bool (*take)(void *context, const struct reply *reply);
	void *context;
	/* Called, if set, when that signal is about to end this process: must not wait. False: not
	 * yet, it calls visit_die when it can be. */
	bool (*leave)(void *context, int number);
	void *leave_context;
	/* When something has failed. */
	enum outcome outcome;
	struct problem problem;
};

/* Connects and logs in. False: visit_explain says why. To be followed by visit_end. */
bool
visit_begin(struct visit *visit, const struct view_settings *settings);

/* The same in two steps, so that several can connect at the same time. */
void
visit_start(struct visit *visit, const struct view_settings *settings);
bool
visit_arrive(struct visit *visit);

/* What is asked from now on is about this lock: in a cluster, of who has it. */
void
visit_aim(struct visit *visit, const char *key);

/* The same, and goes there first: what is asked depends on that server's clock, or is about the
 * server. False: as above. */
bool
visit_settle(struct visit *visit, const char *key);

/* In a cluster: from now on of that node, with a new connection. False: as above. */
bool
visit_move(struct visit *visit, const struct url_place *place);

/* A script to be asked: its keys, then its arguments. */
struct question {
	enum redis_query_script script;
	size_t key_count, word_count;
	const char *words[QUERY_MAX_WORDS];
};

/* Asks; `take` gets the answer, and says whether it makes sense. False: as above. */
bool
visit_ask(struct visit *visit, const struct question *question,
    bool (*take)(void *context, const struct reply *reply), void *context);

/* The same with any command, whose words are plain strings. */
bool
visit_command(struct visit *visit, size_t word_count, const char *const *words,
    bool (*take)(void *context, const struct reply *reply), void *context);

/* From now on what the server says by itself is an answer: the next `take` gets it, within the
 * limit of one. visit_hear waits for it. */
void
visit_listen(struct visit *visit, bool (*take)(void *context, const struct reply *reply),
    void *context);
bool
visit_hear(struct visit *visit);

/* The failure as that of what was to be done ("look at 'nightly'"), and dlock's exit status for it.
 */
int
visit_explain(const struct visit *visit, const char *action);

/* The same of any failure. */
int
visit_explain_failure(const struct view_settings *settings, const char *action,
    enum outcome outcome, const struct problem *problem);

void
visit_end(struct visit *visit);

/* Ends this process as the signal does by default. */
_Noreturn void
visit_die(struct visit *visit, int number);

/* Writes to stdout, with signals as dlock was started with: after visit_end. 0, or 71 when that
 * cannot be done, which is said; or the process dies of PIPE, or of what comes while a pipe is
 * full. */
int
visit_print(const struct view_settings *settings, const struct text *text);

#endif
