/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "view/check_trial.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/identity.h"
#include "base/keys.h"
#include "store/redis_answer.h"
#include "view/check_party.h"
#include "view/check_watch.h"
#include "view/slice.h"

/* So long a signal waits for the answer to what a party has asked. */
#define PATIENCE NS_PER_S

struct trial {
	struct visit *visit, *second;
	struct check_facts *facts;
	struct keys keys;
	struct party one, two;
	struct problem error; /* that a script was answered with */
	bool is_refused;
	bool is_lost; /* the server; visit->problem says why */
	bool is_busy; /* a party's request is on its way */
	int ended_by; /* the signal that ends this process when it is not; 0: none */
	struct timer patience;
};

/* -- questions on the visit's own connection -------------------------------------------------- */

static bool
take_any(void *context, const struct reply *reply)
{
	struct trial *trial = context;
	trial->is_refused = reply->kind == REPLY_ERROR;
	if (trial->is_refused)
		answer_tell_error(reply->text, &trial->error);
	return true;
}

static bool
take_refusals(void *context, const struct reply *reply)
{
	struct trial *trial = context;
	char command[64], error[256];
	struct slice part, rest;
	take_any(context, reply);
	if (trial->is_refused)
		return true;
	if (reply->kind != REPLY_ARRAY || reply->count != 1)
		return false;
	rest = slice_of_reply(reply->items[0]);
	while (slice_take(&rest, &part)) {
		slice_copy(&part, command, sizeof command);
		if (!slice_take(&rest, &part))
			return false;
		slice_copy(&part, error, sizeof error);
		check_facts_take_refusal(trial->facts, command, error);
	}
	return true;
}

/* A script; what it answers is looked at no further. True: it was no error. */
static bool
ask(struct trial *trial, const struct question *question,
    bool (*take)(void *context, const struct reply *reply))
{
	if (trial->is_lost)
		return false;
	if (!visit_ask(trial->visit, question, take, trial)) {
		trial->is_lost = true;
		return false;
	}
	return !trial->is_refused;
}

static void
try_script(struct trial *trial, enum check_feature feature, const struct question *question)
{
	bool works = ask(trial, question, take_any);
	if (!trial->is_lost)
		check_facts_take_trial(trial->facts, feature, works, trial->error.text);
}

static bool
ask_check(struct trial *trial, const char *what,
    bool (*take)(void *context, const struct reply *reply))
{
	const struct keys *keys = &trial->keys;
	const char *shard = trial->facts->is_cluster ? "shard" : "";
	const struct question question = {QUERY_CHECK, 5, 8,
	    {keys->lock, keys->fence, keys->info, keys->queue, keys->members, what,
		trial->one.token, shard}};
	return ask(trial, &question, take);
}

/* This process is about to end: the server does it when we have gone. */
static void
clean_up(struct trial *trial)
{
	struct visit *visit = trial->visit;
	const struct keys *keys = &trial->keys;
	const char *const words[] = {keys->lock, keys->fence, keys->info, keys->queue,
	    keys->members, "clean", ""};
	if (visit->query.phase == QUERY_IDLE || visit->query.phase == QUERY_ASKED)
		redis_query_ask(&visit->query, QUERY_CHECK, 5, sizeof words / sizeof *words, words,
		    NS_PER_S);
}

/* What a party has asked, on a connection of its own, might be done after the cleaning: its answer
 * comes first, unless the signal comes twice. */
static bool
leave(void *context, int number)
{
	struct trial *trial = context;
	if (trial->is_busy && trial->ended_by == 0) {
		trial->ended_by = number;
		loop_set_timer(trial->visit->settings->loop, &trial->patience,
		    instant_plus(clock_now(), PATIENCE));
		return false;
	}
	clean_up(trial);
	return true;
}

static void
on_patience_over(void *context, struct instant now)
{
	struct trial *trial = context;
	(void)now;
	clean_up(trial);
	visit_die(trial->visit, trial->ended_by);
}

/* -- the parties ------------------------------------------------------------------------------ */

