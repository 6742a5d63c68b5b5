/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include <errno.h>
#include <string.h>

#include "store/redis_answer.h"
#include "store/redis_parts.h"
#include "store/redis_request.h"

#define UNASKED "the server answers what was not asked"

/* -- requests --------------------------------------------------------------------------------- */

/* The server's time at which a request that is sent now is not wanted any more. */
static int64_t
not_after_us(const struct redis_store *redis)
{
	return redis->clock_us +
	    (instant_between(redis->clock_at, redis->sent_at) + redis->request.answer_limit_ns) /
	    NS_PER_US;
}

/* Not sent after all: told from the loop, as every answer is. */
static void
refuse_soon(struct redis_store *redis, const struct problem *why)
{
	redis->phase = PHASE_IDLE;
	redis->refusal = *why;
	loop_set_timer(redis->loop, &redis->deadline, clock_now());
}

void
redis_send(struct redis_store *redis)
{
	struct instant now = clock_now();
	if (instant_reached(redis->request.not_later, now)) {
		struct problem why;
		problem_set(&why, "too late to be sent");
		refuse_soon(redis, &why);
		return;
	}
	if (line_is_silent(&redis->line) && link_has_unread(&redis->link)) {
		/* Taken for this one's answer, a yes that is older than the question would make the
		 * lease longer than the server's. */
		struct problem why;
		problem_set(&why, UNASKED);
		refuse_soon(redis, &why);
		return;
	}
	redis->phase = PHASE_ASKED;
	redis->sent_at = now;
	loop_set_timer(redis->loop, &redis->deadline,
	    instant_plus(now, redis->request.answer_limit_ns));
	if (redis->waits_sent)
		redis->waits_to_skip++;
	redis->waits_sent = false;
	bool join = redis->request.verb == STORE_ACQUIRE && redis->request.wait &&
	    redis->ear == NULL && !redis_request_is_short(redis->settings, &redis->request);
	line_begin(&redis->line, join, redis->request.follow);
	if (redis->request.wait && redis->request.follow)
		redis_append_following(redis);
	redis_append_asking(redis);
	redis->by_hash = redis_request_append(&redis->link, redis->settings, &redis->request,
	    redis->no_hash ? 0 : redis->login.known, not_after_us(redis),
	    redis_must_be_alone(redis));
	line_end(&redis->line, join);
	/* Behind an acquire it would keep a release waiting that is to undo it. */
	if (redis->request.verb != STORE_ACQUIRE)
		redis_append_wait(redis);
	redis_append_question(redis);
	if (!link_flush(&redis->link)) {
		struct problem why;
		problem_set_errno(&why, "cannot write a request", ENOMEM);
		refuse_soon(redis, &why);
		redis_drop_connection(redis); /* it awaits answers to what was not sent */
	}
}

/* -- answers ---------------------------------------------------------------------------------- */

/* A lock of ours that was broken is still ours to give back. */
static void
recognise(const struct redis_store *redis, struct holder *holder)
{
	const char *owner = strrchr(holder->token, ':');
	holder->ours =
	    holder->broken && owner != NULL && strcmp(owner + 1, redis->settings->token) == 0;
}

static void
complete_place(struct redis_store *redis, struct store_answer *answer)
{
	struct line *line = &redis->line;
	if (redis->ear != NULL) {
		redis_complete_place(redis, answer);
		return;
	}
	if (redis->request.wait && !answer->place.told && !line->no_push && !answer->place.full)
		line_give_up_push(line, "the server passes no messages on");
	if (!answer->place.told)
		answer->problem = line->why_no_push;
	answer->place.followed = line->follows;
}

/* Sends the request again, with the script's text, if it was not executed because its hash said
 * nothing to the server: SCRIPT FLUSH; a right, or a proxy, for the one way alone. */
static bool
spell_out(struct redis_store *redis, const struct reply *reply)
{
	if (!redis->by_hash || reply->kind != REPLY_ERROR || !answer_wants_text(reply->text))
		return false;
	redis->no_hash = true;
	redis_send(redis);
	return true;
}

