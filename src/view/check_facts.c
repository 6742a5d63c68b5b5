/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "view/check_facts.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/values.h"
#include "store/ear.h"
#include "store/redis_answer.h"

void
check_facts_init(struct check_facts *facts, const char *server, const char *prefix, int db,
    const struct lease_terms *terms)
{
	memset(facts, 0, sizeof *facts);
	facts->server = server;
	facts->prefix = prefix;
	facts->db = db;
	facts->terms = *terms;
	facts->failure = OUTCOME_OK;
	facts->lookup_ns = facts->connect_ns = facts->login_ns = -1;
	facts->uptime_s = facts->loading = -1;
	facts->rdb_failed = facts->aof_failed = facts->aof = -1;
	facts->memory_used = facts->memory_most = -1;
	facts->replicas = facts->good_replicas = facts->min_replicas = -1;
	facts->sentinels = -1;
	facts->clients = facts->clients_most = facts->idle_s = -1;
	facts->clock_error_us = facts->message_ns = -1;
	facts->cluster_slots = facts->cluster_masters = facts->cluster_replicas = -1;
}

/* -- what the server tells -------------------------------------------------------------------- */

static void
copy(char *out, size_t size, const char *text, size_t length)
{
	if (length >= size)
		length = size - 1;
	memcpy(out, text, length);
	out[strnlen(out, length)] = '\0';
}

static void
take_number(int64_t *number, const char *text)
{
	struct problem ignored;
	int64_t value;
	if (value_parse_count(text, 0, INT64_MAX, &value, &ignored))
		*number = value;
}

static void
take_text(char *out, size_t size, const char *text)
{
	copy(out, size, text, strlen(text));
}

/* "ok" or "err". */
static void
take_status(int64_t *failed, const char *text)
{
	if (strcmp(text, "ok") == 0)
		*failed = *failed == 1;
	else if (strcmp(text, "err") == 0)
		*failed = 1;
}

/* The product, by the field that only that one has. Valkey goes on telling a redis_version, that of
 * the Redis it is compatible with. */
static void
take_version(struct check_facts *facts, const char *product, const char *version)
{
	bool is_own = strcmp(product, "redis") != 0;
	if (!is_own && facts->product[0] != '\0' && strcmp(facts->product, "redis") != 0)
		return;
	take_text(facts->product, sizeof facts->product, product);
	take_text(facts->version, sizeof facts->version, version);
}

static void
take_field(struct check_facts *facts, const char *name, const char *value)
{
	static const char *const products[] = {"redis", "valkey", "dragonfly", "garnet", "kvrocks"};
	const struct {
		const char *name;
		int64_t *number;
	} numbers[] = {
	    {"uptime_in_seconds", &facts->uptime_s},
	    {"loading", &facts->loading},
	    {"aof_enabled", &facts->aof},
	    {"used_memory", &facts->memory_used},
	    {"maxmemory", &facts->memory_most},
	    {"connected_slaves", &facts->replicas},
	    {"min_slaves_good_slaves", &facts->good_replicas},
	    {"connected_clients", &facts->clients},
	    {"maxclients", &facts->clients_most},
	    {"min-replicas-to-write", &facts->min_replicas},
	    {"timeout", &facts->idle_s},
	};
	const struct {
		const char *name;
		char *text;
		size_t size;
	} texts[] = {
	    {"run_id", facts->run_id, sizeof facts->run_id},
	    {"master_replid", facts->replid, sizeof facts->replid},
	    {"redis_mode", facts->mode, sizeof facts->mode},
	    {"server_mode", facts->mode, sizeof facts->mode},
	    {"role", facts->role, sizeof facts->role},
	    {"master_link_status", facts->master_link, sizeof facts->master_link},
	    {"maxmemory_policy", facts->policy, sizeof facts->policy},
	    {"maxmemory-policy", facts->policy, sizeof facts->policy},
	    {"appendfsync", facts->appendfsync, sizeof facts->appendfsync},
	    {"save", facts->save, sizeof facts->save},
	    {"cluster_state", facts->cluster_state, sizeof facts->cluster_state},
	};
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		if (strcmp(name, numbers[i].name) == 0)
			take_number(numbers[i].number, value);
	}
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		if (strcmp(name, texts[i].name) == 0)
			take_text(texts[i].text, texts[i].size, value);
	}
	for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
		size_t length = strlen(products[i]);
		if (strncmp(name, products[i], length) == 0 &&
		    strcmp(name + length, "_version") == 0)
			take_version(facts, products[i], value);
	}
	if (strcmp(name, "rdb_last_bgsave_status") == 0)
		take_status(&facts->rdb_failed, value);
	else if (strcmp(name, "aof_last_write_status") == 0)
		take_status(&facts->aof_failed, value);
	else if (strcmp(name, "appendonly") == 0)
		facts->aof = strcmp(value, "yes") == 0;
	else if (strcmp(name, "save") == 0)
		facts->save_known = true;
}