/* Where that is no answer of the server's, the server is lost. */
static enum outcome
request(struct trial *trial, struct party *party, enum store_verb verb, bool wait, bool follow)
{
	if (trial->is_lost)
		return OUTCOME_UNKNOWN;
	trial->is_busy = true;
	enum outcome outcome =
	    check_party_request(party, trial->visit->settings, verb, wait, follow);
	trial->is_busy = false;
	if (trial->ended_by != 0) {
		clean_up(trial);
		visit_die(trial->visit, trial->ended_by);
	}
	if (outcome == OUTCOME_UNREACHABLE || outcome == OUTCOME_UNKNOWN) {
		trial->is_lost = true;
		trial->visit->outcome = outcome;
		trial->visit->problem = party->answer.problem;
	}
	return outcome;
}

/* -- what is tried ---------------------------------------------------------------------------- */

/* Taken, renewed, renewed with all that stands beside it, and, unless it is still needed, given
 * back. */
static bool
hold(struct trial *trial, enum check_feature feature, const char *mode, bool keep)
{
	static const enum store_verb verbs[] = {STORE_ACQUIRE, STORE_RENEW, STORE_TOUCH,
	    STORE_RELEASE};
	struct party *one = &trial->one;
	check_party_set_mode(one, mode);
	for (size_t i = 0; i < (keep ? 3 : 4); i++) {
		enum outcome outcome = request(trial, one, verbs[i], false, false);
		if (trial->is_lost)
			return false;
		if (outcome == OUTCOME_OK)
			continue;
		check_facts_take_trial(trial->facts, feature, false,
		    outcome == OUTCOME_HELD || outcome == OUTCOME_LOST
			? "the server does not keep what it was told to keep"
			: one->answer.problem.text);
		return false;
	}
	check_facts_take_trial(trial->facts, feature, true, "");
	return true;
}

static const char *
explain(const struct problem *problem, const char *otherwise)
{
	return problem->text[0] != '\0' ? problem->text : otherwise;
}

/* A renewal writes to the key. */
static bool
renew(void *context)
{
	struct trial *trial = context;
	(void)request(trial, &trial->one, STORE_RENEW, false, false);
	return !trial->is_lost;
}

/* One holds it: two stands in line, and is told when a client that is no dlock changes the key. */
static bool
stand_in_line(struct trial *trial)
{
	struct party *two = &trial->two;
	struct check_facts *facts = trial->facts;
	enum outcome outcome = request(trial, two, STORE_ACQUIRE, true, false);
	if (outcome != OUTCOME_HELD || two->answer.place.rank != 0) {
		if (!trial->is_lost)
			check_facts_take_trial(facts, FEATURE_WAIT, false,
			    explain(&two->answer.problem, "the server does not let anybody wait"));
		return false;
	}
	/* In a cluster it listens on a second connection, which has not been there before. */
	if (facts->is_cluster && !two->answer.place.told && two->answer.problem.text[0] == '\0' &&
	    check_party_wait(two, &two->listens_at)) {
		if (request(trial, two, STORE_ACQUIRE, true, false) != OUTCOME_HELD)
			return !trial->is_lost;
	}
	if (!two->answer.place.told) {
		check_facts_take_trial(facts, FEATURE_MESSAGES, false,
		    explain(&two->answer.problem, "no messages come"));
		return true;
	}
	if (request(trial, two, STORE_ACQUIRE, true, true) != OUTCOME_HELD)
		return !trial->is_lost;
	bool told =
	    two->answer.place.followed && renew(trial) && check_party_wait(two, &two->changed_at);
	/* Of the two the watch is told why. */
	const struct check_trial *watch = &facts->trials[FEATURE_WATCH];
	if (!trial->is_lost)
		check_facts_take_trial(facts, FEATURE_FOREIGN, told,
		    watch->result == CHECK_FAILS
			? watch->why
			: "the server does not tell of changes (CLIENT TRACKING, CLIENT CACHING)");
	return !trial->is_lost;
}

static void
look_and_break(struct trial *trial)
{
	const struct keys *keys = &trial->keys;
	char not_after[24];
	const struct question status = {QUERY_STATUS, 4, 5,
	    {keys->lock, keys->info, keys->queue, keys->members, ""}};
	const struct question list = {QUERY_LIST, 0, 2, {"0", keys->lock}};
	const struct question breaking = {QUERY_BREAK, 5, 9,
	    {keys->lock, keys->fence, keys->info, keys->queue, keys->members, trial->one.token,
		"no", trial->one.record, not_after}};
	try_script(trial, FEATURE_STATUS, &status);
	try_script(trial, FEATURE_LIST, &list);
	if (trial->facts->trials[FEATURE_LOCK].result != CHECK_WORKS)
		return;
	snprintf(not_after, sizeof not_after, "%" PRId64,
	    redis_query_not_after_us(&trial->visit->query,
		trial->visit->settings->answer_limit_ns));
	try_script(trial, FEATURE_BREAK, &breaking);
}

