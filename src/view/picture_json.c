/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "view/picture.h"

static const char *const roles[] = {
    [PARTY_GRANTED] = "granted",
    [PARTY_HOLDING] = "held",
    [PARTY_DONE] = "done",
    [PARTY_BROKEN] = "broken",
    [PARTY_FOREIGN] = "foreign",
    [PARTY_WAITING] = "waiting",
};

static void
add_text(struct json *json, const char *key, const char *value)
{
	json_text(json, key, value[0] != '\0' ? value : NULL);
}

static void
add_number(struct json *json, const char *key, int64_t value, bool known)
{
	if (known)
		json_number(json, key, value);
	else
		json_null(json, key);
}

/* As in --report: "2026-01-31T12:00:00.123Z". */
static void
add_time(struct json *json, const char *key, int64_t us)
{
	char seconds[32], text[40];
	time_t at = (time_t)(us / 1000000);
	struct tm utc;
	if (us <= 0 || gmtime_r(&at, &utc) == NULL ||
	    strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", &utc) == 0) {
		json_null(json, key);
		return;
	}
	snprintf(text, sizeof text, "%s.%03dZ", seconds, (int)(us / 1000 % 1000));
	json_text(json, key, text);
}

static void
add_party(struct json *json, const struct party *party)
{
	const struct identity *identity = &party->identity;
	json_open(json, NULL, '{');
	json_text(json, "state", roles[party->role]);
	json_text(json, "token", party->token);
	add_text(json, "fence", identity->fence);
	add_text(json, "host", identity->host);
	add_number(json, "pid", identity->pid, identity->pid > 0);
	add_text(json, "user", identity->user);
	add_text(json, "command", identity->command);
	add_text(json, "label", identity->label);
	add_time(json, "since", party->since_us);
	add_text(json, "mode", identity->mode);
	add_number(json, "slot", party->slot, party->slot >= 0);
	add_number(json, "ttl_ms", party->left_ms, party->left_ms >= 0);
	if (party->breaker_known) {
		json_open(json, "broken_by", '{');
		add_text(json, "host", party->breaker.host);
		add_number(json, "pid", party->breaker.pid, party->breaker.pid > 0);
		add_text(json, "user", party->breaker.user);
		json_close(json, '}');
	} else {
		json_null(json, "broken_by");
	}
	json_close(json, '}');
}

static void
add_parties(struct json *json, const char *key, const struct sight *sight, size_t from, size_t to)
{
	json_open(json, key, '[');
	for (size_t i = from; i < to; i++)
		add_party(json, &sight->parties[i]);
	json_close(json, ']');
}

static void
add_nodes(struct json *json, const struct picture_nodes *nodes)
{
	json_open(json, "nodes", '[');
	for (int i = 0; i < nodes->count; i++) {
		const struct picture_node *node = &nodes->items[i];
		const struct sight *sight = node->sight;
		const struct party *holder =
		    sight != NULL && sight->holders > 0 ? &sight->parties[0] : NULL;
		json_open(json, NULL, '{');
		json_text(json, "server", node->server);
		json_text(json, "state", sight != NULL ? sight_name_state(sight->state) : NULL);
		json_text(json, "token", holder != NULL ? holder->token : NULL);
		add_text(json, "fence", holder != NULL ? holder->identity.fence : "");
		add_number(json, "ttl_ms", sight != NULL ? sight->left_ms : -1,
		    sight != NULL && sight->left_ms >= 0);
		json_text(json, "problem", sight != NULL ? NULL : node->problem);
		json_close(json, '}');
	}
	json_close(json, ']');
}

/* Its length; 0: it did not fit. */
static size_t
write_object(char *out, size_t size, const struct sight *sight, const struct picture_result *result,
    const struct picture_nodes *nodes)
{
	struct json json;
	bool is_foreign = sight->state == SIGHT_FOREIGN;
	json_begin(&json, out, size);
	json_text(&json, "name", sight->name);
	json_text(&json, "key", sight->key);
	json_text(&json, "state", sight_name_state(sight->state));
	json_text(&json, "type", is_foreign ? sight->type : NULL);
	add_number(&json, "slots", sight->slots, sight->slots > 0);
	add_number(&json, "ttl_ms", sight->left_ms, sight->left_ms >= 0);
	add_parties(&json, "holders", sight, 0, sight->holders);
	add_parties(&json, "waiters", sight, sight->holders, sight->count);
	if (nodes != NULL)
		add_nodes(&json, nodes);
	if (result != NULL) {
		json_text(&json, "result", result->word);
		json_number(&json, "taken", result->count);
		add_parties(&json, "taken_from", result->taken, 0, result->taken->holders);
	}
	return json_end(&json);
}

void
picture_add_json(struct text *text, const struct sight *sight, const struct picture_result *result,
    const struct picture_nodes *nodes)
{
	for (size_t size = 8192;; size *= 2) {
		char *room = text_reserve(text, size);
		if (room == NULL)
			return;
		size_t length = write_object(room, size, sight, result, nodes);
		if (length > 0) {
			text->used += length - 1; /* json_end's newline is the array's business */
			return;
		}
	}
}