void
check_facts_take_info(struct check_facts *facts, const char *text, size_t length)
{
	char name[64], value[256];
	const char *end = text + length;
	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		const char *stop = newline != NULL ? newline : end;
		const char *colon = memchr(text, ':', (size_t)(stop - text));
		if (colon != NULL && text[0] != '#') {
			size_t cut = stop > colon + 1 && stop[-1] == '\r' ? 1 : 0;
			copy(name, sizeof name, text, (size_t)(colon - text));
			copy(value, sizeof value, colon + 1, (size_t)(stop - colon - 1) - cut);
			take_field(facts, name, value);
		}
		text = stop + 1;
	}
}

static bool
is_text(const struct reply *reply)
{
	return reply->kind == REPLY_STRING || reply->kind == REPLY_STATUS;
}

bool
check_facts_take_hello(struct check_facts *facts, const struct reply *reply)
{
	char version[32] = "";
	if (reply->kind != REPLY_ARRAY)
		return false;
	for (size_t i = 0; i + 1 < reply->count; i += 2) {
		const struct reply *name = reply->items[i], *value = reply->items[i + 1];
		if (!is_text(name) || !is_text(value))
			continue;
		if (strcmp(name->text, "server") == 0)
			take_text(facts->product, sizeof facts->product, value->text);
		else if (strcmp(name->text, "version") == 0)
			take_text(version, sizeof version, value->text);
		else if (strcmp(name->text, "role") == 0)
			take_text(facts->role, sizeof facts->role, value->text);
		else if (strcmp(name->text, "mode") == 0)
			take_text(facts->mode, sizeof facts->mode, value->text);
	}
	take_text(facts->version, sizeof facts->version, version);
	facts->told[SOURCE_HELLO] = facts->version[0] != '\0';
	return facts->told[SOURCE_HELLO];
}

bool
check_facts_take_config(struct check_facts *facts, const struct reply *reply)
{
	if (reply->kind != REPLY_ARRAY)
		return false;
	for (size_t i = 0; i + 1 < reply->count; i += 2) {
		if (!is_text(reply->items[i]) || !is_text(reply->items[i + 1]))
			return false;
		take_field(facts, reply->items[i]->text, reply->items[i + 1]->text);
	}
	facts->told[SOURCE_CONFIG] = true;
	return true;
}

/* -- trials ----------------------------------------------------------------------------------- */

const char *
check_feature_name(enum check_feature feature)
{
	static const char *const names[] = {
	    [FEATURE_LOCK] = "locks",
	    [FEATURE_WAIT] = "waiting",
	    [FEATURE_MESSAGES] = "messages",
	    [FEATURE_FOREIGN] = "foreign",
	    [FEATURE_WATCH] = "watch",
	    [FEATURE_SHARED] = "shared",
	    [FEATURE_SLOTS] = "slots",
	    [FEATURE_COUNTER] = "counter",
	    [FEATURE_STATUS] = "status",
	    [FEATURE_LIST] = "list",
	    [FEATURE_BREAK] = "break",
	};
	return names[feature];
}

#define ONE(feature) (1U << (feature))
#define HOLDING (ONE(FEATURE_LOCK) | ONE(FEATURE_WAIT) | ONE(FEATURE_SHARED) | ONE(FEATURE_SLOTS))
#define MEMBERS (ONE(FEATURE_SHARED) | ONE(FEATURE_SLOTS))
#define SEEING (ONE(FEATURE_STATUS) | ONE(FEATURE_LIST))