/* One gives it back, and two has it. */
static void
hand_on(struct trial *trial, bool is_waiting)
{
	struct party *two = &trial->two;
	struct instant before = clock_now();
	bool is_told = is_waiting && two->answer.place.told;
	(void)request(trial, &trial->one, STORE_RELEASE, false, false);
	if (trial->is_lost || !is_waiting)
		return;
	if (is_told) {
		bool heard = check_party_wait(two, &two->granted_at);
		if (heard)
			trial->facts->message_ns = instant_between(before, two->granted_at);
		check_facts_take_trial(trial->facts, FEATURE_MESSAGES, heard,
		    "none came when the lock was handed on");
	}
	enum outcome outcome = request(trial, two, STORE_ACQUIRE, true, false);
	if (!trial->is_lost)
		check_facts_take_trial(trial->facts, FEATURE_WAIT, outcome == OUTCOME_OK,
		    explain(&two->answer.problem, "the lock was not handed on"));
	(void)request(trial, two, STORE_RELEASE, false, false);
}

/* Without a right that holding needs nothing is begun that might not be ended. */
static void
try_all(struct trial *trial)
{
	struct check_facts *facts = trial->facts;
	struct check_trial *lock = &facts->trials[FEATURE_LOCK];
	bool is_held = false, is_waiting = false;
	if (!ask_check(trial, "try", take_refusals)) {
		if (!trial->is_lost) {
			check_facts_take_trial(facts, FEATURE_LOCK, false, trial->error.text);
			look_and_break(trial);
		}
		return;
	}
	if (lock->missing[0] == '\0')
		is_held = hold(trial, FEATURE_LOCK, "exclusive", true);
	else
		check_facts_take_trial(facts, FEATURE_LOCK, false, "");
	if (is_held && !check_watch_try(trial->second, facts, trial->keys.lock, renew, trial)) {
		trial->visit->outcome =
		    trial->is_lost ? trial->visit->outcome : trial->second->outcome;
		trial->visit->problem =
		    trial->is_lost ? trial->visit->problem : trial->second->problem;
		trial->is_lost = true;
	}
	if (is_held && facts->trials[FEATURE_WAIT].missing[0] == '\0')
		is_waiting = stand_in_line(trial);
	look_and_break(trial);
	if (is_held) {
		hand_on(trial, is_waiting);
		if (!trial->is_lost)
			hold(trial, FEATURE_SHARED, "shared", false);
		if (!trial->is_lost)
			hold(trial, FEATURE_SLOTS, "slots:2", false);
		check_facts_take_trial(facts, FEATURE_COUNTER,
		    facts->trials[FEATURE_COUNTER].missing[0] == '\0', "");
	}
	if (!trial->is_lost)
		(void)ask_check(trial, "clean", take_any);
}

bool
check_trial_make_keys(struct keys *keys, const char *prefix, struct problem *problem)
{
	char name[sizeof TRIAL_NAME + TOKEN_SIZE], token[TOKEN_SIZE];
	identity_make_token(token);
	snprintf(name, sizeof name, TRIAL_NAME "%s", token);
	return keys_make(keys, prefix, name, problem);
}

bool
check_trial_run(struct visit *visit, struct visit *second, const struct keys *keys,
    struct check_facts *facts)
{
	static struct trial trial;
	memset(&trial, 0, sizeof trial);
	trial.visit = visit;
	trial.second = second;
	trial.facts = facts;
	trial.keys = *keys;
	trial.patience = (struct timer){.due = on_patience_over, .context = &trial};
	if (check_party_open(&trial.one, visit->settings, &trial.keys) &&
	    check_party_open(&trial.two, visit->settings, &trial.keys)) {
		visit->leave = second->leave = leave;
		visit->leave_context = second->leave_context = &trial;
		try_all(&trial);
	} else {
		problem_set_errno(&visit->problem, NULL, ENOMEM);
		visit->problem.is_system = true;
		visit->outcome = OUTCOME_UNKNOWN;
		trial.is_lost = true;
	}
	visit->leave = second->leave = NULL;
	check_party_close(&trial.one);
	check_party_close(&trial.two);
	return !trial.is_lost;
}
