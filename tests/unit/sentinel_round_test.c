/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* store/sentinel_round: as of when what sentinels say is, and whose word is too little. They are
 * not asked: what they have said is put into their places. */
#include <string.h>

#include "store/routes.h"
#include "store/sentinel_parts.h"

#include "tap.h"

static size_t found_count;

static void
on_found(void *context, const struct url_place *place)
{
	(void)context, (void)place;
	found_count++;
}

static void
on_failed(void *context, enum outcome outcome, const struct problem *why)
{
	(void)context, (void)outcome, (void)why;
}

/* Has said, to a question of that time, that the master is a, and two of so many replicas alive. */
static void
say(struct sentinel_member *member, struct instant asked_at, int64_t listed)
{
	member->phase = MEMBER_IDLE;
	member->asked_at = asked_at;
	member->view = (struct sentinel_view){.knows = true, .alive = 2, .listed = listed};
	member->view.master = (struct url_place){.host = "a", .port = 1};
}

/* What is concluded when so many of three have said that they were asked so long before the round.
 */
static void
conclude(struct sentinel_route *sentinel, const int64_t *before_ms, size_t count, int64_t listed)
{
	struct instant now = clock_now();
	for (size_t i = 0; i < sentinel->count; i++) {
		sentinel->members[i].phase = MEMBER_ASKED;
		if (i < count)
			say(&sentinel->members[i], instant_plus(now, -before_ms[i] * NS_PER_MS),
			    listed);
	}
	memset(sentinel->given_at, 0, sizeof sentinel->given_at); /* its pace is no matter here */
	sentinel->asking = true;
	sentinel->round_at = now;
	/* The timer's, when no patience is left. */
	sentinel_on_due(sentinel, instant_plus(now, 2 * NS_PER_S));
}

static void
test_age(struct sentinel_route *sentinel)
{
	static const int64_t fresh[] = {0, 0, 0}, late[] = {0, 400, 0};
	tap_case("what all say to questions of the round is as of the round");
	conclude(sentinel, fresh, 3, 2);
	CHECK_INT(instant_between(sentinel->chosen_at, sentinel->round_at), 0);
	tap_case("with a late answer to a question of before it is as of then");
	conclude(sentinel, late, 2, 2);
	CHECK_INT(instant_between(sentinel->chosen_at, sentinel->round_at), 400 * NS_PER_MS);

	struct route_asker asker = {.found = on_found, .failed = on_failed};
	tap_case("who asks for what is no older is not content with it");
	asker.not_older = sentinel->round_at;
	route_find(&sentinel->route, &asker);
	conclude(sentinel, late, 2, 2);
	asker.not_older = sentinel->round_at;
	sentinel_proceed(sentinel, sentinel->round_at);
	CHECK_INT((int64_t)found_count, 0);
	tap_case("but with an answer of the round");
	asker.not_older = clock_now();
	conclude(sentinel, fresh, 2, 2);
	sentinel_proceed(sentinel, instant_plus(sentinel->round_at, NS_PER_MS));
	CHECK_INT((int64_t)found_count, 1);
	route_cancel(&sentinel->route, &asker);
}

static void
test_cut_off(struct sentinel_route *sentinel)
{
	static const int64_t fresh[] = {0, 0, 0};
	static const struct {
		const char *what;
		size_t said;
		int64_t listed;
		bool is_cut_off;
	} rows[] = {
	    {"one of three that misses a replica may be cut off", 1, 3, true},
	    {"two of three are not", 2, 3, false},
	    {"one of three that misses none is not", 1, 2, false},
	};
	struct route_asker asker = {.found = on_found, .failed = on_failed};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		tap_case("%s", rows[i].what);
		route_find(&sentinel->route, &asker);
		conclude(sentinel, fresh, rows[i].said, rows[i].listed);
		sentinel_proceed(sentinel, instant_plus(sentinel->round_at, NS_PER_MS));
		CHECK(!asker.finding);
		CHECK_INT(sentinel->route.is_cut_off, rows[i].is_cut_off);
	}
	route_cancel(&sentinel->route, &asker);
}

static void
test_agreement(struct sentinel_route *sentinel)
{
	static const struct {
		const char *what;
		size_t said;
		int64_t listed;
		bool waits;
	} rows[] = {
	    {"two of three that miss no replica are not kept waiting", 2, 2, false},
	    {"where they miss one the third is waited for: it may be making that one the master", 2,
		3, true},
	    {"and not when all have said it", 3, 3, false},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		tap_case("%s", rows[i].what);
		for (size_t k = 0; k < sentinel->count; k++) {
			sentinel->members[k].phase = MEMBER_ASKED;
			if (k < rows[i].said)
				say(&sentinel->members[k], clock_now(), rows[i].listed);
		}
		sentinel->asking = true;
		sentinel->has_heard = false;
		sentinel->round_at = clock_now();
		sentinel_on_said(sentinel, true);
		CHECK_INT(sentinel->asking, rows[i].waits);
	}
}

int
main(void)
{
	struct loop loop;
	struct url url;
	struct problem why;
	if (loop_open(&loop) < 0 ||
	    !url_parse(&url, "redis+sentinel://a,b,c/main", URL_REFUSE_UNKNOWN_KEYS, &why))
		return 1;
	const struct sentinel_settings settings = {.url = &url, .limit_ns = NS_PER_S};
	struct route *route = sentinel_route_new(&loop, &settings);
	if (route == NULL)
		return 1;
	test_age((struct sentinel_route *)route);
	test_cut_off((struct sentinel_route *)route);
	test_agreement((struct sentinel_route *)route);
	route_free(route);
	loop_close(&loop);
	return tap_end();
}