/* Which of the features need that command of a script. */
static unsigned int
users_of(const char *command)
{
	static const struct {
		const char *command;
		unsigned int features;
	} rows[] = {
	    {"TIME", HOLDING | SEEING | ONE(FEATURE_BREAK)},
	    {"GET", HOLDING | ONE(FEATURE_WATCH) | ONE(FEATURE_BREAK)},
	    {"PTTL", HOLDING | SEEING | ONE(FEATURE_BREAK)},
	    {"ZRANGE", HOLDING | ONE(FEATURE_BREAK)},
	    {"ZCARD", HOLDING | SEEING | ONE(FEATURE_BREAK)},
	    {"ZREM", HOLDING | ONE(FEATURE_BREAK)},
	    {"DEL", HOLDING | ONE(FEATURE_BREAK)},
	    {"SET", HOLDING | ONE(FEATURE_BREAK)},
	    {"HGET", HOLDING | ONE(FEATURE_BREAK)},
	    {"HDEL", HOLDING | ONE(FEATURE_BREAK)},
	    {"HSET", HOLDING | ONE(FEATURE_BREAK)},
	    {"PEXPIRE", HOLDING | ONE(FEATURE_BREAK)},
	    {"PEXPIREAT", HOLDING},
	    {"EXISTS", HOLDING},
	    {"INCR", HOLDING},
	    {"HLEN", HOLDING},
	    {"HKEYS", HOLDING},
	    {"ZRANK", HOLDING},
	    {"ZSCORE", HOLDING | ONE(FEATURE_WATCH)},
	    {"ZADD", ONE(FEATURE_WAIT) | MEMBERS},
	    {"ZREMRANGEBYSCORE", MEMBERS},
	    {"PERSIST", ONE(FEATURE_COUNTER)},
	    {"PUBLISH", ONE(FEATURE_MESSAGES)},
	    {"PUBSUB NUMSUB", ONE(FEATURE_MESSAGES)},
	    {"SPUBLISH", ONE(FEATURE_MESSAGES)},
	    {"PUBSUB SHARDNUMSUB", ONE(FEATURE_MESSAGES)},
	    {"TYPE", SEEING | ONE(FEATURE_BREAK)},
	    {"GETRANGE", SEEING | ONE(FEATURE_BREAK)},
	    {"HMGET", SEEING},
	    {"ZCOUNT", SEEING},
	    {"ZRANGEBYSCORE", SEEING},
	    {"SCAN", ONE(FEATURE_LIST)},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (strcmp(command, rows[i].command) == 0)
			return rows[i].features;
	}
	return 0;
}

/* Where a server does not know them, that is no matter of rights. */
static bool
is_of_shards(const char *command)
{
	return strcmp(command, "SPUBLISH") == 0 || strcmp(command, "PUBSUB SHARDNUMSUB") == 0;
}

static void
add_missing(struct check_trial *trial, const char *command)
{
	size_t used = strlen(trial->missing);
	if (used + 2 + strlen(command) < sizeof trial->missing)
		snprintf(trial->missing + used, sizeof trial->missing - used, "%s%s",
		    used > 0 ? ", " : "", command);
}

void
check_facts_take_refusal(struct check_facts *facts, const char *command, const char *error)
{
	unsigned int users = users_of(command);
	/* Some of the tries fail for what they are, and a replica refuses all that writes; and it
	 * may be the channel that is refused, not the command. */
	if (answer_classify_error(error) != OUTCOME_DENIED && strstr(error, "nknown") == NULL)
		return;
	if (strstr(error, "access a channel") != NULL)
		return;
	if (is_of_shards(command) && strstr(error, "nknown") != NULL) {
		check_facts_take_trial(facts, FEATURE_MESSAGES, false, EAR_NO_CHANNELS);
		return;
	}
	for (int i = 0; i < FEATURES; i++) {
		if ((users & ONE(i)) != 0)
			add_missing(&facts->trials[i], command);
	}
}

/* "NOPERM this user has no permissions to run the 'client|tracking' command" names one, too. */
static void
take_named_command(struct check_trial *trial, const char *why)
{
	static const char before[] = "permissions to run the '";
	char command[64];
	size_t length = 0;
	const char *at = strstr(why, before);
	if (at == NULL)
		return;
	for (at += sizeof before - 1; *at != '\'' && *at != '\0'; at++) {
		if (length + 1 == sizeof command)
			return;
		command[length++] = *at == '|' ? ' ' : (char)toupper((unsigned char)*at);
	}
	command[length] = '\0';
	if (strstr(trial->missing, command) == NULL)
		add_missing(trial, command);
}

void
check_facts_take_trial(struct check_facts *facts, enum check_feature feature, bool works,
    const char *why)
{
	struct check_trial *trial = &facts->trials[feature];
	if (trial->result == CHECK_FAILS)
		return;
	trial->result = works ? CHECK_WORKS : CHECK_FAILS;
	if (works)
		return;
	const char *advice = strstr(why, " (what a user needs");
	copy(trial->why, sizeof trial->why, why,
	    advice != NULL ? (size_t)(advice - why) : strlen(why));
	take_named_command(trial, why);
}

/* -- round trips ------------------------------------------------------------------------------ */

void
check_facts_take_round(struct check_facts *facts, int64_t round_ns, int64_t server_us,
    int64_t sent_us)
{
	int64_t half_us = round_ns / 2 / NS_PER_US;
	if (facts->rounds < CHECK_ROUNDS)
		facts->round_ns[facts->rounds++] = round_ns;
	/* The shortest one knows best. */
	if (facts->clock_error_us >= 0 && facts->clock_error_us <= half_us)
		return;
	facts->clock_error_us = half_us;
	facts->clock_us = server_us - sent_us - half_us;
}

static int
compare(const void *one, const void *other)
{
	int64_t a = *(const int64_t *)one, b = *(const int64_t *)other;
	return (a > b) - (a < b);
}

void
check_facts_sort(struct check_facts *facts)
{
	qsort(facts->round_ns, (size_t)facts->rounds, sizeof *facts->round_ns, compare);
}
