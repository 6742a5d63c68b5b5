/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "view/check_ask.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "store/redis_answer.h"
#include "store/sentinel.h"
#include "view/check_trial.h"
#include "view/visit.h"

/* A slow server is asked less often. */
#define ROUNDS_LIMIT (5 * NS_PER_S)

/* What an answer is taken into. */
struct asking {
	struct visit *visit, *second;
	struct check_facts *facts;
	struct keys keys; /* of the lock that is tried */
	struct instant sent_at;
	int64_t sent_us; /* by this host's wall clock */
	bool is_refused;
};

static int64_t
wall_clock_us(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * (NS_PER_S / NS_PER_US) + now.tv_nsec / NS_PER_US;
}

/* -- answers ---------------------------------------------------------------------------------- */

static bool
take_round(void *context, const struct reply *reply)
{
	struct asking *asking = context;
	int64_t server_us = answer_read_time(reply);
	if (server_us == 0)
		return false;
	check_facts_take_round(asking->facts, instant_between(asking->sent_at, clock_now()),
	    server_us, asking->sent_us);
	return true;
}

/* What is refused is not told. */
static bool
take_hello(void *context, const struct reply *reply)
{
	struct asking *asking = context;
	return reply->kind == REPLY_ERROR || check_facts_take_hello(asking->facts, reply);
}

static bool
take_info(void *context, const struct reply *reply)
{
	struct asking *asking = context;
	asking->is_refused = reply->kind != REPLY_STRING;
	if (asking->is_refused)
		return reply->kind == REPLY_ERROR;
	asking->facts->told[SOURCE_INFO] = true;
	check_facts_take_info(asking->facts, reply->text, reply->length);
	return true;
}

static bool
take_config(void *context, const struct reply *reply)
{
	struct asking *asking = context;
	asking->is_refused = reply->kind == REPLY_ERROR;
	return asking->is_refused || check_facts_take_config(asking->facts, reply);
}

/* Our end of the connection as text, as CLIENT INFO has it. */
static bool
print_own_address(const struct visit *visit, char *out, size_t size)
{
	struct sockaddr_storage address = {0};
	socklen_t length = sizeof address;
	char host[INET6_ADDRSTRLEN];
	const struct sockaddr_in *four = (const void *)&address;
	const struct sockaddr_in6 *six = (const void *)&address;
	if (getsockname(visit->query.link.watch.fd, (struct sockaddr *)&address, &length) != 0)
		return false;
	if (address.ss_family == AF_INET &&
	    inet_ntop(AF_INET, &four->sin_addr, host, sizeof host) != NULL)
		snprintf(out, size, " addr=%s:%d ", host, ntohs(four->sin_port));
	else if (address.ss_family == AF_INET6 &&
	    inet_ntop(AF_INET6, &six->sin6_addr, host, sizeof host) != NULL)
		snprintf(out, size, " addr=[%s]:%d ", host, ntohs(six->sin6_port));
	else
		return false;
	return true;
}

/* Who stands between has a connection of its own to the server. */
static bool
take_client_info(void *context, const struct reply *reply)
{
	struct asking *asking = context;
	char own[INET6_ADDRSTRLEN + 24];
	const char *seen = reply->kind == REPLY_STRING ? strstr(reply->text, " addr=") : NULL;
	if (seen == NULL || !print_own_address(asking->visit, own, sizeof own) ||
	    strstr(reply->text, own) != NULL)
		return true;
	snprintf(asking->facts->seen_as, sizeof asking->facts->seen_as, "%.*s",
	    (int)strcspn(seen + 6, " "), seen + 6);
	return true;
}

/* What the second connection is shown, before the first has asked. */
static bool
take_second_run_id(void *context, const struct reply *reply)
{
	struct asking *asking = context;
	static struct check_facts other;
	memset(&other, 0, sizeof other);
	if (reply->kind == REPLY_STRING)
		check_facts_take_info(&other, reply->text, reply->length);
	memcpy(asking->facts->other_run_id, other.run_id, sizeof other.run_id);
	return true;
}

/* -- questions -------------------------------------------------------------------------------- */

static bool
ask(struct asking *asking, const char *const words[3],
    bool (*take)(void *context, const struct reply *reply))
{
	size_t count = 1;
	while (count < 3 && words[count] != NULL)
		count++;
	asking->sent_at = clock_now();
	asking->sent_us = wall_clock_us();
	return visit_command(asking->visit, count, words, take, asking);
}

static bool
ask_rounds(struct asking *asking)
{
	static const char *const time_words[3] = {"TIME"};
	struct instant end = instant_plus(clock_now(), ROUNDS_LIMIT);
	for (int i = 0; i < CHECK_ROUNDS && (i == 0 || !instant_reached(end, clock_now())); i++) {
		if (!ask(asking, time_words, take_round))
			return false;
	}
	check_facts_sort(asking->facts);
	return true;
}

/* One section after the other, one setting after the other: an answer has its limits, and several
 * at once are for Redis 7. */
