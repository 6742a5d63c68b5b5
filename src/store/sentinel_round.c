/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Rounds of questions to the sentinels, and what is given out of what they say. */
#include <string.h>

#include "base/message.h"
#include "store/sentinel_parts.h"

_Static_assert(sizeof(((struct route *)NULL)->old_id) == SENTINEL_ID, "an id fits");

/* What was found is good for another asker for so long. */
#define FRESH NS_PER_S
/* Between two rounds of questions, and between two places on the average. */
#define PACE (200 * NS_PER_MS)
/* After the first answer to those who disagree with it, or say nothing. */
#define PATIENCE (150 * NS_PER_MS)
/* The same, from the questions on, where those who have answered are too few to be relied on. */
#define LONG_PATIENCE NS_PER_S
/* A place that was of no use comes last for so long. */
#define SHUNNED_FOR (2 * NS_PER_S)

static void
plan(struct sentinel_route *sentinel, struct instant at)
{
	loop_set_timer(sentinel->loop, &sentinel->due, at);
}

/* -- who asks --------------------------------------------------------------------------------- */

static bool
has_finder(const struct sentinel_route *sentinel)
{
	for (const struct route_asker *asker = sentinel->askers; asker; asker = asker->next) {
		if (asker->finding)
			return true;
	}
	return false;
}

/* One that what was found in that round will do for; NULL: none. */
static struct route_asker *
next_finder(const struct sentinel_route *sentinel)
{
	for (struct route_asker *asker = sentinel->askers; asker; asker = asker->next) {
		if (asker->finding && asker->not_older.ns <= sentinel->chosen_at.ns)
			return asker;
	}
	return NULL;
}

static void
fail_finders(struct sentinel_route *sentinel, enum outcome outcome, const struct problem *why)
{
	for (struct route_asker *asker = sentinel->askers; asker; asker = asker->next) {
		/* What was known before will do for who has no wish for what is newer. */
		asker->tells = asker->finding && (!sentinel->is_stale || asker->not_older.ns > 0);
		if (asker->tells)
			asker->finding = false;
	}
	for (struct route_asker *asker = sentinel->askers; asker;) {
		bool tells = asker->tells;
		asker->tells = false;
		if (tells)
			asker->failed(asker->context, outcome, why);
		asker = tells ? sentinel->askers : asker->next; /* the list may be another now */
	}
}

/* -- what was found --------------------------------------------------------------------------- */

/* May others, out of sight, have made another server the master? They would be the greater part of
 * the sentinels, and have a replica. */
static bool
may_be_cut_off(const struct sentinel_route *sentinel, const struct sentinel_choice *choice)
{
	return choice->away > 0 && 2 * choice->votes <= sentinel->count;
}

static void
note_choice(struct sentinel_route *sentinel, const struct sentinel_choice *choice)
{
	sentinel->route.place = choice->master;
	if (sentinel->is_stale)
		return;
	sentinel->route.replicas = choice->alive;
	sentinel->route.replicas_less_one = choice->alive_less_one;
	memcpy(sentinel->route.old_id, choice->claimant_id, sizeof sentinel->route.old_id);
	sentinel->route.is_failing_over = choice->is_failing_over;
	sentinel->route.is_cut_off = may_be_cut_off(sentinel, choice);
	sentinel->route.asked_at = sentinel->chosen_at;
}

static bool
is_fresh(const struct sentinel_route *sentinel, struct instant now)
{
	return sentinel->choice_next < sentinel->choice_count &&
	    instant_between(sentinel->chosen_at, now) < FRESH && next_finder(sentinel) != NULL;
}

static void
give_place(struct sentinel_route *sentinel, struct instant now)
{
	const struct sentinel_choice *choice = &sentinel->choices[sentinel->choice_next];
	if (!sentinel_same_place(&choice->master, &sentinel->route.place)) {
		char text[URL_PLACE_TEXT];
		url_print_place(&choice->master, text, sizeof text);
		message_verbose("the sentinels name %s as the master of '%s'", text,
		    sentinel->settings.url->service);
	}
	note_choice(sentinel, choice);
	sentinel->given_at[0] = sentinel->given_at[1];
	sentinel->given_at[1] = now;
	for (struct route_asker *asker; (asker = next_finder(sentinel)) != NULL;) {
		struct url_place place = sentinel->route.place;
		asker->finding = false;
		asker->found(asker->context, &place);
	}
}

