/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "store/sentinel.h"

#include <stdlib.h>
#include <string.h>

#include "base/message.h"
#include "store/sentinel_parts.h"

static struct sentinel_route *
from_route(struct route *route)
{
	return (struct sentinel_route *)route;
}

/* -- what members say ------------------------------------------------------------------------- */

static void
on_member_answered(void *context, struct sentinel_member *member)
{
	struct sentinel_route *sentinel = context;
	/* It was away: what it would have told in the meantime nobody knows. */
	if (!sentinel->asking && member->view.knows && sentinel->route.place.port != 0 &&
	    !sentinel_same_place(&member->view.master, &sentinel->route.place)) {
		sentinel->wants_check = true;
		loop_set_timer(sentinel->loop, &sentinel->due, clock_now());
	}
	sentinel_on_said(sentinel, member->view.knows);
}

static void
on_member_failed(void *context, struct sentinel_member *member)
{
	(void)member;
	sentinel_on_said(context, false);
}

static void
on_switched(void *context, const struct url_place *place)
{
	struct sentinel_route *sentinel = context;
	if (sentinel_same_place(place, &sentinel->route.place))
		return;
	sentinel->switched_at = clock_now();
	sentinel->wants_check = true;
	sentinel_proceed(sentinel, sentinel->switched_at);
}

/* -- the password ----------------------------------------------------------------------------- */

static void
on_told(void *context, const char *secret, const struct problem *why)
{
	struct sentinel_route *sentinel = context;
	struct problem copy = {.text = ""};
	if (secret == NULL)
		copy = *why;
	for (size_t i = 0; i < sentinel->count; i++) {
		if (secret != NULL)
			sentinel_member_send(&sentinel->members[i], secret);
		else
			sentinel_member_give_up(&sentinel->members[i], OUTCOME_REFUSED, &copy);
	}
	sentinel->password_asked = false;
	sentinel->settings.secret->operations->cancel(sentinel->settings.secret);
}

static void
on_member_opened(void *context, struct sentinel_member *member)
{
	struct sentinel_route *sentinel = context;
	(void)member;
	if (sentinel->password_asked)
		return; /* it will do for this one as well */
	sentinel->password_asked = true;
	sentinel->settings.secret->told = on_told;
	sentinel->settings.secret->context = sentinel;
	sentinel->settings.secret->operations->ask(sentinel->settings.secret);
}

static void
stop_asking_password(struct sentinel_route *sentinel)
{
	if (sentinel->password_asked)
		sentinel->settings.secret->operations->cancel(sentinel->settings.secret);
	sentinel->password_asked = false;
}

/* -- the route -------------------------------------------------------------------------------- */

static void
sentinel_find(struct route *route, struct route_asker *asker)
{
	struct sentinel_route *sentinel = from_route(route);
	if (!asker->linked) {
		asker->next = sentinel->askers;
		sentinel->askers = asker;
		asker->linked = true;
	}
	asker->finding = true;
	if (!sentinel->asking)
		loop_set_timer(sentinel->loop, &sentinel->due, clock_now());
}

static void
sentinel_cancel(struct route *route, struct route_asker *asker)
{
	struct sentinel_route *sentinel = from_route(route);
	asker->finding = false;
	for (struct route_asker **at = &sentinel->askers; *at != NULL; at = &(*at)->next) {
		if (*at == asker) {
			*at = asker->next;
			asker->linked = false;
			return;
		}
	}
}

static void
sentinel_fail(struct route *route, const struct problem *why)
{
	struct sentinel_route *sentinel = from_route(route);
	char place[URL_PLACE_TEXT];
	if (route->place.port == 0)
		return;
	url_print_place(&route->place, place, sizeof place);
	message_debug("the master that the sentinels name, %s, is of no use: %s", place, why->text);
	sentinel->shunned = route->place;
	sentinel->shunned_at = clock_now();
	if (sentinel->choice_next < sentinel->choice_count &&
	    sentinel_same_place(&sentinel->choices[sentinel->choice_next].master, &route->place))
		sentinel->choice_next++;
}

static enum route_turn
sentinel_redirect(struct route *route, const char *error)
{
	(void)route, (void)error;
	return ROUTE_STAY; /* READONLY and its like: it is refused, and then looked for anew */
}

