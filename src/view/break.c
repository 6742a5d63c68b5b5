/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/keys.h"
#include "base/message.h"
#include "base/values.h"
#include "exits.h"
#include "view/look.h"
#include "view/panel.h"
#include "view/picture.h"

#define BREAK_FREE 1
/* Holders that are named in a line each. */
#define MOST_NAMED 20

struct breaking {
	const struct view_settings *settings;
	const char *name;
	struct visit *visit;
	enum sight_result result;
	struct sight taken; /* those whom it was about, as they stood before */
	int64_t count;      /* how many they are */
};

static bool
take_answer(void *context, const struct reply *reply)
{
	struct breaking *breaking = context;
	return sight_add_break(&breaking->taken, reply, &breaking->result, &breaking->count);
}

static bool
ask(struct breaking *breaking, const char *record)
{
	static struct keys keys;
	const struct view_settings *settings = breaking->settings;
	struct visit *visit = breaking->visit;
	char not_after[24];
	const struct question question = {QUERY_BREAK, 5, 9,
	    {keys.lock, keys.fence, keys.info, keys.queue, keys.members,
		settings->token != NULL ? settings->token : "", settings->force ? "yes" : "no",
		record != NULL ? record : "", not_after}};
	if (!keys_make(&keys, settings->prefix, breaking->name, &visit->problem))
		return false;
	if (!visit_settle(visit, keys.lock))
		return false;
	sight_begin(&breaking->taken, breaking->name, keys.lock);
	snprintf(not_after, sizeof not_after, "%" PRId64,
	    redis_query_not_after_us(&visit->query, settings->answer_limit_ns));
	return visit_ask(visit, &question, take_answer, breaking);
}

/* What was done to one of its holders. */
static void
tell_of_holder(const struct breaking *breaking, const struct party *party)
{
	const char *name = breaking->name;
	char who[PICTURE_SIZE], slot[32] = "", left[32];
	bool at_once = breaking->settings->force || party->role == PARTY_DONE;
	picture_describe_party(&breaking->taken, party, who, sizeof who);
	if (party->slot >= 0)
		snprintf(slot, sizeof slot, "slot %d of ", party->slot);
	value_print_duration(left, sizeof left, party->left_ms * NS_PER_MS);
	if (party->role == PARTY_DONE)
		message_notice("freed %s'%s': the command of %s had ended", slot, name, who);
	else if (at_once && party->role == PARTY_FOREIGN)
		message_notice("freed %s'%s' at once, held by %s, which may go on as if it still "
			       "had it when another gets the lock",
		    slot, name, who);
	else if (at_once)
		message_notice("freed %s'%s' at once, held by %s: its command may still "
			       "be running when another gets the lock",
		    slot, name, who);
	else if (party->left_ms < 0)
		message_notice("%s %s'%s', held by %s: its command is ended at its next renewal; "
			       "its key has no expiry: if there is no renewal, --force frees it",
		    party->role == PARTY_BROKEN ? "already broken:" : "broke", slot, name, who);
	else
		message_notice("%s %s'%s', held by %s: its command is ended at its next renewal; "
			       "free in %s at the latest",
		    party->role == PARTY_BROKEN ? "already broken:" : "broke", slot, name, who,
		    left);
}

static int
tell_foreign(const struct breaking *breaking)
{
	const struct sight *taken = &breaking->taken;
	if (taken->type[0] != '\0' && taken->value[0] == '\0')
		message_error(
		    "'%s' is held by an unknown client (its key is of type %s), which "
		    "dlock cannot tell to stop: --force deletes the key at once, whatever "
		    "that client is doing",
		    breaking->name, taken->type);
	else
		message_error("'%s' is held by an unknown client (token %s), which dlock cannot "
			      "tell to stop: --force deletes the key at once, whatever that client "
			      "is doing",
		    breaking->name, taken->value);
	return EXIT_CONFLICT;
}

/* Says what has been done; dlock's exit status. */
static int
tell(struct breaking *breaking)
{
	const struct sight *taken = &breaking->taken;
	switch (breaking->result) {
	case RESULT_BROKEN:
	case RESULT_FREED:
	case RESULT_ALREADY:
		break;
	case RESULT_NOTOKEN:
		message_notice("'%s' is not held by token '%s'", breaking->name,
		    breaking->settings->token != NULL ? breaking->settings->token : "");
		return BREAK_FREE;
	case RESULT_FREE:
		message_notice("'%s' is free: there is nothing to break", breaking->name);
		return BREAK_FREE;
	case RESULT_FOREIGN:
		return tell_foreign(breaking);
	case RESULT_LATE:
		message_error("cannot break '%s' at %s: the server's clock is not steady",
		    breaking->name, breaking->settings->server);
		return EXIT_UNREACHABLE;
	}
	if (taken->holders == 0)
		message_notice("freed '%s' at once: an unknown client had it (its key was of type "
			       "%s), which may go on as if it still had it",
		    breaking->name, taken->type);
	for (size_t i = 0; i < taken->holders && i < MOST_NAMED; i++)
		tell_of_holder(breaking, &taken->parties[i]);
	if (breaking->count > MOST_NAMED)
		message_notice("and so for %" PRId64 " more holders of '%s'",
		    breaking->count - MOST_NAMED, breaking->name);
	return 0;
}

static const char *
name_result(enum sight_result result)
{
	static const char *const words[] = {
	    [RESULT_BROKEN] = "broken",
	    [RESULT_FREED] = "freed",
	    [RESULT_ALREADY] = "already-broken",
	    [RESULT_NOTOKEN] = "no-such-token",
	    [RESULT_FREE] = "free",
	    [RESULT_FOREIGN] = "foreign",
	    [RESULT_LATE] = "late",
	};
	return words[result];
}

