/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What the two files of --list share: list_names.c, which locks there are, and list.c, what is
 * shown of them. */
#ifndef DLOCK_VIEW_LIST_PARTS_H
#define DLOCK_VIEW_LIST_PARTS_H

#include "view/panel.h"
#include "view/sight.h"
#include "view/text.h"
#include "view/view.h"
#include "view/visit.h"

/* Locks of one request: as many as their keys, and QUERY_MAX_WORDS, allow. */
#define BATCH_MAX (QUERY_MAX_WORDS / 4)
#define BATCH_BYTES 28000

/* A lock that is shown: what stands behind its name, in `shown`. */
struct row {
	const char *name;
	size_t begin, end;
};

struct list {
	const struct view_settings *settings;
	struct visit *visit;
	struct panel *panel;       /* of several servers; NULL: one */
	struct url_place *masters; /* of a cluster */
	size_t master_count, master_room;
	int64_t nodes, nodes_seen; /* that there are; that have been told of */
	struct row *rows;
	size_t row_count, row_room;
	struct text shown; /* what the rows have */
	char **names;      /* that SCAN has found */
	size_t count, room;
	char cursor[24]; /* SCAN's; "0" at the end */
	size_t next;     /* the first of the names that has not been looked at */
	struct keys keys[BATCH_MAX];
	struct sight sight; /* of one lock at a time: they are large, and locks many */
	bool is_long;       /* and there is more of it */
	int width;
	struct text text;
	bool no_memory;
};

/* Adds the names of all locks of the server that list->visit is at, in their order, from list->next
 * on. False: visit_explain says why, or list->no_memory. */
bool
list_find_names(struct list *list, const char *pattern);

#endif
