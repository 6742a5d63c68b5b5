/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Looking at the locks of a PostgreSQL server: all advisory locks of the database, and what the
 * sessions that have them say of themselves (store/postgres_sql.h).
 *
 * Of another user's session the server shows application_name alone, unless the role may read all
 * statistics (pg_read_all_stats): host, pid and fence are known then, name and command are not. */
#ifndef DLOCK_VIEW_POSTGRES_LOOK_H
#define DLOCK_VIEW_POSTGRES_LOOK_H

#include "store/postgres_session.h"
#include "store/postgres_sql.h"
#include "view/sight.h"
#include "view/view.h"

/* An advisory lock that a session has. */
struct postgres_row {
	int64_t backend, number;
	bool is_exclusive;
	bool is_known;              /* there is a record of a dlock */
	struct identity identity;   /* of it, or what application_name says */
	char token[128];            /* or what the session is, for people */
	char key[KEY_SIZE];         /* that it says, if it does */
	int64_t since_us, began_us; /* its last statement's start, and the session's; 0: not told */
	char user[64];
};

struct postgres_look {
	const struct view_settings *settings;
	struct postgres_session session;
	struct watch signals;
	bool is_over; /* what was begun last */
	bool (*take)(void *context, const struct pq_answer *answer);
	void *context;
	struct postgres_row *rows;
	size_t count;
	int64_t now_us;
	/* When something has failed. */
	enum outcome outcome;
	struct problem problem;
};

/* Connects and logs in, as a run does. False: outcome and problem say why. To be followed by
 * postgres_look_end. */
bool
postgres_look_begin(struct postgres_look *look, const struct view_settings *settings);

/* One statement; `take` says whether its answer makes sense, and may be NULL. False: as above. */
bool
postgres_look_ask(struct postgres_look *look, const char *statement,
    bool (*take)(void *context, const struct pq_answer *answer), void *context);

/* Reads all rows anew. False: as above. */
bool
postgres_look_read(struct postgres_look *look);

/* What the rows show of one lock. False: no memory. */
bool
postgres_look_at(const struct postgres_look *look, const char *name, const char *key,
    struct sight *sight);

void
postgres_look_end(struct postgres_look *look);

/* As the functions of view.h without "postgres_". */
int
postgres_view_status(const struct view_settings *settings, char *const *names);
int
postgres_view_list(const struct view_settings *settings, const char *glob);
int
postgres_view_break(const struct view_settings *settings, const char *name);
int
postgres_view_check(const struct view_settings *settings, const struct lease_terms *terms);

#endif
