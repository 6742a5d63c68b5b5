/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "store/redis_watch.h"

#include <stdlib.h>
#include <string.h>

#include "base/message.h"
#include "store/redis_answer.h"

/* Between two looks, at least. */
#define LOOK_PAUSE (50 * NS_PER_MS)
#define RETRY_FIRST (50 * NS_PER_MS)
/* A renewal of a long lease has time; here a connection that hangs is news that does not come. */
#define LIMIT_MOST (5 * NS_PER_S)
/* Between two looks a server has one push for each key, and one for each FLUSHALL or FLUSHDB. */
#define MAX_PUSHES 1000
/* So many renewals without a push, and the server is one that accepts the command and tells
 * nothing. */
#define MAX_UNHEARD 3

static void
set_due(struct redis_watch *watch, struct instant at)
{
	loop_set_timer(watch->loop, &watch->due, at);
}

static void
set_limit(struct redis_watch *watch, int64_t ns)
{
	set_due(watch, instant_plus(clock_now(), ns));
}

/* -- the end of a connection ------------------------------------------------------------------- */

static void
drop(struct redis_watch *watch, enum watch_phase next)
{
	/* The password's source is the store's too: it is left alone but in a login of our own. */
	if (watch->phase == WATCH_LOGIN)
		redis_login_end(&watch->login);
	link_close(&watch->link);
	loop_stop_timer(watch->loop, &watch->due);
	watch->doubted_at = INSTANT_NEVER;
	watch->phase = next;
}

/* 50 ms, doubling up to the limit for an answer. */
static int64_t
retry_pause(const struct redis_watch *watch)
{
	int64_t pause = RETRY_FIRST;
	for (unsigned int i = 1; i < watch->failures && pause < watch->answer_limit_ns; i++)
		pause *= 2;
	return pause < watch->answer_limit_ns ? pause : watch->answer_limit_ns;
}

static void
fail(struct redis_watch *watch, const struct problem *why)
{
	struct instant now = clock_now();
	/* Who hangs up again and again, be it after an answer, is met less and less often. */
	if (instant_between(watch->opened_at, now) > watch->answer_limit_ns)
		watch->failures = 0;
	if (watch->failures++ == 0)
		message_verbose("the second connection to %s, which watches '%s': %s",
		    watch->settings->server, watch->settings->keys->lock, why->text);
	drop(watch, WATCH_RETRYING);
	set_due(watch, instant_plus(now, retry_pause(watch)));
}

static void
fail_for(struct redis_watch *watch, const char *text)
{
	struct problem why;
	problem_set(&why, "%s", text);
	fail(watch, &why);
}

/* The server does not want it: at all, or this time. */
static void
refuse(struct redis_watch *watch, enum watch_phase next, const struct problem *why)
{
	if (!watch->warned)
		message_error("cannot watch '%s' at %s: %s; a loss is noticed at the next renewal",
		    watch->settings->keys->lock, watch->settings->server, why->text);
	watch->warned = true;
	drop(watch, next);
}

/* -- looks and pushes -------------------------------------------------------------------------- */

static void
on_sent(struct redis_watch *watch, bool sent)
{
	watch->phase = WATCH_LOOKING;
	watch->looked_at = clock_now();
	watch->pushes = 0;
	set_limit(watch, watch->answer_limit_ns);
	if (!sent)
		fail_for(watch, "cannot write a request");
}

static void
on_looked(struct redis_watch *watch, bool is_ours)
{
	struct instant now = clock_now();
	loop_stop_timer(watch->loop, &watch->due);
	watch->phase = WATCH_QUIET;
	watch->quiet_since = now;
	watch->doubted_at = is_ours ? INSTANT_NEVER : now;
	if (!is_ours)
		watch->alarmed(watch->context, now);
}

static void
take_answer(struct redis_watch *watch, const struct reply *reply)
{
	switch (look_read(&watch->look, reply)) {
	case LOOK_PART:
		break;
	case LOOK_OURS:
		on_looked(watch, true);
		break;
	case LOOK_DOUBTFUL:
		on_looked(watch, false);
		break;
	case LOOK_FAILED:
		fail(watch, &watch->look.problem);
		break;
	case LOOK_REFUSED:
		refuse(watch, WATCH_REFUSED, &watch->look.problem);
		break;
	}
}

