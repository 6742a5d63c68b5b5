/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "store/sentinel_member.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "store/redis_answer.h"

#define RETRY_FIRST NS_PER_S
#define RETRY_LAST (10 * NS_PER_S)
#define CHANNEL "+switch-master"
#define INFO_MAX_REPLICAS 6

/* -- the end of a connection ------------------------------------------------------------------- */

static void
drop(struct sentinel_member *member)
{
	loop_stop_timer(member->loop, &member->due);
	link_close(&member->link);
	member->subscribed = false;
	member->step_count = 0;
	member->phase = MEMBER_CLOSED;
}

static void
plan_retry(struct sentinel_member *member)
{
	int64_t pause = RETRY_FIRST;
	for (unsigned int i = 1; i < member->failures && pause < RETRY_LAST; i++)
		pause *= 2;
	member->phase = MEMBER_RETRYING;
	loop_set_timer(member->loop, &member->due,
	    instant_plus(clock_now(), pause < RETRY_LAST ? pause : RETRY_LAST));
}

static void
fail(struct sentinel_member *member, enum outcome outcome, const struct problem *why)
{
	struct problem copy = *why; /* it may be the link's own */
	drop(member);
	member->view.knows = false;
	member->outcome = outcome;
	member->problem = copy;
	member->failures++;
	if (member->listens)
		plan_retry(member);
	member->events->failed(member->context, member);
}

void
sentinel_member_give_up(struct sentinel_member *member, enum outcome outcome,
    const struct problem *why)
{
	if (member->phase == MEMBER_OPENED)
		fail(member, outcome, why);
}

/* -- asking ----------------------------------------------------------------------------------- */

static void
append(struct sentinel_member *member, enum member_step step, int argc, const char *const *argv)
{
	if (member->step_count == MEMBER_MAX_STEPS)
		return; /* not reached: one asking has five at most, and waits for the one before */
	link_append(&member->link, argc, argv);
	member->steps[member->step_count++] = (unsigned char)step;
}

static void
send_pipeline(struct sentinel_member *member, const char *password)
{
	const struct url *url = member->url;
	const char *unsubscribe[] = {"UNSUBSCRIBE", CHANNEL};
	const char *with_user[] = {"AUTH", url->sentinel_user, password};
	const char *without_user[] = {"AUTH", password};
	const char *master[] = {"SENTINEL", "MASTER", url->service};
	const char *replicas[] = {"SENTINEL", "REPLICAS", url->service};
	const char *subscribe[] = {"SUBSCRIBE", CHANNEL};

	member->phase = MEMBER_ASKED;
	member->sent_at = clock_now();
	if (member->subscribed)
		append(member, MEMBER_UNSUBSCRIBE, 2, unsubscribe);
	if (password != NULL && url->sentinel_user[0] != '\0')
		append(member, MEMBER_AUTH, 3, with_user);
	else if (password != NULL)
		append(member, MEMBER_AUTH, 2, without_user);
	append(member, MEMBER_MASTER, 3, master);
	append(member, MEMBER_REPLICAS, 3, replicas);
	if (member->listens)
		append(member, MEMBER_SUBSCRIBE, 2, subscribe);
	member->subscribed = member->listens;
	if (!link_flush(&member->link)) {
		struct problem why;
		problem_set_errno(&why, "cannot write a request", ENOMEM);
		fail(member, OUTCOME_UNREACHABLE, &why);
	}
}

/* Is one of the replicas, which calls itself a master, the old one? An answer to this has some 6 kB
 * of each server. */
static bool
ask_more(struct sentinel_member *member)
{
	const char *unsubscribe[] = {"UNSUBSCRIBE", CHANNEL};
	const char *info[] = {"SENTINEL", "INFO-CACHE", member->url->service};
	const char *subscribe[] = {"SUBSCRIBE", CHANNEL};
	if (member->view.claimants == 0 || member->view.listed > INFO_MAX_REPLICAS)
		return false;
	if (member->subscribed)
		append(member, MEMBER_UNSUBSCRIBE, 2, unsubscribe);
	append(member, MEMBER_INFO, 3, info);
	if (member->subscribed)
		append(member, MEMBER_SUBSCRIBE, 2, subscribe);
	return link_flush(&member->link);
}

