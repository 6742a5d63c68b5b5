/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "store/cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/message.h"
#include "lua_scripts.h"
#include "store/cluster_map.h"
#include "store/cluster_redirect.h"
#include "store/cluster_slot.h"

/* Redirections that are followed at once, and how long it takes until there may be one more: with a
 * login each costs three or four commands, and a server shall have no more than 20 a second. */
#define TURNS_MOST 2
#define TURN_PERIOD (600 * NS_PER_MS)
/* Half of a slot's keys are elsewhere: that takes a moment. */
#define LATER_PAUSE (50 * NS_PER_MS)
/* What is known of other nodes grows old. */
#define KNOWN_FOR (60 * NS_PER_S)

struct cluster_route {
	struct route route; /* first: a route is converted back */
	struct loop *loop;
	struct cluster_map map;
	int slot; /* -1: of no key */
	struct route_asker *asker_list;
	struct timer soon; /* answers those who are finding */
	struct instant not_before;
	unsigned int turns; /* that may be made at once */
	struct instant turns_at;
	struct instant learnt_at;
	struct problem problem;       /* why no place has been found */
	struct problem owner_problem; /* why the owner is doubted */
	struct url_place invited;     /* who the slot is moving to, as was said last */
};

static struct cluster_route *
from_route(struct route *route)
{
	return (struct cluster_route *)route;
}

/* -- finding ---------------------------------------------------------------------------------- */

static void
on_soon(void *context, struct instant now)
{
	struct cluster_route *cluster = context;
	(void)now;
	cluster_map_next(&cluster->map, &cluster->route.place);
	cluster->problem.text[0] = '\0';
	for (struct route_asker *asker = cluster->asker_list; asker != NULL; asker = asker->next) {
		if (!asker->finding)
			continue;
		asker->finding = false;
		asker->found(asker->context, &cluster->route.place);
		/* One at a time: it may have changed the list, and each has a place of its own. */
		break;
	}
	for (struct route_asker *asker = cluster->asker_list; asker != NULL; asker = asker->next) {
		if (asker->finding && !cluster->soon.linked)
			loop_set_timer(cluster->loop, &cluster->soon, clock_now());
	}
}

static void
cluster_find(struct route *route, struct route_asker *asker)
{
	struct cluster_route *cluster = from_route(route);
	struct instant now = clock_now();
	if (!asker->linked) {
		asker->next = cluster->asker_list;
		asker->linked = true;
		cluster->asker_list = asker;
	}
	asker->finding = true;
	loop_set_timer(cluster->loop, &cluster->soon,
	    cluster->not_before.ns > now.ns ? cluster->not_before : now);
}

static void
cluster_cancel(struct route *route, struct route_asker *asker)
{
	struct cluster_route *cluster = from_route(route);
	struct route_asker **at = &cluster->asker_list;
	while (*at != NULL && *at != asker)
		at = &(*at)->next;
	if (*at != NULL)
		*at = asker->next;
	asker->linked = asker->finding = false;
}

static void
cluster_fail(struct route *route, const struct problem *why)
{
	struct cluster_route *cluster = from_route(route);
	char owner[URL_PLACE_TEXT];
	cluster->problem = *why;
	cluster_map_fail(&cluster->map, &route->place);
	if (!cluster->map.is_doubted || !cluster_map_same(&cluster->map.owner, &route->place))
		return;
	url_print_place(&route->place, owner, sizeof owner);
	cluster->owner_problem = *why;
	problem_set(&cluster->owner_problem, "slot %d is at %.128s, as the cluster says: %.200s",
	    cluster->slot, owner, cluster->problem.text);
}

static void
cluster_explain_delay(const struct route *route, struct problem *why)
{
	const struct cluster_route *cluster = (const struct cluster_route *)route;
	if (cluster->owner_problem.text[0] != '\0')
		*why = cluster->owner_problem;
	else if (cluster->problem.text[0] != '\0')
		*why = cluster->problem;
	else
		problem_set(why, "no node of the cluster in time");
}

/* -- redirections ----------------------------------------------------------------------------- */

/* One more redirection is followed: at once, or when it is time. */
static void
take_turn(struct cluster_route *cluster, int64_t pause_ns)
{
	struct instant now = clock_now();
	int64_t passed = instant_between(cluster->turns_at, now) / TURN_PERIOD;
	if (passed >= TURNS_MOST - (int64_t)cluster->turns) {
		cluster->turns = TURNS_MOST;
		cluster->turns_at = now;
	} else {
		cluster->turns += (unsigned int)passed;
		cluster->turns_at = instant_plus(cluster->turns_at, passed * TURN_PERIOD);
	}
	cluster->not_before = instant_plus(now, pause_ns);
	if (cluster->turns > 0)
		cluster->turns--;
	else
		cluster->not_before = instant_plus(cluster->turns_at, TURN_PERIOD);
}

/* A node that does not say its host means the one by which it was reached. */
static void
complete(const struct cluster_route *cluster, struct url_place *place)
{
	if (place->host[0] == '\0')
		memcpy(place->host, cluster->route.place.host, sizeof place->host);
}

/* Where it goes, and, should it go on like that, why it does not come to an end. Who is not invited
 * any more is sent back from where the slot is moving to: that it is remains the reason. */