static void
on_push(struct redis_watch *watch)
{
	watch->unheard = 0;
	if (++watch->pushes > MAX_PUSHES) {
		fail_for(watch, "the server tells of more changes than there can be");
		return;
	}
	if (watch->phase != WATCH_QUIET)
		return; /* a look is planned; or under way, and may be older than this */
	watch->phase = WATCH_PUSHED;
	set_due(watch, instant_plus(watch->looked_at, LOOK_PAUSE));
	link_pause(&watch->link);
}

/* The renewal was a change, and nothing was heard of it. A dead connection does not answer to a
 * look either. */
static void
on_unheard(struct redis_watch *watch)
{
	struct problem why;
	if (++watch->unheard < MAX_UNHEARD) {
		on_sent(watch, look_again(&watch->look));
		return;
	}
	problem_set(&why, "the server does not tell of changes");
	refuse(watch, WATCH_REFUSED, &why);
}

/* -- a connection ------------------------------------------------------------------------------ */

static void
open_link(struct redis_watch *watch)
{
	struct instant limit = instant_plus(clock_now(), watch->connect_limit_ns);
	watch->phase = WATCH_CONNECTING;
	watch->opened_at = clock_now();
	set_due(watch, limit);
	if (watch->settings->route != NULL)
		link_aim(&watch->link, &watch->settings->route->place);
	link_open(&watch->link, limit, true);
}

static void
on_opened(void *context)
{
	struct redis_watch *watch = context;
	if (watch->held_back) {
		fail_for(watch, "the password is needed elsewhere");
		return;
	}
	watch->phase = WATCH_LOGIN;
	redis_login_start(&watch->login);
}

static void
on_logged_in(void *context, int64_t server_us)
{
	struct redis_watch *watch = context;
	(void)server_us;
	on_sent(watch, look_first(&watch->look));
}

static void
on_login_failed(void *context, enum outcome outcome, const struct problem *why)
{
	struct redis_watch *watch = context;
	if (outcome == OUTCOME_UNREACHABLE)
		fail(watch, why);
	else /* a password that was changed, too many clients: it may be another next time */
		refuse(watch, WATCH_OFF, why);
}

static void
on_answer(void *context, const struct reply *reply)
{
	struct redis_watch *watch = context;
	switch (watch->phase) {
	case WATCH_LOGIN:
		redis_login_answer(&watch->login, reply);
		return;
	case WATCH_LOOKING:
		if (look_is_push(&watch->look, reply))
			on_push(watch);
		else
			take_answer(watch, reply);
		return;
	case WATCH_QUIET:
	case WATCH_PUSHED:
		if (look_is_push(&watch->look, reply))
			on_push(watch);
		else
			fail_for(watch, "the server answers what was not asked");
		return;
	case WATCH_OFF:
	case WATCH_RETRYING:
	case WATCH_CONNECTING:
	case WATCH_REFUSED:
		return;
	}
}

static void
on_failed(void *context, const struct problem *failure)
{
	struct redis_watch *watch = context;
	enum outcome outcome = OUTCOME_UNREACHABLE;
	struct problem why = *failure;
	if (watch->phase == WATCH_CONNECTING)
		outcome = redis_login_judge(&watch->login, failure);
	else if (watch->phase == WATCH_LOGIN)
		outcome = redis_login_explain_failure(&watch->login, failure, &why);
	on_login_failed(watch, outcome, &why);
}

static void
on_due(void *context, struct instant now)
{
	struct redis_watch *watch = context;
	struct problem why;
	(void)now;
	switch (watch->phase) {
	case WATCH_RETRYING:
		open_link(watch);
		return;
	case WATCH_CONNECTING:
		link_explain_delay(&watch->link, &why);
		fail(watch, &why);
		return;
	case WATCH_LOGIN:
		(void)redis_login_explain_delay(&watch->login, &why);
		fail(watch, &why);
		return;
	case WATCH_LOOKING:
		fail_for(watch, "no answer in time");
		return;
	case WATCH_QUIET:
		on_unheard(watch);
		return;
	case WATCH_PUSHED:
		on_sent(watch, look_again(&watch->look));
		return;
	case WATCH_OFF:
	case WATCH_REFUSED:
		return;
	}
}

