/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include <string.h>

#include "base/json.h"
#include "view/check_print.h"

/* Of facts and reasons, every byte of them escaped. */
#define JSON_MAX 65536

/* Text that the server has told, or nothing. */
static void
add_text(struct json *json, const char *key, const char *value)
{
	json_text(json, key, value[0] != '\0' ? value : NULL);
}

static void
add_number(struct json *json, const char *key, int64_t value)
{
	if (value < 0)
		json_null(json, key);
	else
		json_number(json, key, value);
}

static void
add_bool(struct json *json, const char *key, int64_t value)
{
	if (value < 0)
		json_null(json, key);
	else
		json_bool(json, key, value > 0);
}

static void
add_us(struct json *json, const char *key, int64_t ns)
{
	add_number(json, key, ns < 0 ? -1 : ns / NS_PER_US);
}

static void
add_judgement(struct json *json, const struct check_judgement *judgement)
{
	json_text(json, "verdict", check_verdict_name(judgement->verdict));
	json_open(json, "reasons", '[');
	for (size_t i = 0; i < judgement->count; i++) {
		json_open(json, NULL, '{');
		json_text(json, "code", judgement->reasons[i].code);
		json_text(json, "text", judgement->reasons[i].text);
		json_bool(json, "fatal", judgement->reasons[i].is_fatal);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void
add_server(struct json *json, const struct check_facts *facts)
{
	json_bool(json, "reached", facts->is_reached);
	add_us(json, "lookup_us", facts->lookup_ns);
	add_us(json, "connect_us", facts->connect_ns);
	add_us(json, "login_us", facts->login_ns);
	add_text(json, "seen_as", facts->seen_as);
	add_text(json, "product", facts->product);
	add_text(json, "version", facts->version);
	add_text(json, "run_id", facts->run_id);
	add_number(json, "uptime_s", facts->uptime_s);
	json_number(json, "db", facts->db);
	json_text(json, "prefix", facts->prefix);
	add_text(json, "role", facts->role);
	add_text(json, "mode", facts->mode);
	add_bool(json, "loading", facts->loading);
	add_bool(json, "appendonly", facts->aof);
	add_text(json, "appendfsync", facts->appendfsync);
	json_text(json, "save", facts->save_known ? facts->save : NULL);
	add_number(json, "used_memory", facts->memory_used);
	add_number(json, "maxmemory", facts->memory_most);
	add_text(json, "maxmemory_policy", facts->policy);
	add_number(json, "replicas", facts->replicas);
	add_number(json, "min_replicas", facts->min_replicas);
	add_number(json, "clients", facts->clients);
	add_number(json, "maxclients", facts->clients_most);
	add_number(json, "timeout_s", facts->idle_s);
}

/* Of a server that sentinels name alone. */
static void
add_sentinels(struct json *json, const struct check_facts *facts)
{
	if (facts->sentinels < 0)
		return;
	json_text(json, "master", facts->master);
	json_number(json, "sentinels", facts->sentinels);
	json_number(json, "sentinels_agreeing", facts->agreeing);
	json_number(json, "sentinels_known", facts->known_sentinels);
	json_number(json, "quorum", facts->quorum);
	json_number(json, "replicas_known", facts->listed_replicas);
	json_number(json, "replicas_alive", facts->alive_replicas);
}

static void
add_times(struct json *json, const struct check_facts *facts)
{
	if (facts->clock_error_us < 0)
		json_null(json, "clock_us");
	else
		json_number(json, "clock_us", facts->clock_us);
	add_number(json, "clock_error_us", facts->clock_error_us);
	json_number(json, "round_trips", facts->rounds);
	add_us(json, "round_trip_min_us", facts->rounds > 0 ? facts->round_ns[0] : -1);
	add_us(json, "round_trip_median_us",
	    facts->rounds > 0 ? facts->round_ns[facts->rounds / 2] : -1);
	add_us(json, "round_trip_max_us",
	    facts->rounds > 0 ? facts->round_ns[facts->rounds - 1] : -1);
	add_us(json, "handoff_us", facts->message_ns);
	json_number(json, "ttl_ms", ms_from_ns(facts->terms.ttl_ns));
	json_number(json, "outage_ms", ms_from_ns(lease_longest_outage(&facts->terms)));
	json_number(json, "outage_sure_ms", ms_from_ns(lease_sure_outage(&facts->terms)));
}

/* "GET, SET" as an array. */
static void
add_missing(struct json *json, const char *missing)
{
	char name[64];
	json_open(json, "missing", '[');
	while (*missing != '\0') {
		size_t length = strcspn(missing, ",");
		if (length < sizeof name) {
			memcpy(name, missing, length);
			name[length] = '\0';
			json_text(json, NULL, name);
		}
		missing += length;
		missing += strspn(missing, ", ");
	}
	json_close(json, ']');
}

static void
add_features(struct json *json, const struct check_facts *facts)
{
	json_open(json, "features", '[');
	for (int i = 0; i < FEATURES; i++) {
		const struct check_trial *trial = &facts->trials[i];
		bool is_lost = trial->result == CHECK_FAILS || trial->missing[0] != '\0';
		json_open(json, NULL, '{');
		json_text(json, "feature", check_feature_name((enum check_feature)i));
		add_bool(json, "works", is_lost ? 0 : trial->result == CHECK_WORKS ? 1 : -1);
		add_text(json, "why", trial->why);
		add_missing(json, trial->missing);
		json_close(json, '}');
	}
	json_close(json, ']');
}

/* Of a cluster alone. */
static void
add_cluster(struct json *json, const struct check_facts *facts)
{
	if (!facts->is_cluster)
		return;
	add_text(json, "cluster_state", facts->cluster_state);
	add_number(json, "cluster_slots", facts->cluster_slots);
	add_number(json, "cluster_masters", facts->cluster_masters);
	add_number(json, "cluster_replicas", facts->cluster_replicas);
}

void
check_print_json(struct text *text, const struct check_facts *facts,
    const struct check_judgement *judgement)
{
	struct json json;
	char *room;
	room = text_reserve(text, JSON_MAX);
	if (room == NULL)
		return;
	json_begin(&json, room, JSON_MAX);
	json_text(&json, "server", facts->server);
	add_judgement(&json, judgement);
	add_server(&json, facts);
	add_sentinels(&json, facts);
	add_times(&json, facts);
	add_features(&json, facts);
	add_cluster(&json, facts);
	size_t length = json_end(&json);
	if (length == 0) {
		text->failed = true;
		return;
	}
	text->used += length - 1; /* the newline is the array's */
}
