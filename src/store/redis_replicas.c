/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* --wait-replicas: what a server has done counts when replicas have it, too.
 *
 * A number N: that many. auto, with sentinels (DESIGN: after a planned failover the old master goes
 * on granting, and for a moment some replica still follows it and says yes): an acquire needs every
 * replica that is alive as sentinels say, as of a moment ago, so that the one which is being made
 * the master is among them; a renewal needs them, too, or one of them and a sentinel's word of
 * after the renewal that the master is still this one and no failover under way. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "store/redis_answer.h"
#include "store/redis_parts.h"
#include "store/sentinel_view.h"

/* What sentinels said so long before the request still counts as of now. */
#define RECENT (500 * NS_PER_MS)

static bool
is_auto(const struct redis_store *redis)
{
	return redis->settings->wait_replicas == WAIT_REPLICAS_AUTO;
}

/* All that are alive, as sentinels say, less the old master where it is known to be that. */
static int64_t
replicas_alive(const struct redis_store *redis)
{
	const struct route *route = redis->settings->route;
	bool known = route->old_id[0] != '\0' && strcmp(route->old_id, redis->old_id) == 0;
	return known ? route->replicas_less_one : route->replicas;
}

static int64_t
replicas_wanted(const struct redis_store *redis)
{
	if (!is_auto(redis))
		return redis->settings->wait_replicas;
	if (redis->settings->route == NULL)
		return 0;
	int64_t alive = replicas_alive(redis);
	return alive > 0 ? alive : 0;
}

bool
redis_wants_replicas(const struct redis_store *redis, enum store_verb verb)
{
	bool counts = verb == STORE_ACQUIRE || verb == STORE_RENEW || verb == STORE_TOUCH;
	return counts && redis->settings->wait_replicas != 0;
}

/* -- the verdict ------------------------------------------------------------------------------ */

static void
end(struct redis_store *redis, const struct problem *why)
{
	struct store_answer answer = redis->done;
	redis_stop_awaiting(redis);
	redis->phase = PHASE_IDLE;
	if (why != NULL) {
		bool for_good = redis->done.for_good;
		answer = (struct store_answer){.outcome = OUTCOME_UNCONFIRMED,
		    .problem = *why,
		    .for_good = for_good};
		answer.problem.is_passing = true;
		/* A master without its replicas may be none any more. */
		redis->outdated = true;
		redis->outdating = *why;
		redis->is_taken_here = redis->request.verb == STORE_ACQUIRE;
	}
	redis_report(redis, &answer);
}

static void
tell_too_few(const struct redis_store *redis, int64_t wanted, struct problem *why)
{
	problem_set(why,
	    "%" PRId64 " of %" PRId64 " replicas %s it in time, too few to count (--wait-replicas)",
	    redis->acknowledged, wanted, redis->acknowledged == 1 ? "has" : "have");
}

/* By sentinels: true, or false and why not. */
static bool
is_confirmed(const struct redis_store *redis, struct problem *why)
{
	const struct route *route = redis->settings->route;
	bool all = redis->acknowledged >= replicas_alive(redis);
	bool renews = redis->request.verb != STORE_ACQUIRE;
	if (route->is_failing_over) {
		problem_set(why, "the sentinels are about to make another server the master");
		return false;
	}
	if (route->is_cut_off) {
		problem_set(why,
		    "too few sentinels can be asked, and they miss a replica: the master may be cut "
		    "off (--wait-replicas)");
		return false;
	}
	if (all || (renews && redis->acknowledged >= 1))
		return true;
	tell_too_few(redis, replicas_alive(redis), why);
	return false;
}

/* What sentinels said is new enough, or will do. */
static bool
is_settled(const struct redis_store *redis)
{
	const struct route *route = redis->settings->route;
	bool all = redis->acknowledged >= replicas_alive(redis) && !route->is_failing_over &&
	    !route->is_cut_off;
	bool recent = instant_between(route->asked_at, redis->sent_at) <= RECENT;
	if (redis->request.verb == STORE_ACQUIRE)
		return all && recent;
	return all && (recent || redis->acknowledged > 0);
}

static void
judge(struct redis_store *redis)
{
	struct route *route = redis->settings->route;
	struct problem why;
	if (!is_auto(redis) || route == NULL) {
		bool enough = redis->acknowledged >= redis->settings->wait_replicas;
		tell_too_few(redis, redis->settings->wait_replicas, &why);
		end(redis, enough || is_auto(redis) ? NULL : &why);
	} else if (!redis->is_checked && !is_settled(redis)) {
		redis->checker.not_older = redis->sent_at;
		route_find(route, &redis->checker);
	} else {
		end(redis, is_confirmed(redis, &why) ? NULL : &why);
	}
}