/* -- the user's side --------------------------------------------------------------------------- */

struct redis_watch *
redis_watch_new(struct loop *loop, const struct redis_settings *settings,
    void (*alarmed)(void *context, struct instant now), void *context)
{
	static const struct link_events events = {
	    .opened = on_opened,
	    .answered = on_answer,
	    .failed = on_failed,
	};
	struct redis_watch *watch = calloc(1, sizeof *watch);
	if (watch == NULL) {
		message_error("cannot watch '%s': no memory", settings->keys->lock);
		return NULL;
	}
	watch->loop = loop;
	watch->settings = settings;
	watch->alarmed = alarmed;
	watch->context = context;
	watch->doubted_at = INSTANT_NEVER;
	watch->due = (struct timer){.due = on_due, .context = watch};
	link_init(&watch->link, loop, settings->url, &events, watch);
	look_init(&watch->look, &watch->link, settings);
	watch->login = (struct redis_login){
	    .link = &watch->link,
	    .url = settings->url,
	    .secret = settings->secret,
	    .done = on_logged_in,
	    .failed = on_login_failed,
	    .context = watch,
	};
	return watch;
}

void
redis_watch_free(struct redis_watch *watch)
{
	if (watch == NULL)
		return;
	redis_watch_close(watch);
	link_free(&watch->link);
	free(watch);
}

const pid_t *
redis_watch_helper(const struct redis_watch *watch)
{
	return watch != NULL ? &watch->link.resolver.helper : NULL;
}

static bool
is_renewal(const struct store_request *request)
{
	return request->verb == STORE_RENEW || request->verb == STORE_TOUCH;
}

void
redis_watch_asked(struct redis_watch *watch, const struct store_request *request)
{
	if (watch != NULL && watch->phase != WATCH_OFF && !is_renewal(request))
		redis_watch_close(watch);
}

/* The renewal was confirmed elsewhere than where we look. */
static bool
is_elsewhere(const struct redis_watch *watch)
{
	const struct route *route = watch->settings->route;
	return route != NULL && !link_leads_to(&watch->link, &route->place);
}

static void
on_renewed(struct redis_watch *watch, struct instant sent_at)
{
	bool looks = watch->phase != WATCH_OFF && watch->phase != WATCH_RETRYING &&
	    watch->phase != WATCH_REFUSED;
	if (looks && is_elsewhere(watch)) {
		fail_for(watch, "the server is another one now");
		return;
	}
	if (watch->phase == WATCH_OFF) {
		open_link(watch);
	} else if (watch->doubted_at.ns != INSTANT_NEVER.ns) {
		/* The server's answer is older than what the look showed: to be asked again. Or it
		 * contradicts that: then this connection leads elsewhere, say to a server that was
		 * the master. */
		if (sent_at.ns <= watch->doubted_at.ns)
			watch->alarmed(watch->context, clock_now());
		else
			fail_for(watch, "it shows another lock than the server's answers");
	} else if (watch->phase == WATCH_QUIET && sent_at.ns > watch->quiet_since.ns) {
		set_limit(watch, watch->answer_limit_ns);
	}
}

void
redis_watch_answered(struct redis_watch *watch, const struct store_request *request,
    const struct store_answer *answer)
{
	if (watch == NULL || !is_renewal(request) || answer->outcome != OUTCOME_OK)
		return;
	watch->connect_limit_ns = request->connect_limit_ns;
	watch->answer_limit_ns =
	    request->answer_limit_ns < LIMIT_MOST ? request->answer_limit_ns : LIMIT_MOST;
	on_renewed(watch, answer->sent_at);
}

void
redis_watch_hold_back(struct redis_watch *watch, bool hold_back)
{
	if (watch == NULL)
		return;
	watch->held_back = hold_back;
	if (hold_back && watch->phase == WATCH_LOGIN)
		fail_for(watch, "the password is needed elsewhere");
}

void
redis_watch_close(struct redis_watch *watch)
{
	if (watch == NULL)
		return;
	drop(watch, WATCH_OFF);
	watch->failures = 0;
}
