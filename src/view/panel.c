/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "view/panel.h"

#include <stdio.h>
#include <string.h>

#include "base/message.h"
#include "exits.h"
#include "view/look.h"

#define NONE_SHOWS "no state of it has a majority of the nodes"

/* -- the nodes --------------------------------------------------------------------------------- */

bool
panel_has_majority(struct panel *panel, const char *action, int *status)
{
	int there = 0;
	for (int i = 0; i < panel->count; i++)
		there += panel->nodes[i].is_there;
	if (there >= panel->majority)
		return true;
	*status = 0;
	for (int i = 0; i < panel->count; i++) {
		struct panel_node *node = &panel->nodes[i];
		if (node->is_there)
			continue;
		int of_node = visit_explain(&node->visit, action);
		/* Who refuses us says more than who is not there. */
		if (*status == 0 || *status == EXIT_UNREACHABLE)
			*status = of_node;
	}
	message_error("cannot %s: %d of %d servers have answered, and a majority are %d", action,
	    there, panel->count, panel->majority);
	return false;
}

bool
panel_begin(struct panel *panel, const struct view_settings *settings, const char *action,
    int *status)
{
	panel->settings = settings;
	panel->count = settings->node_count;
	panel->majority = panel->count / 2 + 1;
	for (int i = 0; i < panel->count; i++) {
		struct panel_node *node = &panel->nodes[i];
		node->settings = *settings;
		node->settings.url = settings->nodes[i].url;
		node->settings.secret = settings->nodes[i].secret;
		node->settings.server = settings->nodes[i].server;
		node->settings.node_count = 1;
		visit_start(&node->visit, &node->settings);
	}
	for (int i = 0; i < panel->count; i++)
		panel->nodes[i].is_there = visit_arrive(&panel->nodes[i].visit);
	return panel_has_majority(panel, action, status);
}

void
panel_end(struct panel *panel)
{
	for (int i = 0; i < panel->count; i++) {
		visit_end(&panel->nodes[i].visit);
		sight_free(&panel->nodes[i].sight);
	}
	sight_free(&panel->split);
}

/* -- one lock ---------------------------------------------------------------------------------- */

static const char *
fence_of(const struct sight *sight)
{
	return sight->holders > 0 ? sight->parties[0].identity.fence : "";
}

/* What decides: the same token, or marker, at the key. */
static bool
is_same(const struct sight *one, const struct sight *other)
{
	return one->state == other->state && strcmp(one->type, other->type) == 0 &&
	    strcmp(one->value, other->value) == 0;
}

static void
count_votes(struct panel *panel)
{
	int answered = 0;
	panel->shown = NULL;
	panel->votes = 0;
	for (int i = 0; i < panel->count; i++) {
		int same = 0;
		if (!panel->nodes[i].is_there)
			continue;
		answered++;
		for (int k = 0; k < panel->count; k++)
			same += panel->nodes[k].is_there &&
			    is_same(&panel->nodes[i].sight, &panel->nodes[k].sight);
		if (same > panel->votes) {
			panel->votes = same;
			panel->shown = &panel->nodes[i].sight;
		}
	}
	panel->agree = answered == panel->count && panel->votes == panel->count;
	for (int i = 0; i < panel->count && panel->agree; i++)
		panel->agree =
		    strcmp(fence_of(&panel->nodes[i].sight), fence_of(panel->shown)) == 0;
}

bool
panel_look(struct panel *panel, const char *name, int *status)
{
	char action[NAME_MAX_BYTES + 32];
	for (int i = 0; i < panel->count; i++) {
		struct panel_node *node = &panel->nodes[i];
		/* One that does not answer costs its limit once. */
		if (node->is_there && !look_at(&node->visit, name, &node->sight))
			node->is_there = false;
		panel->pictures[i] = (struct picture_node){.server = node->settings.server,
		    .sight = node->is_there ? &node->sight : NULL,
		    .problem = node->visit.problem.text};
	}
	snprintf(action, sizeof action, "look at '%s'", name);
	if (!panel_has_majority(panel, action, status))
		return false;
	count_votes(panel);
	if (panel->shown == NULL || panel->votes < panel->majority) {
		sight_begin(&panel->split, name, panel->shown != NULL ? panel->shown->key : "");
		panel->split.state = SIGHT_SPLIT;
		panel->split.left_ms = -1;
		panel->shown = &panel->split;
	}
	return true;
}

/* A line for a node, with its server in the place of the name. */
static void
add_node(struct panel *panel, struct text *text, int index)
{
	struct panel_node *node = &panel->nodes[index];
	char line[TEXT_LINE_MAX], name[sizeof node->sight.name];
	text_add(text, "  ", 2);
	if (!node->is_there) {
		snprintf(line, sizeof line, "%s: %s", node->settings.server,
		    node->visit.problem.text);
		text_add_line(text, line);
		return;
	}
	memcpy(name, node->sight.name, sizeof name);
	snprintf(node->sight.name, sizeof node->sight.name, "%s", node->settings.server);
	picture_add_text(text, &node->sight);
	memcpy(node->sight.name, name, sizeof name);
}

void
panel_add_text(struct panel *panel, struct text *text)
{
	char line[NAME_MAX_BYTES + 128];
	bool is_split = panel->shown == &panel->split;
	if (is_split) {
		snprintf(line, sizeof line, "%s: " NONE_SHOWS ":", panel->shown->name);
		text_add_line(text, line);
	} else {
		picture_add_text(text, panel->shown);
	}
	if (panel->agree)
		return;
	if (!is_split) {
		snprintf(line, sizeof line, "  so on %d of %d nodes; the others:", panel->votes,
		    panel->count);
		text_add_line(text, line);
	}
	for (int i = 0; i < panel->count; i++) {
		const struct panel_node *node = &panel->nodes[i];
		if (is_split || !node->is_there || !is_same(&node->sight, panel->shown) ||
		    strcmp(fence_of(&node->sight), fence_of(panel->shown)) != 0)
			add_node(panel, text, i);
	}
}

void
panel_add_json(struct panel *panel, struct text *text, const struct picture_result *result)
{
	const struct picture_nodes nodes = {panel->pictures, panel->count};
	picture_add_json(text, panel->shown, result, &nodes);
}

/* -- --status ---------------------------------------------------------------------------------- */

static void
add_between(struct text *text)
{
	text_add(text, text->used == 0 ? "[" : ",\n", text->used == 0 ? 1 : 2);
}

int
panel_status(const struct view_settings *settings, char *const *names)
{
	static struct panel panel;
	struct text text = {.bytes = NULL};
	int status = 0;
	bool is_free = false;
	bool is_there = panel_begin(&panel, settings, "look at the locks", &status);
	for (size_t i = 0; is_there && names[i] != NULL; i++) {
		is_there = panel_look(&panel, names[i], &status);
		if (!is_there)
			break;
		is_free = is_free || (panel.shown != NULL && panel.shown->state == SIGHT_FREE);
		if (settings->json) {
			add_between(&text);
			panel_add_json(&panel, &text, NULL);
		} else {
			panel_add_text(&panel, &text);
		}
	}
	panel_end(&panel);
	if (is_there) {
		if (settings->json)
			text_add(&text, "]\n", 2);
		int failure = visit_print(settings, &text);
		status = failure != 0 ? failure : is_free;
	}
	text_free(&text);
	return status;
}
