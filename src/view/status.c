/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "view/look.h"
#include "view/panel.h"
#include "view/picture.h"

#define STATUS_FREE 1

static void
add(struct text *text, const struct view_settings *settings, const struct sight *sight)
{
	if (!settings->json) {
		picture_add_text(text, sight);
		return;
	}
	text_add(text, text->used == 0 ? "[" : ",\n", text->used == 0 ? 1 : 2);
	picture_add_json(text, sight, NULL, NULL);
}

int
view_status(const struct view_settings *settings, char *const *names)
{
	static struct visit visit;
	static struct sight sight;
	struct text text = {.bytes = NULL};
	int status = 0;
	if (settings->node_count > 1)
		return panel_status(settings, names);
	bool is_there = visit_begin(&visit, settings);
	for (size_t i = 0; names[i] != NULL; i++) {
		if (!is_there || !look_at(&visit, names[i], &sight)) {
			status = look_explain(&visit, names[i]);
			break;
		}
		if (sight.state == SIGHT_FREE)
			status = STATUS_FREE;
		add(&text, settings, &sight);
	}
	visit_end(&visit);
	if (status <= STATUS_FREE) {
		if (settings->json)
			text_add(&text, text.used == 0 ? "[]\n" : "]\n", text.used == 0 ? 3 : 2);
		int failure = visit_print(settings, &text);
		status = failure != 0 ? failure : status;
	}
	sight_free(&sight);
	text_free(&text);
	return status;
}
