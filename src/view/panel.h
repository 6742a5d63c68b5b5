/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* The reports on locks of several servers, nodes of which a majority decides: all are asked, what
 * most of them show is told, and where one shows something else, that too. */
#ifndef DLOCK_VIEW_PANEL_H
#define DLOCK_VIEW_PANEL_H

#include "view/picture.h"
#include "view/visit.h"

struct panel_node {
	struct view_settings settings; /* of that server alone */
	struct visit visit;
	bool is_there; /* it has answered everything so far */
	struct sight sight;
};

struct panel {
	const struct view_settings *settings;
	int count, majority;
	struct panel_node nodes[VIEW_MAX_NODES];
	/* Of the lock that was looked at last. */
	const struct sight *shown; /* what a majority shows */
	int votes;                 /* how many show it */
	bool agree;                /* all that there are */
	struct sight split;        /* there is no majority for anything */
	struct picture_node pictures[VIEW_MAX_NODES];
};

/* Connects to all at once. False: fewer than a majority are there, and that has been said; the exit
 * status is in *status. To be followed by panel_end. */
bool
panel_begin(struct panel *panel, const struct view_settings *settings, const char *action,
    int *status);

/* Looks at that lock everywhere. As panel_begin. */
bool
panel_look(struct panel *panel, const char *name, int *status);

/* What was seen, in text or JSON; of --break with its result, else NULL. */
void
panel_add_text(struct panel *panel, struct text *text);
void
panel_add_json(struct panel *panel, struct text *text, const struct picture_result *result);

/* Who is still there. False, after saying why: they are no majority. */
bool
panel_has_majority(struct panel *panel, const char *action, int *status);

/* Closes all connections. */
void
panel_end(struct panel *panel);

/* As view_status, view_list and view_break. */
int
panel_status(const struct view_settings *settings, char *const *names);
int
panel_list(const struct view_settings *settings, const char *glob);
int
panel_break(const struct view_settings *settings, const char *name, const char *record);

/* As view_check. */
int
panel_check(const struct view_settings *settings, const struct lease_terms *terms);

#endif