static bool
ask_settings(struct asking *asking)
{
	static const char *const sections[] = {"server", "clients", "memory", "persistence",
	    "replication"};
	static const char *const names[] = {"save", "appendonly", "appendfsync", "maxmemory",
	    "maxmemory-policy", "min-replicas-to-write", "timeout", "maxclients"};
	asking->is_refused = false;
	for (size_t i = 0; i < sizeof sections / sizeof *sections && !asking->is_refused; i++) {
		const char *const words[3] = {"INFO", sections[i]};
		if (!ask(asking, words, take_info))
			return false;
	}
	asking->is_refused = false;
	for (size_t i = 0; i < sizeof names / sizeof *names && !asking->is_refused; i++) {
		const char *const words[3] = {"CONFIG", "GET", names[i]};
		if (!ask(asking, words, take_config))
			return false;
	}
	return true;
}

static bool
take_cluster(void *context, const struct reply *reply)
{
	struct asking *asking = context;
	struct check_facts *facts = asking->facts;
	if (reply->kind == REPLY_ERROR)
		return true;
	if (reply->kind != REPLY_ARRAY || reply->count != 5)
		return false;
	for (size_t i = 0; i < 3; i++) {
		if (reply->items[i]->kind != REPLY_INTEGER)
			return false;
	}
	facts->cluster_slots = reply->items[0]->integer;
	facts->cluster_masters = reply->items[1]->integer;
	facts->cluster_replicas = reply->items[2]->integer;
	return true;
}

/* A user may be refused the one or the other. */
static bool
ask_cluster(struct asking *asking)
{
	static const char *const words[3] = {"CLUSTER", "INFO"};
	const struct question question = {QUERY_CLUSTER, 0, 2, {"-1", "0"}};
	bool told_info = asking->facts->told[SOURCE_INFO];
	if (!asking->facts->is_cluster)
		return true;
	if (!ask(asking, words, take_info))
		return false;
	asking->facts->told[SOURCE_INFO] = told_info;
	return visit_ask(asking->visit, &question, take_cluster, asking);
}

static bool
ask_all(struct asking *asking)
{
	static const char *const hello[3] = {"HELLO", "2"};
	static const char *const client_info[3] = {"CLIENT", "INFO"};
	return ask_rounds(asking) && ask(asking, hello, take_hello) && ask_settings(asking) &&
	    ask(asking, client_info, take_client_info) && ask_cluster(asking) &&
	    check_trial_run(asking->visit, asking->second, &asking->keys, asking->facts);
}

/* A literal address, as a Unix socket, is looked up nowhere. */
static bool
is_named(const struct url *url)
{
	struct addresses unused;
	return url->scheme == URL_REDIS && !resolve_literal(url->host, url->port, &unused);
}

static void
note_arrival(struct check_facts *facts, const struct redis_query *query)
{
	facts->is_reached = true;
	if (query->link.place.port == 0 && is_named(query->link.url))
		facts->lookup_ns = instant_between(query->opening_at, query->link.connecting_at);
	facts->connect_ns = instant_between(query->link.connecting_at, query->opened_at);
	facts->login_ns = instant_between(query->opened_at, query->clock_at);
}

/* What the sentinels say that have led here. */
static void
note_sentinels(struct check_facts *facts, const struct view_settings *settings)
{
	if (settings->route == NULL || settings->url->scheme != URL_SENTINEL)
		return;
	const struct url_place *master = &settings->route->place;
	url_print_place(master, facts->master, sizeof facts->master);
	facts->sentinels = (int64_t)settings->url->place_count;
	for (size_t i = 0; i < settings->url->place_count; i++) {
		struct problem unused;
		const struct sentinel_view *view = sentinel_route_view(settings->route, i, &unused);
		if (view == NULL || !sentinel_same_place(&view->master, master))
			continue;
		facts->agreeing++;
		if (view->others + 1 > facts->known_sentinels)
			facts->known_sentinels = view->others + 1;
		facts->quorum = view->quorum;
		facts->listed_replicas = view->listed;
		if (facts->agreeing == 1 || view->alive < facts->alive_replicas)
			facts->alive_replicas = view->alive;
	}
}

/* In a cluster all is asked of the node that has the lock that is tried. */
static bool
begin(struct visit *visit, const struct view_settings *settings, const struct keys *keys)
{
	bool is_there = visit_begin(visit, settings);
	visit->query.takes_errors = true;
	return is_there && visit_settle(visit, keys->lock);
}

/* Another connection: is it to the same server? */
static bool
open_second(struct asking *asking, const struct view_settings *settings)
{
	static const char *const words[] = {"INFO", "server"};
	return begin(asking->second, settings, &asking->keys) &&
	    visit_command(asking->second, 2, words, take_second_run_id, asking);
}

void
check_ask(struct check_facts *facts, const struct view_settings *settings)
{
	static struct visit visit, second;
	struct asking asking = {.visit = &visit, .second = &second, .facts = facts};
	struct visit *failed = NULL;
	facts->is_cluster = settings->url->scheme == URL_CLUSTER;
	if (!check_trial_make_keys(&asking.keys, settings->prefix, &facts->problem)) {
		facts->failure = OUTCOME_UNKNOWN; /* not reached: the prefix has been tried */
		return;
	}
	if (!begin(&visit, settings, &asking.keys)) {
		failed = &visit;
	} else {
		note_arrival(facts, &visit.query);
		if (!open_second(&asking, settings))
			failed = &second;
		else if (!ask_all(&asking))
			failed = &visit;
		note_sentinels(facts, settings);
		visit_end(&second);
	}
	if (failed != NULL) {
		facts->failure = failed->outcome;
		facts->problem = failed->problem;
	}
	visit_end(&visit);
}