static void
note_turn(struct cluster_route *cluster, bool is_moving, const struct url_place *place)
{
	bool is_sent_back =
	    !is_moving && cluster_map_same(&cluster->route.place, &cluster->invited);
	char from[URL_PLACE_TEXT], to[URL_PLACE_TEXT];
	url_print_place(&cluster->route.place, from, sizeof from);
	url_print_place(place, to, sizeof to);
	message_debug("%s says that slot %d is %s %s", from, cluster->slot,
	    is_moving ? "moving to" : "at", to);
	if (is_moving || is_sent_back)
		problem_set(&cluster->problem, "slot %d is moving to %.128s", cluster->slot,
		    is_moving ? to : from);
	else
		problem_set(&cluster->problem,
		    "the nodes send who asks for slot %d to and fro, last to %.128s", cluster->slot,
		    to);
	cluster->problem.is_passing = true;
}

static enum route_turn
cluster_redirect(struct route *route, const char *error)
{
	struct cluster_route *cluster = from_route(route);
	struct url_place place;
	switch (cluster_redirect_read(error, cluster->slot, &place, &cluster->problem)) {
	case REDIRECT_NONE:
		return ROUTE_STAY;
	case REDIRECT_DOWN:
	case REDIRECT_BROKEN:
		/* Another node may know better, at the next try. */
		cluster_map_fail(&cluster->map, &route->place);
		return ROUTE_STAY;
	case REDIRECT_MOVED:
		complete(cluster, &place);
		note_turn(cluster, false, &place);
		if (cluster_map_same(&place, &cluster->invited))
			cluster->invited.port = 0; /* it has arrived */
		if (!cluster_map_same(&place, &cluster->map.owner))
			cluster->owner_problem.text[0] = '\0';
		cluster_map_move(&cluster->map, &place);
		take_turn(cluster, 0);
		return ROUTE_AGAIN;
	case REDIRECT_ASK:
		complete(cluster, &place);
		note_turn(cluster, true, &place);
		cluster->invited = place;
		cluster_map_invite(&cluster->map, &place);
		take_turn(cluster, 0);
		return ROUTE_ASK;
	case REDIRECT_LATER:
		problem_set(&cluster->problem,
		    "slot %d is on its way to another node, with half of its keys (TRYAGAIN)",
		    cluster->slot);
		cluster->problem.is_passing = true;
		take_turn(cluster, LATER_PAUSE);
		return ROUTE_LATER;
	}
	return ROUTE_STAY;
}

/* -- other nodes ------------------------------------------------------------------------------ */

static bool
cluster_ask(struct route *route, bool is_renewal, struct link *link)
{
	struct cluster_route *cluster = from_route(route);
	char slot[16];
	const char *const words[] = {"EVAL", lua_cluster, "0", slot, "0"};
	struct instant now = clock_now();
	/* Who knows several nodes does not need more until it is a holder for a while. */
	bool is_new = cluster->learnt_at.ns == INSTANT_NEVER.ns;
	if (!is_renewal && (!is_new || cluster->map.seed_count > 1))
		return false;
	if (!is_new && instant_between(cluster->learnt_at, now) < KNOWN_FOR)
		return false;
	snprintf(slot, sizeof slot, "%d", cluster->slot);
	link_append(link, sizeof words / sizeof *words, words);
	return true;
}

static void
cluster_learn(struct route *route, const struct reply *reply)
{
	struct cluster_route *cluster = from_route(route);
	/* Where it is refused it is not asked again and again. */
	cluster->learnt_at = clock_now();
	if (reply->kind == REPLY_ARRAY && reply->count == 5 &&
	    reply->items[4]->kind == REPLY_STRING)
		cluster_map_learn(&cluster->map, reply->items[4]->text, reply->items[4]->length,
		    &route->place);
}

/* -- the route -------------------------------------------------------------------------------- */

/* There is nothing between two questions that it would let go of. */
static void
cluster_rest(struct route *route)
{
	(void)route;
}

static void
cluster_close(struct route *route)
{
	loop_stop_timer(from_route(route)->loop, &from_route(route)->soon);
}

static void
cluster_forget(struct route *route)
{
	(void)route;
}

static void
cluster_free(struct route *route)
{
	cluster_close(route);
	free(route);
}

void
cluster_aim(struct route *route, const char *key)
{
	struct cluster_route *cluster = from_route(route);
	int slot = key != NULL ? cluster_slot(key) : -1;
	if (slot != cluster->slot) {
		cluster_map_forget_owner(&cluster->map);
		cluster->invited = (struct url_place){.port = 0};
	}
	cluster->slot = slot;
}

void
cluster_aim_at(struct route *route, const struct url_place *place)
{
	cluster_map_move(&from_route(route)->map, place);
}

struct route *
cluster_route_new(struct loop *loop, const struct url *url, const char *key)
{
	static const struct route_operations operations = {
	    .find = cluster_find,
	    .cancel = cluster_cancel,
	    .fail = cluster_fail,
	    .redirect = cluster_redirect,
	    .ask = cluster_ask,
	    .learn = cluster_learn,
	    .explain_delay = cluster_explain_delay,
	    .rest = cluster_rest,
	    .close = cluster_close,
	    .forget = cluster_forget,
	    .free = cluster_free,
	};
	struct cluster_route *cluster = calloc(1, sizeof *cluster);
	if (cluster == NULL)
		return NULL;
	cluster->route.operations = &operations;
	cluster->route.replicas = -1;
	cluster->loop = loop;
	cluster->slot = -1;
	cluster->soon = (struct timer){.due = on_soon, .context = cluster};
	cluster->turns = TURNS_MOST;
	cluster->turns_at = clock_now();
	cluster->not_before = clock_now();
	cluster->learnt_at = INSTANT_NEVER;
	cluster_map_init(&cluster->map, url->places, url->place_count);
	cluster_aim(&cluster->route, key);
	return &cluster->route;
}