void
sentinel_member_send(struct sentinel_member *member, const char *password)
{
	if (member->phase == MEMBER_OPENED)
		send_pipeline(member, password);
}

static void
on_opened(void *context)
{
	struct sentinel_member *member = context;
	member->phase = MEMBER_OPENED;
	if (member->has_password)
		member->events->opened(member->context, member);
	else
		send_pipeline(member, member->url->sentinel_user[0] != '\0' ? "" : NULL);
}

bool
sentinel_member_is_asked(const struct sentinel_member *member)
{
	return member->phase == MEMBER_CONNECTING || member->phase == MEMBER_OPENED ||
	    member->phase == MEMBER_ASKED;
}

void
sentinel_member_ask(struct sentinel_member *member, int64_t limit_ns)
{
	struct instant until = instant_plus(clock_now(), limit_ns);
	if (sentinel_member_is_asked(member))
		return;
	member->limit_ns = limit_ns;
	loop_set_timer(member->loop, &member->due, until);
	/* An answer to the last SUBSCRIBE is still to come, or the line is quiet. */
	if (member->phase == MEMBER_IDLE) {
		send_pipeline(member, NULL);
		return;
	}
	member->phase = MEMBER_CONNECTING;
	link_open(&member->link, until, true);
}

/* -- answers ---------------------------------------------------------------------------------- */

static bool
begins_with(const struct reply *reply, const char *word)
{
	return reply->kind == REPLY_ARRAY && reply->count == 3 &&
	    reply->items[0]->kind == REPLY_STRING && strcmp(reply->items[0]->text, word) == 0;
}

static void
fail_by_nonsense(struct sentinel_member *member)
{
	struct problem why;
	problem_set(&why, "its answer makes no sense: is it a sentinel?");
	fail(member, OUTCOME_REFUSED, &why);
}

static void
take_error(struct sentinel_member *member, enum member_step step, const char *text)
{
	struct problem why;
	enum outcome outcome = answer_classify_error(text);
	if (step == MEMBER_SUBSCRIBE) {
		member->listens = false; /* it may be asked, and that will have to do */
		member->subscribed = false;
		return;
	}
	if (step == MEMBER_MASTER && strstr(text, "No such master") != NULL) {
		problem_set(&member->problem, "it knows no service '%.200s'", member->url->service);
		member->outcome = OUTCOME_REFUSED;
		return; /* and says the same of its replicas */
	}
	if (step == MEMBER_INFO || (step == MEMBER_REPLICAS && !member->view.knows))
		return; /* it may be asked for more than is allowed */
	if (strncmp(text, "NOAUTH", 6) == 0)
		problem_set(&why,
		    "it says: %s (give a password: ?sentinel-password-file= in the URL, or "
		    "DLOCK_SENTINEL_PASSWORD)",
		    text);
	else if (strstr(text, "unknown command") != NULL)
		problem_set(&why, "it is no sentinel: it knows no SENTINEL command");
	else if (step == MEMBER_AUTH && outcome != OUTCOME_DENIED)
		problem_set(&why,
		    "it does not take a login"); /* such a text may quote a password */
	else
		problem_set(&why, "it says: %s", text);
	fail(member, outcome, &why);
}

static void
be_answered(struct sentinel_member *member)
{
	loop_stop_timer(member->loop, &member->due);
	member->phase = MEMBER_IDLE;
	member->asked_at = member->sent_at;
	member->failures = 0;
	member->events->answered(member->context, member);
}