/* --json: the lock as it is now, and what was done. */
static int
report(struct breaking *breaking)
{
	static struct sight now;
	struct text text = {.bytes = NULL};
	const struct picture_result result = {.word = name_result(breaking->result),
	    .taken = &breaking->taken,
	    .count = breaking->count};
	if (!look_at(breaking->visit, breaking->name, &now))
		return look_explain(breaking->visit, breaking->name);
	visit_end(breaking->visit);
	text_add(&text, "[", 1);
	picture_add_json(&text, &now, &result, NULL);
	text_add(&text, "]\n", 2);
	int status = visit_print(breaking->settings, &text);
	text_free(&text);
	sight_free(&now);
	return status;
}

/* -- several servers --------------------------------------------------------------------------- */

/* Of what the nodes say, what is told: that it was broken, if it was anywhere. */
static int
rank_of(enum sight_result result)
{
	static const int ranks[] = {
	    [RESULT_BROKEN] = 6,
	    [RESULT_FREED] = 5,
	    [RESULT_ALREADY] = 4,
	    [RESULT_FOREIGN] = 3,
	    [RESULT_NOTOKEN] = 2,
	    [RESULT_FREE] = 1,
	    [RESULT_LATE] = 0,
	};
	return ranks[result];
}

/* The token that a majority shows: what a client has at some node that is just taking the lock, or
 * giving it back, is not meant. Empty: there is none. */
static void
find_token(const struct panel *panel, char *token, size_t size)
{
	const char *value = panel->shown->value, *colon;
	bool is_dlocks = panel->shown->state == SIGHT_HELD || panel->shown->state == SIGHT_DONE ||
	    panel->shown->state == SIGHT_BROKEN;
	if (strncmp(value, "dlock!", 6) == 0 && (colon = strchr(value, ':')) != NULL)
		value = colon + 1;
	snprintf(token, size, "%s", is_dlocks ? value : "");
}

static int
report_panel(struct panel *panel, struct breaking *told, const char *name)
{
	struct text text = {.bytes = NULL};
	int status = 0;
	const struct picture_result result = {.word = name_result(told->result),
	    .taken = &told->taken,
	    .count = told->count};
	if (!panel_look(panel, name, &status))
		return status;
	text_add(&text, "[", 1);
	panel_add_json(panel, &text, &result);
	text_add(&text, "]\n", 2);
	status = visit_print(panel->settings, &text);
	text_free(&text);
	return status;
}

/* Each node is told; with a majority of them the holder loses it. */
static bool
break_nodes(struct panel *panel, struct breaking *breaking, const char *name, const char *record,
    const char *action, int *status)
{
	static char token[sizeof panel->split.value];
	if (!panel_begin(panel, panel->settings, action, status) ||
	    !panel_look(panel, name, status))
		return false;
	find_token(panel, token, sizeof token);
	for (int i = 0; i < panel->count; i++) {
		struct panel_node *node = &panel->nodes[i];
		if (panel->settings->token == NULL && token[0] != '\0')
			node->settings.token = token;
		breaking[i].settings = &node->settings;
		breaking[i].name = name;
		breaking[i].visit = &node->visit;
		node->is_there = node->is_there && ask(&breaking[i], record);
	}
	return panel_has_majority(panel, action, status);
}

int
panel_break(const struct view_settings *settings, const char *name, const char *record)
{
	static struct panel panel;
	static struct breaking breaking[VIEW_MAX_NODES];
	char action[NAME_MAX_BYTES + 32];
	struct breaking *told = NULL;
	int status = 0, done = 0;
	snprintf(action, sizeof action, "break '%s'", name);
	panel.settings = settings;
	bool is_told = break_nodes(&panel, breaking, name, record, action, &status);
	for (int i = 0; i < panel.count && is_told; i++) {
		if (!panel.nodes[i].is_there)
			continue;
		done += rank_of(breaking[i].result) >= rank_of(RESULT_ALREADY);
		if (told == NULL || rank_of(breaking[i].result) > rank_of(told->result))
			told = &breaking[i];
	}
	if (told != NULL) {
		status = tell(told);
		if (done > 0 && done < panel.count)
			message_notice(
			    "so on %d of %d nodes: %d of them were not reached, or did not "
			    "have it",
			    done, panel.count, panel.count - done);
		int failure = settings->json ? report_panel(&panel, told, name) : 0;
		status = failure != 0 ? failure : status;
	}
	panel_end(&panel);
	for (int i = 0; i < VIEW_MAX_NODES; i++)
		sight_free(&breaking[i].taken);
	return status;
}

int
view_break(const struct view_settings *settings, const char *name, const char *record)
{
	static struct breaking breaking;
	static struct visit visit;
	char action[NAME_MAX_BYTES + 32];
	int status;
	if (settings->node_count > 1)
		return panel_break(settings, name, record);
	breaking.settings = settings;
	breaking.name = name;
	breaking.visit = &visit;
	if (visit_begin(breaking.visit, settings) && ask(&breaking, record)) {
		status = tell(&breaking);
		int failure =
		    settings->json && breaking.result != RESULT_LATE ? report(&breaking) : 0;
		status = failure != 0 ? failure : status;
	} else {
		struct problem why = breaking.visit->problem;
		if (breaking.taken.no_memory)
			problem_set_errno(&breaking.visit->problem, NULL, ENOMEM);
		else if (breaking.visit->outcome == OUTCOME_UNKNOWN && !why.is_system)
			problem_set(&breaking.visit->problem,
			    "%.400s; whether it has been broken is not known (--status says)",
			    why.text);
		snprintf(action, sizeof action, "break '%s'", name);
		status = visit_explain(breaking.visit, action);
	}
	visit_end(breaking.visit);
	sight_free(&breaking.taken);
	return status;
}