static void
sentinel_explain_delay(const struct route *route, struct problem *why)
{
	const struct sentinel_route *sentinel = (const struct sentinel_route *)route;
	enum outcome unused;
	if (sentinel_count_asked(sentinel) == sentinel->count)
		problem_set(why,
		    sentinel->count == 1 ? "no answer from the sentinel in time"
					 : "no answer from any sentinel in time");
	else
		sentinel_explain(sentinel, &unused, why);
}

static void
sentinel_rest(struct route *route)
{
	struct sentinel_route *sentinel = from_route(route);
	stop_asking_password(sentinel);
	for (size_t i = 0; i < sentinel->count; i++)
		sentinel_member_rest(&sentinel->members[i]);
	sentinel->asking = false;
	loop_set_timer(sentinel->loop, &sentinel->due, clock_now());
}

static void
sentinel_close(struct route *route)
{
	struct sentinel_route *sentinel = from_route(route);
	stop_asking_password(sentinel);
	loop_stop_timer(sentinel->loop, &sentinel->due);
	sentinel->asking = false;
	sentinel->wants_check = false;
	sentinel->choice_count = 0;
	for (struct route_asker *asker = sentinel->askers; asker; asker = asker->next)
		asker->finding = false;
	for (size_t i = 0; i < sentinel->count; i++)
		sentinel_member_close(&sentinel->members[i]);
}

static void
sentinel_forget(struct route *route)
{
	struct sentinel_route *sentinel = from_route(route);
	for (size_t i = 0; i < sentinel->count; i++)
		link_forget(&sentinel->members[i].link);
	if (sentinel->settings.secret != NULL)
		sentinel->settings.secret->operations->forget(sentinel->settings.secret);
}

static void
sentinel_free(struct route *route)
{
	struct sentinel_route *sentinel = from_route(route);
	sentinel_close(route);
	for (size_t i = 0; i < sentinel->count; i++)
		sentinel_member_free(&sentinel->members[i]);
	free(sentinel);
}

const struct sentinel_view *
sentinel_route_view(const struct route *route, size_t index, struct problem *why)
{
	const struct sentinel_route *sentinel = (const struct sentinel_route *)route;
	const struct sentinel_member *member = &sentinel->members[index];
	if (member->view.knows)
		return &member->view;
	*why = member->problem;
	return NULL;
}

struct route *
sentinel_route_new(struct loop *loop, const struct sentinel_settings *settings)
{
	static const struct route_operations operations = {
	    .find = sentinel_find,
	    .cancel = sentinel_cancel,
	    .fail = sentinel_fail,
	    .redirect = sentinel_redirect,
	    .explain_delay = sentinel_explain_delay,
	    .rest = sentinel_rest,
	    .close = sentinel_close,
	    .forget = sentinel_forget,
	    .free = sentinel_free,
	};
	static const struct sentinel_member_events events = {
	    .opened = on_member_opened,
	    .answered = on_member_answered,
	    .failed = on_member_failed,
	    .switched = on_switched,
	};
	size_t count = settings->url->place_count;
	struct sentinel_route *sentinel =
	    malloc(sizeof *sentinel + count * sizeof *sentinel->members);
	if (sentinel == NULL)
		return NULL;
	memset(sentinel, 0, sizeof *sentinel);
	sentinel->route.operations = &operations;
	sentinel->route.wants_master = true;
	sentinel->route.replicas = -1;
	sentinel->loop = loop;
	sentinel->settings = *settings;
	sentinel->count = count;
	sentinel->due = (struct timer){.due = sentinel_on_due, .context = sentinel};
	sentinel->shunned_at = sentinel->round_at = sentinel->chosen_at =
	    instant_plus(clock_now(), -NS_PER_S * 60);
	for (size_t i = 0; i < count; i++) {
		struct sentinel_member *member = &sentinel->members[i];
		sentinel_member_init(member, loop, settings->url, &settings->url->places[i],
		    &events, sentinel);
		member->has_password = settings->secret != NULL;
		member->listens = settings->listens;
		sentinel->route.helpers[i] = &member->link.resolver.helper;
	}
	if (settings->secret != NULL)
		sentinel->route.helpers[URL_MAX_PLACES] = settings->secret->helper;
	return &sentinel->route;
}