/* False: it is no answer to that. */
static bool
take_step(struct sentinel_member *member, enum member_step step, const struct reply *reply)
{
	switch (step) {
	case MEMBER_UNSUBSCRIBE:
		return begins_with(reply, "unsubscribe");
	case MEMBER_AUTH:
		return answer_is_ok(reply);
	case MEMBER_MASTER:
		member->view = (struct sentinel_view){.knows = false};
		return sentinel_read_master(reply, &member->view);
	case MEMBER_REPLICAS:
		return sentinel_read_replicas(reply, &member->view);
	case MEMBER_INFO:
		sentinel_read_info(reply, member->url->service, &member->view);
		return true;
	case MEMBER_SUBSCRIBE:
		return begins_with(reply, "subscribe");
	}
	return false;
}

static void
on_answer(void *context, const struct reply *reply)
{
	struct sentinel_member *member = context;
	struct url_place place;
	if (begins_with(reply, "message")) {
		if (sentinel_read_switch(reply, member->url->service, &place))
			member->events->switched(member->context, &place);
		return;
	}
	if (member->step_count == 0) {
		fail_by_nonsense(member);
		return;
	}
	enum member_step step = (enum member_step)member->steps[0];
	unsigned int generation = member->link.generation;
	member->step_count--;
	memmove(member->steps, member->steps + 1, member->step_count);
	if (step == MEMBER_MASTER && reply->kind == REPLY_ERROR)
		member->view = (struct sentinel_view){.knows = false};
	if (reply->kind == REPLY_ERROR)
		take_error(member, step, reply->text);
	else if (!take_step(member, step, reply))
		fail_by_nonsense(member);
	if (member->link.generation != generation)
		return;
	if (step == MEMBER_INFO || (step == MEMBER_REPLICAS && !ask_more(member)))
		be_answered(member);
}

static void
on_failed(void *context, const struct problem *failure)
{
	struct sentinel_member *member = context;
	fail(member, failure->is_denied ? OUTCOME_DENIED : OUTCOME_UNREACHABLE, failure);
}

static void
on_due(void *context, struct instant now)
{
	struct sentinel_member *member = context;
	struct problem why;
	(void)now;
	switch (member->phase) {
	case MEMBER_CLOSED:
	case MEMBER_IDLE:
		return;
	case MEMBER_RETRYING:
		sentinel_member_ask(member, member->limit_ns);
		return;
	case MEMBER_CONNECTING:
		link_explain_delay(&member->link, &why);
		break;
	case MEMBER_OPENED:
		problem_set(&why, "no password in time");
		break;
	case MEMBER_ASKED:
		problem_set(&why, "no answer in time");
		break;
	}
	fail(member, why.is_denied ? OUTCOME_DENIED : OUTCOME_UNREACHABLE, &why);
}

/* -- the user's side --------------------------------------------------------------------------- */

void
sentinel_member_init(struct sentinel_member *member, struct loop *loop, const struct url *url,
    const struct url_place *place, const struct sentinel_member_events *events, void *context)
{
	static const struct link_events link_events = {
	    .opened = on_opened,
	    .answered = on_answer,
	    .failed = on_failed,
	};
	memset(member, 0, offsetof(struct sentinel_member, link));
	member->loop = loop;
	member->url = url;
	member->events = events;
	member->context = context;
	member->outcome = OUTCOME_UNREACHABLE;
	member->due = (struct timer){.due = on_due, .context = member};
	problem_set(&member->problem, "not asked");
	link_init(&member->link, loop, url, &link_events, member);
	link_aim(&member->link, place);
}

void
sentinel_member_rest(struct sentinel_member *member)
{
	if (!sentinel_member_is_asked(member))
		return;
	drop(member);
	if (member->listens)
		plan_retry(member);
}

void
sentinel_member_close(struct sentinel_member *member)
{
	drop(member);
}

void
sentinel_member_free(struct sentinel_member *member)
{
	drop(member);
	link_free(&member->link);
}