static void
tell_moved(struct sentinel_route *sentinel, struct instant now)
{
	for (struct route_asker *asker = sentinel->askers; asker; asker = asker->next)
		asker->tells = asker->moved != NULL && !asker->finding;
	for (struct route_asker *asker = sentinel->askers; asker;) {
		if (!asker->tells) {
			asker = asker->next;
			continue;
		}
		asker->tells = false;
		asker->moved(asker->context, now);
		asker = sentinel->askers;
	}
}

/* -- rounds ----------------------------------------------------------------------------------- */

/* A place that has just failed is not tried before others. */
static void
put_shunned_last(struct sentinel_route *sentinel, struct instant now)
{
	struct sentinel_choice *choices = sentinel->choices;
	if (instant_between(sentinel->shunned_at, now) >= SHUNNED_FOR)
		return;
	for (size_t i = 0; i + 1 < sentinel->choice_count; i++) {
		if (!sentinel_same_place(&choices[i].master, &sentinel->shunned))
			continue;
		struct sentinel_choice last = choices[i];
		memmove(&choices[i], &choices[i + 1],
		    (sentinel->choice_count - i - 1) * sizeof *choices);
		choices[sentinel->choice_count - 1] = last;
		return;
	}
}

/* Those who said something in this round, or are not asked again before they have answered. */
static size_t
gather(const struct sentinel_route *sentinel, const struct sentinel_view **views)
{
	size_t count = 0;
	for (size_t i = 0; i < sentinel->count; i++) {
		const struct sentinel_member *member = &sentinel->members[i];
		if (member->view.knows && member->phase == MEMBER_IDLE)
			views[count++] = &member->view;
	}
	return count;
}

/* When those who are weighed were asked: one that is slow answers a question of the round before.
 */
static struct instant
oldest_question(const struct sentinel_route *sentinel)
{
	struct instant oldest = sentinel->round_at;
	for (size_t i = 0; i < sentinel->count; i++) {
		const struct sentinel_member *member = &sentinel->members[i];
		if (member->view.knows && member->phase == MEMBER_IDLE &&
		    member->asked_at.ns < oldest.ns)
			oldest = member->asked_at;
	}
	return oldest;
}

size_t
sentinel_count_asked(const struct sentinel_route *sentinel)
{
	size_t count = 0;
	for (size_t i = 0; i < sentinel->count; i++)
		count += sentinel_member_is_asked(&sentinel->members[i]);
	return count;
}

/* No sentinel has named a master: what is said of it. The worst news is what somebody has to see
 * to. */
void
sentinel_explain(const struct sentinel_route *sentinel, enum outcome *outcome, struct problem *why)
{
	const struct sentinel_member *worst = &sentinel->members[0];
	char place[URL_PLACE_TEXT];
	for (size_t i = 1; i < sentinel->count; i++) {
		const struct sentinel_member *member = &sentinel->members[i];
		bool worse = member->outcome == OUTCOME_DENIED ||
		    (member->outcome == OUTCOME_REFUSED && worst->outcome != OUTCOME_DENIED);
		if (worse && member->outcome != worst->outcome)
			worst = member;
	}
	url_print_place(&worst->link.place, place, sizeof place);
	*outcome = worst->outcome;
	*why = worst->problem;
	problem_set(why, "no sentinel names a master: %.128s: %.300s%s", place, worst->problem.text,
	    sentinel->count > 1 ? ", and the others no better" : "");
	why->is_denied = worst->problem.is_denied;
	why->is_setting = worst->problem.is_setting;
}