/* `last`: on this connection. */
static void
on_request_answer(struct redis_store *redis, const struct reply *reply, bool last)
{
	if (!last && spell_out(redis, reply))
		return;
	struct store_answer answer = {.outcome = OUTCOME_UNKNOWN};
	int64_t server_us = 0;
	bool complete = true;

	if (redis_is_sent_elsewhere(redis, reply))
		return;
	redis->outdated = reply->kind == REPLY_ERROR && answer_suggests_move(reply->text);
	if (redis->outdated)
		answer_tell_error(reply->text, &redis->outdating);
	switch (redis->request.verb) {
	case STORE_ACQUIRE:
	case STORE_TOUCH:
	case STORE_LOOK:
		complete = answer_read_acquire(reply, redis->request.verb, &answer, &server_us);
		break;
	case STORE_RENEW:
	case STORE_RELEASE:
		answer_read_number(reply, &answer);
		break;
	}
	if (server_us != 0) {
		redis->clock_us = server_us;
		redis->clock_at = clock_now();
	}
	redis->phase = PHASE_IDLE;
	if (answer.outcome == OUTCOME_HELD) {
		recognise(redis, &answer.holder);
		complete_place(redis, &answer);
	}
	if (!complete && redis_request_is_short(redis->settings, &redis->request)) {
		redis->request.confirm = false;
		redis_send(redis);
		return;
	}
	if (!complete && ++redis->late < 3) {
		/* The server's clock was set, or the request was long on its way: still wanted. */
		redis_send(redis);
		return;
	}
	redis_note_possession(redis, &answer);
	if (redis->goes_on) {
		redis_go_on(redis);
		return;
	}
	if (answer.outcome == OUTCOME_OK && redis_wants_replicas(redis, redis->request.verb)) {
		redis_await_replicas(redis, &answer);
		return;
	}
	if (!complete)
		problem_set(&answer.problem, "the server's clock is not steady");
	else if (answer.outcome == OUTCOME_UNKNOWN || last)
		redis_drop_connection(
		    redis); /* what else comes on it may be an answer to anything */
	redis_report(redis, &answer);
}

static void
on_message(struct redis_store *redis, enum wake wake, int64_t left_ms)
{
	int64_t left_ns = left_ms < 0 ? -1 : left_ms * NS_PER_MS;
	redis->store.events->woken(redis->store.context, wake, left_ns, clock_now());
}

/* Does nobody wait any more for the request that is at its end? */
static bool
skip(struct redis_store *redis)
{
	if (redis->skip == 0)
		return false;
	redis->skip--;
	return true;
}

void
redis_take_reply(struct redis_store *redis, const struct reply *reply)
{
	const struct reply *answer = NULL;
	int64_t left_ms = -1;
	struct problem why;
	enum line_event event = line_read(&redis->line, reply, &answer, &left_ms);
	switch (event) {
	case LINE_NOTHING:
		break;
	case LINE_ANSWER:
	case LINE_STUCK:
		if (!skip(redis))
			on_request_answer(redis, answer, event == LINE_STUCK);
		break;
	case LINE_ASIDE:
		if (redis->settings->route != NULL)
			route_learn(redis->settings->route, answer);
		break;
	case LINE_AGAIN:
		if (!skip(redis))
			redis_send(redis);
		break;
	case LINE_GRANTED:
		on_message(redis, WAKE_GRANTED, -1);
		break;
	case LINE_HEAD:
		on_message(redis, WAKE_HEAD, left_ms);
		break;
	case LINE_CHANGED:
		on_message(redis, WAKE_CHANGED, -1);
		break;
	case LINE_WAITED:
		redis_take_wait(redis, answer);
		break;
	case LINE_UNASKED:
		problem_set(&why, UNASKED);
		redis_break_off(redis, OUTCOME_REFUSED, &why);
		break;
	}
}