static void
on_checked(void *context, const struct url_place *place)
{
	struct redis_store *redis = context;
	struct problem why;
	redis->is_checked = true;
	if (link_leads_to(&redis->link, place)) {
		judge(redis);
		return;
	}
	problem_set(&why, "the server is another one now");
	end(redis, &why);
}

static void
on_unchecked(void *context, enum outcome outcome, const struct problem *why)
{
	(void)outcome;
	end(context, why);
}

/* -- asking ----------------------------------------------------------------------------------- */

void
redis_set_up_replicas(struct redis_store *redis)
{
	redis->checker = (struct route_asker){
	    .found = on_checked,
	    .failed = on_unchecked,
	    .context = redis,
	};
}

void
redis_append_wait(struct redis_store *redis)
{
	int64_t wanted = replicas_wanted(redis);
	if (wanted == 0 || !redis_wants_replicas(redis, redis->request.verb))
		return;
	/* There is time for its answer, and for asking the sentinels. */
	line_wait(&redis->line, wanted, ms_from_ns(redis->request.answer_limit_ns / 2));
	redis->waits_sent = true;
}

/* One of the replicas may be the old master, which acknowledges nothing: the server knows from
 * whose data it has gone on. A user who may not ask has to wait until the sentinels have seen to
 * it. */
static bool
ask_history(struct redis_store *redis)
{
	const char *argv[] = {"INFO", "replication"};
	const struct route *route = redis->settings->route;
	if (!is_auto(redis) || route == NULL || route->old_id[0] == '\0' ||
	    strcmp(route->old_id, redis->old_id) == 0)
		return false;
	line_aside(&redis->line, 2, argv);
	redis->waits_sent = true;
	redis->asks_history = true;
	return true;
}

static void
send_wait(struct redis_store *redis)
{
	redis_append_wait(redis);
	if (!redis->waits_sent) {
		judge(redis);
	} else if (!link_flush(&redis->link)) {
		struct problem why;
		problem_set_errno(&why, "cannot write a request", ENOMEM);
		redis_break_off(redis, OUTCOME_UNKNOWN, &why);
	}
}

static void
take_history(struct redis_store *redis, const struct reply *reply)
{
	const char *id = redis->settings->route->old_id;
	redis->asks_history = false;
	if (sentinel_has_gone_on(reply, id))
		memcpy(redis->old_id, id, sizeof redis->old_id);
	send_wait(redis);
}

void
redis_await_replicas(struct redis_store *redis, const struct store_answer *answer)
{
	redis->phase = PHASE_ASKED;
	redis->awaits = true;
	redis->done = *answer;
	redis->acknowledged = 0;
	redis->is_checked = false;
	redis->asks_history = false;
	if (redis->waits_sent)
		return;
	if (!ask_history(redis)) {
		send_wait(redis);
	} else if (!link_flush(&redis->link)) {
		struct problem why;
		problem_set_errno(&why, "cannot write a request", ENOMEM);
		redis_break_off(redis, OUTCOME_UNKNOWN, &why);
	}
}

void
redis_take_wait(struct redis_store *redis, const struct reply *reply)
{
	struct problem why;
	if (redis->waits_to_skip > 0) {
		redis->waits_to_skip--;
		return;
	}
	redis->waits_sent = false;
	if (!redis->awaits)
		return;
	if (redis->asks_history) {
		take_history(redis, reply);
		return;
	}
	if (reply->kind == REPLY_INTEGER) {
		redis->acknowledged = reply->integer;
		judge(redis);
		return;
	}
	if (reply->kind == REPLY_ERROR)
		answer_tell_error(reply->text, &why);
	else
		problem_set(&why, "the server's answer to WAIT makes no sense");
	redis->done.for_good = answer_classify_error(why.text) == OUTCOME_DENIED;
	end(redis, &why);
}

bool
redis_stop_awaiting(struct redis_store *redis)
{
	if (redis->settings->route != NULL)
		route_cancel(redis->settings->route, &redis->checker);
	bool is_free = !redis->waits_sent;
	if (redis->awaits && is_free)
		redis->phase = PHASE_IDLE;
	redis->awaits = false;
	return is_free;
}