static void
conclude(struct sentinel_route *sentinel, struct instant now)
{
	const struct sentinel_view *views[URL_MAX_PLACES];
	sentinel->asking = false;
	sentinel->chosen_at = oldest_question(sentinel);
	sentinel->choice_next = 0;
	sentinel->choice_count = sentinel_choose(views, gather(sentinel, views), sentinel->choices,
	    sizeof sentinel->choices / sizeof *sentinel->choices);
	put_shunned_last(sentinel, now);
	bool checks = sentinel->wants_check;
	/* What came in the middle of the round may be news to those who had answered. */
	sentinel->wants_check = sentinel->switched_at.ns > sentinel->round_at.ns;
	sentinel->is_stale = sentinel->choice_count == 0 && sentinel->route.place.port != 0;
	plan(sentinel, now);
	if (sentinel->choice_count == 0) {
		enum outcome outcome;
		struct problem why;
		sentinel_explain(sentinel, &outcome, &why);
		if (sentinel->is_stale) {
			sentinel->choices[0].master = sentinel->route.place;
			sentinel->choice_count = 1;
		}
		fail_finders(sentinel, outcome, &why);
		return;
	}
	if (checks && sentinel->route.place.port != 0 &&
	    !sentinel_same_place(&sentinel->choices[0].master, &sentinel->route.place))
		tell_moved(sentinel, now);
}

/* Do more than half of all say the same? Then the others need not be waited for; but for one that
 * may know better of an old master that has become a replica, and where they miss a replica, if
 * only because their connections to it were just cut: the one that has not spoken yet may be making
 * it the master, and would say so. */
static bool
is_agreed(const struct sentinel_route *sentinel)
{
	const struct sentinel_view *views[URL_MAX_PLACES];
	struct sentinel_choice choices[URL_MAX_PLACES];
	size_t answers = gather(sentinel, views);
	for (size_t i = 0; i < answers; i++) {
		if (views[i]->claimants > 0)
			return false;
	}
	size_t count = sentinel_choose(views, answers, choices, URL_MAX_PLACES);
	return count == 1 && choices[0].away == 0 && 2 * choices[0].votes > sentinel->count;
}

static void
begin_round(struct sentinel_route *sentinel, struct instant now)
{
	sentinel->asking = true;
	sentinel->has_heard = false;
	sentinel->round_at = now;
	loop_stop_timer(sentinel->loop, &sentinel->due);
	for (size_t i = 0; i < sentinel->count; i++)
		sentinel_member_ask(&sentinel->members[i], sentinel->settings.limit_ns);
}

/* What is to be done, and when. */
void
sentinel_proceed(struct sentinel_route *sentinel, struct instant now)
{
	if (sentinel->asking || (!has_finder(sentinel) && !sentinel->wants_check))
		return;
	bool fresh = is_fresh(sentinel, now) && !sentinel->wants_check;
	struct instant next = instant_plus(fresh ? sentinel->given_at[0] : sentinel->round_at,
	    fresh ? 2 * PACE : PACE);
	if (next.ns > now.ns)
		plan(sentinel, next);
	else if (fresh)
		give_place(sentinel, now);
	else
		begin_round(sentinel, now);
}

/* Do those who have answered need the others, who may be far away? */
static bool
are_too_few(const struct sentinel_route *sentinel)
{
	const struct sentinel_view *views[URL_MAX_PLACES];
	struct sentinel_choice choices[URL_MAX_PLACES];
	return sentinel_choose(views, gather(sentinel, views), choices, URL_MAX_PLACES) > 0 &&
	    may_be_cut_off(sentinel, &choices[0]);
}

void
sentinel_on_due(void *context, struct instant now)
{
	struct sentinel_route *sentinel = context;
	struct instant last = instant_plus(sentinel->round_at, LONG_PATIENCE);
	if (!sentinel->asking)
		sentinel_proceed(sentinel, now);
	else if (!instant_reached(last, now) && are_too_few(sentinel))
		plan(sentinel, last);
	else
		conclude(sentinel, now); /* patience is over */
}

void
sentinel_on_said(struct sentinel_route *sentinel, bool answered)
{
	struct instant now = clock_now();
	if (!sentinel->asking)
		return;
	if (sentinel_count_asked(sentinel) == 0 ||
	    (answered && !sentinel->wants_check && is_agreed(sentinel))) {
		conclude(sentinel, now);
	} else if (answered && !sentinel->has_heard) {
		sentinel->has_heard = true;
		plan(sentinel, instant_plus(now, PATIENCE));
	}
}
