/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "view/check_party.h"

#include <errno.h>
#include <stdio.h>

/* A message that has not come by then does not come. */
#define MESSAGE_LIMIT NS_PER_S

static void
on_answered(void *context, const struct store_answer *answer)
{
	struct party *party = context;
	party->answer = *answer;
	party->is_answered = true;
}

static void
on_disturbed(void *context, struct instant now)
{
	(void)context;
	(void)now;
}

static void
on_woken(void *context, enum wake wake, int64_t left_ns, struct instant now)
{
	struct party *party = context;
	(void)left_ns;
	if (wake == WAKE_GRANTED)
		party->granted_at = now;
	else if (wake == WAKE_CHANGED)
		party->changed_at = now;
	else if (wake == WAKE_LISTENS)
		party->listens_at = now;
}

static void
on_limit(void *context, struct instant now)
{
	struct party *party = context;
	(void)now;
	party->is_late = true;
}

void
check_party_set_mode(struct party *party, const char *mode)
{
	static struct identity identity;
	identity_gather(&identity, "dlock", "");
	snprintf(party->mode, sizeof party->mode, "%s", mode);
	snprintf(identity.mode, sizeof identity.mode, "%s", mode);
	identity_write(&identity, party->record);
}

bool
check_party_open(struct party *party, const struct view_settings *settings, const struct keys *keys)
{
	static const struct store_events events = {
	    .answered = on_answered,
	    .disturbed = on_disturbed,
	    .woken = on_woken,
	};
	identity_make_token(party->token);
	check_party_set_mode(party, "exclusive");
	party->loop = settings->loop;
	party->limit = (struct timer){.due = on_limit, .context = party};
	party->settings = (struct redis_settings){
	    .url = settings->url,
	    .route = settings->route,
	    .secret = settings->secret,
	    .server = settings->server,
	    .keys = keys,
	    .token = party->token,
	    .record = party->record,
	    .mode = party->mode,
	    .max_waiters = -1,
	    .fence_mode = FENCE_CLOCK,
	};
	party->granted_at = party->changed_at = party->listens_at = INSTANT_NEVER;
	party->store = redis_store_new(settings->loop, &party->settings);
	if (party->store == NULL)
		return false;
	party->store->events = &events;
	party->store->context = party;
	return true;
}

void
check_party_close(struct party *party)
{
	redis_store_free(party->store);
	party->store = NULL;
}

enum outcome
check_party_request(struct party *party, const struct view_settings *settings, enum store_verb verb,
    bool wait, bool follow)
{
	const struct store_request request = {
	    .verb = verb,
	    .connect_limit_ns = settings->connect_limit_ns,
	    .answer_limit_ns = settings->answer_limit_ns,
	    .not_later = INSTANT_NEVER,
	    .ttl_ns = PARTY_TTL,
	    .wait = wait,
	    .ticket = wait ? party->answer.place.ticket : 0,
	    .follow = follow,
	};
	party->is_answered = false;
	party->store->operations->start(party->store, &request);
	while (!party->is_answered) {
		if (loop_run_once(party->loop) == 0)
			continue;
		party->answer = (struct store_answer){.outcome = OUTCOME_UNKNOWN};
		problem_set_errno(&party->answer.problem, "cannot wait", errno);
		party->answer.problem.is_system = true;
		break;
	}
	return party->answer.outcome;
}

bool
check_party_wait(struct party *party, const struct instant *when)
{
	party->is_late = false;
	loop_set_timer(party->loop, &party->limit, instant_plus(clock_now(), MESSAGE_LIMIT));
	while (when->ns == INSTANT_NEVER.ns && !party->is_late) {
		if (loop_run_once(party->loop) != 0)
			break;
	}
	loop_stop_timer(party->loop, &party->limit);
	return when->ns != INSTANT_NEVER.ns;
}
