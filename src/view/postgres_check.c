/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* --check of a PostgreSQL server: what it is, and all that dlock does there, tried by two sessions
 * with a lock of a random name. Nothing of it is left: it ends with them. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/identity.h"
#include "base/message.h"
#include "base/values.h"
#include "exits.h"
#include "view/check_print.h"
#include "view/postgres_look.h"
#include "view/text.h"
#include "view/visit.h"

#define TRIAL_NAME "dlock-check-"
#define MESSAGE_LIMIT (2 * NS_PER_S)
/* Connections that are left for who comes. */
#define FEW_CONNECTIONS 10

struct checking {
	struct check_facts *facts;
	struct postgres_look one, other;
	struct postgres_numbers numbers;
	struct keys keys;
	char comment[POSTGRES_COMMENT];
	char word; /* of the last acquire */
	char fsync[16], full_page_writes[16], user[64];
	bool may_see, may_end, is_pooled;
	int64_t reserved, standbys;
};

/* -- what it is -------------------------------------------------------------------------------- */

static const char select_facts[] =
    "SELECT current_setting('server_version'), current_user, "
    "(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' OR backend_type "
    "IS NULL), current_setting('max_connections'), "
    "current_setting('superuser_reserved_connections'), current_setting('fsync'), "
    "current_setting('full_page_writes'), pg_has_role('pg_read_all_stats', 'usage'), "
    "pg_has_role('pg_signal_backend', 'usage'), (SELECT count(*) FROM pg_stat_replication), "
    "extract(epoch FROM clock_timestamp() - pg_postmaster_start_time())::bigint";

static void
take_text(char *out, size_t size, const struct pq_answer *answer, int column)
{
	snprintf(out, size, "%s", pq_answer_text(answer, 0, column));
}

static bool
take_facts(void *context, const struct pq_answer *answer)
{
	struct checking *checking = context;
	struct check_facts *facts = checking->facts;
	snprintf(facts->product, sizeof facts->product, "postgresql");
	snprintf(facts->role, sizeof facts->role, "primary");
	take_text(facts->version, sizeof facts->version, answer, 0);
	facts->version[strcspn(facts->version, " ")] = '\0';
	take_text(checking->user, sizeof checking->user, answer, 1);
	postgres_read_number(pq_answer_text(answer, 0, 2), &facts->clients);
	postgres_read_number(pq_answer_text(answer, 0, 3), &facts->clients_most);
	postgres_read_number(pq_answer_text(answer, 0, 4), &checking->reserved);
	take_text(checking->fsync, sizeof checking->fsync, answer, 5);
	take_text(checking->full_page_writes, sizeof checking->full_page_writes, answer, 6);
	checking->may_see = strcmp(pq_answer_text(answer, 0, 7), "t") == 0;
	checking->may_end = strcmp(pq_answer_text(answer, 0, 8), "t") == 0;
	postgres_read_number(pq_answer_text(answer, 0, 9), &facts->replicas);
	postgres_read_number(pq_answer_text(answer, 0, 10), &facts->uptime_s);
	return answer->rows == 1;
}

static int64_t
wall_clock_us(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static bool
take_clock(void *context, const struct pq_answer *answer)
{
	return postgres_read_number(pq_answer_text(answer, 0, 0), context);
}

static bool
measure_rounds(struct checking *checking)
{
	for (int i = 0; i < CHECK_ROUNDS; i++) {
		int64_t server_us = 0, sent_us = wall_clock_us();
		struct instant sent = clock_now();
		if (!postgres_look_ask(&checking->one,
			"SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint",
			take_clock, &server_us))
			return false;
		check_facts_take_round(checking->facts, instant_between(sent, clock_now()),
		    server_us, sent_us);
	}
	check_facts_sort(checking->facts);
	return true;
}

/* -- trials ------------------------------------------------------------------------------------ */

static bool
take_word(void *context, const struct pq_answer *answer)
{
	struct checking *checking = context;
	checking->word = pq_answer_text(answer, 0, ACQUIRE_WORD)[0];
	return checking->word != '\0';
}

/* Is the word of the answer what it should be? A failure of the statement is the trial's. */
static bool
try_acquire(struct checking *checking, struct postgres_look *who, enum lock_mode mode, bool joins,
    bool is_joined, char wanted)
{
	char statement[POSTGRES_STATEMENT];
	const struct postgres_acquire acquire = {
	    .numbers = &checking->numbers,
	    .mode = mode,
	    .slots = 2,
	    .ttl_ms = 30000,
	    .comment = checking->comment,
	    .application = "dlock",
	    .joins = joins,
	    .is_joined = is_joined,
	};
	postgres_write_acquire(statement, &acquire);
	checking->word = '\0';
	return postgres_look_ask(who, statement, take_word, checking) && checking->word == wanted;
}

static bool
release(struct checking *checking, struct postgres_look *who)
{
	char statement[POSTGRES_STATEMENT];
	postgres_write_release(statement, &checking->numbers, checking->comment, 0);
	return postgres_look_ask(who, statement, NULL, NULL);
}

static void
note(struct checking *checking, enum check_feature feature, bool works,
    const struct postgres_look *who)
{
	check_facts_take_trial(checking->facts, feature, works,
	    who->outcome != OUTCOME_OK ? who->problem.text : "it was not as expected");
}

static void
on_notified(void *context, const char *channel, const char *payload)
{
	struct postgres_look *look = context;
	(void)channel, (void)payload;
	look->is_over = true;
}

/* The loop wakes up. */
static void
on_nothing(void *context, struct instant now)
{
	(void)context, (void)now;
}

/* From the release to its message at the other one, which is idle. */
static bool
try_message(struct checking *checking)
{
	char statement[64];
	static struct postgres_session_events events;
	struct postgres_look *other = &checking->other;
	snprintf(statement, sizeof statement, "LISTEN %s", checking->numbers.channel);
	if (!postgres_look_ask(other, statement, NULL, NULL))
		return false;
	bool waits = try_acquire(checking, other, MODE_EXCLUSIVE, true, false, 'H');
	note(checking, FEATURE_WAIT, waits, other);
	events = *other->session.events;
	events.notified = on_notified;
	other->session.events = &events;
	struct instant sent = clock_now();
	struct instant until = instant_plus(sent, MESSAGE_LIMIT);
	struct timer limit = {.due = on_nothing};
	other->is_over = false;
	if (!release(checking, &checking->one))
		return false;
	loop_set_timer(other->settings->loop, &limit, until);
	while (!other->is_over && !instant_reached(until, clock_now())) {
		if (loop_run_once(other->settings->loop) != 0)
			return false;
	}
	loop_stop_timer(other->settings->loop, &limit);
	if (other->is_over)
		checking->facts->message_ns = instant_between(sent, clock_now());
	note(checking, FEATURE_MESSAGES, other->is_over, other);
	return waits && try_acquire(checking, other, MODE_EXCLUSIVE, true, true, 'G') &&
	    release(checking, other);
}

static bool
try_all(struct checking *checking)
{
	struct postgres_look *one = &checking->one, *other = &checking->other;
	static struct sight sight;
	bool works = try_acquire(checking, one, MODE_EXCLUSIVE, false, false, 'G') &&
	    try_acquire(checking, other, MODE_EXCLUSIVE, false, false, 'H');
	note(checking, FEATURE_LOCK, works, one);
	if (!works)
		return one->outcome == OUTCOME_OK && other->outcome == OUTCOME_OK;
	works = postgres_look_read(other) &&
	    postgres_look_at(other, TRIAL_NAME, checking->keys.lock, &sight);
	note(checking, FEATURE_STATUS, works && sight.state == SIGHT_HELD, other);
	note(checking, FEATURE_LIST, works && sight.state == SIGHT_HELD, other);
	sight_free(&sight);
	if (!try_message(checking))
		return false;
	works = try_acquire(checking, one, MODE_SHARED, false, false, 'G') &&
	    try_acquire(checking, other, MODE_SHARED, false, false, 'G');
	note(checking, FEATURE_SHARED, works, one);
	if (!release(checking, one) || !release(checking, other))
		return false;
	works = try_acquire(checking, one, MODE_SLOTS, false, false, 'G') &&
	    try_acquire(checking, other, MODE_SLOTS, false, false, 'G');
	note(checking, FEATURE_SLOTS, works, one);
	note(checking, FEATURE_WATCH, true, one);
	check_facts_take_trial(checking->facts, FEATURE_BREAK, true, "");
	return release(checking, one) && release(checking, other);
}

/* -- verdict ----------------------------------------------------------------------------------- */

static void __attribute__((format(printf, 4, 5)))
add(struct check_judgement *judgement, bool is_fatal, const char *code, const char *format, ...)
{
	va_list arguments;
	struct check_reason *reason = &judgement->reasons[judgement->count++];
	reason->code = code;
	reason->is_fatal = is_fatal;
	va_start(arguments, format);
	vsnprintf(reason->text, sizeof reason->text, format, arguments);
	va_end(arguments);
	if (is_fatal)
		judgement->verdict = VERDICT_UNFIT;
	else if (judgement->verdict == VERDICT_GOOD)
		judgement->verdict = VERDICT_WORKS_BUT;
}

static void
judge(const struct checking *checking, struct check_judgement *judgement)
{
	const struct check_facts *facts = checking->facts;
	int64_t left = facts->clients_most - checking->reserved - facts->clients;
	*judgement = (struct check_judgement){.verdict = VERDICT_GOOD};
	if (facts->failure != OUTCOME_OK) {
		add(judgement, true, facts->is_reached ? "broken-off" : "not-reached", "%s",
		    facts->problem.text);
		return;
	}
	for (int i = 0; i < FEATURES; i++) {
		if (facts->trials[i].result == CHECK_FAILS)
			add(judgement, i == FEATURE_LOCK, "trial", "%s: %s",
			    check_feature_name((enum check_feature)i), facts->trials[i].why);
	}
	if (strcmp(checking->fsync, "off") == 0 || strcmp(checking->full_page_writes, "off") == 0)
		add(judgement, false, "not-durable",
		    "%s is off: when the machine crashes fencing numbers may be given again",
		    strcmp(checking->fsync, "off") == 0 ? "fsync" : "full_page_writes");
	if (left < FEW_CONNECTIONS)
		add(judgement, false, "connections",
		    "%" PRId64 " of max_connections %" PRId64 " are left, and each holder and "
		    "waiter has one",
		    left > 0 ? left : 0, facts->clients_most);
	if (checking->is_pooled)
		add(judgement, false, "pooler",
		    "there is a connection pooler: holders and waiters use up its pool, too");
}

static void
print_text(struct text *text, const struct checking *checking, bool is_quiet,
    const struct check_judgement *judgement)
{
	const struct check_facts *facts = checking->facts;
	char line[TEXT_LINE_MAX];
	size_t used;
	if (is_quiet)
		goto verdict;
	snprintf(line, sizeof line, "server: %s", facts->server);
	text_add_line(text, line);
	if (!facts->is_reached) {
		snprintf(line, sizeof line, "reached: no: %s", facts->problem.text);
		text_add_line(text, line);
		goto verdict;
	}
	snprintf(line, sizeof line, "reached: connected and logged in in %.3f ms%s",
	    (double)facts->login_ns / (double)NS_PER_MS,
	    checking->is_pooled ? ", through a connection pooler that keeps sessions apart" : "");
	text_add_line(text, line);
	snprintf(line, sizeof line,
	    "version: postgresql %s, a primary with %" PRId64 " standby%s, up for %" PRId64 "s",
	    facts->version, facts->replicas, facts->replicas == 1 ? "" : "s", facts->uptime_s);
	text_add_line(text, line);
	snprintf(line, sizeof line, "role: %s, which %s, and %s", checking->user,
	    checking->may_see ? "sees all sessions"
			      : "sees of others' sessions host, pid and fence (all of them with "
				"pg_read_all_stats)",
	    checking->may_end ? "may end them (--break)"
			      : "may end its own (--break; others' with pg_signal_backend)");
	text_add_line(text, line);
	snprintf(line, sizeof line, "connections: %" PRId64 " of %" PRId64, facts->clients,
	    facts->clients_most);
	text_add_line(text, line);
	check_print_times(text, facts);
verdict:
	used = (size_t)snprintf(line, sizeof line, "verdict: %s",
	    check_verdict_name(judgement->verdict));
	for (size_t i = 0; i < judgement->count && used < sizeof line; i++)
		used += (size_t)snprintf(line + used, sizeof line - used, "%s%s",
		    i == 0 ? ": " : "; ", judgement->reasons[i].text);
	text_add_line(text, line);
}

/* False: what was broken off is in facts. */
static bool
ask_all(struct checking *checking, const struct view_settings *settings)
{
	struct check_facts *facts = checking->facts;
	struct postgres_look *failed = &checking->one;
	struct instant began = clock_now();
	bool is_good = postgres_look_begin(&checking->one, settings);
	if (is_good) {
		facts->is_reached = true;
		facts->login_ns = instant_between(began, clock_now());
		checking->is_pooled = checking->one.session.channel[0] != '\0';
		is_good = postgres_look_ask(&checking->one, select_facts, take_facts, checking) &&
		    measure_rounds(checking);
	}
	if (is_good) {
		failed = &checking->other;
		is_good = postgres_look_begin(&checking->other, settings) && try_all(checking);
		if (!is_good && checking->one.outcome != OUTCOME_OK)
			failed = &checking->one;
	}
	if (!is_good) {
		facts->failure = failed->outcome != OUTCOME_OK ? failed->outcome : OUTCOME_UNKNOWN;
		facts->problem = failed->problem;
	}
	postgres_look_end(&checking->one);
	if (checking->other.settings != NULL)
		postgres_look_end(&checking->other);
	return is_good;
}

int
postgres_view_check(const struct view_settings *settings, const struct lease_terms *terms)
{
	static struct check_facts facts;
	static struct check_judgement judgement;
	static struct checking checking;
	char token[TOKEN_SIZE], name[sizeof TRIAL_NAME + TOKEN_SIZE];
	struct text text = {.bytes = NULL};
	struct problem unused;
	check_facts_init(&facts, settings->server, settings->prefix, 0, terms);
	checking.facts = &facts;
	identity_make_token(token);
	snprintf(name, sizeof name, TRIAL_NAME "%s", token);
	keys_make(&checking.keys, settings->prefix, name, &unused); /* the caller has tried it */
	/* dlock_key is the lock of others: what is tried is beside it. */
	struct url url = *settings->url;
	url.has_lock_number = false;
	postgres_numbers_make(&checking.numbers, &url, checking.keys.lock, 2);
	const struct postgres_record record = {.token = token,
	    .key = checking.keys.lock,
	    .record = "command=dlock\n",
	    .fence = ""};
	postgres_write_comment(checking.comment, &record);
	ask_all(&checking, settings);
	judge(&checking, &judgement);
	int status = check_status(&facts, &judgement);
	if (facts.failure != OUTCOME_OK)
		message_error("cannot check %s: %s", settings->server, facts.problem.text);
	if (status != EXIT_CONFIG && status != EXIT_SYSTEM) {
		if (settings->json) {
			text_add(&text, "[", 1);
			check_print_json(&text, &facts, &judgement);
			text_add(&text, "]\n", 2);
		} else {
			print_text(&text, &checking, settings->quiet, &judgement);
		}
		int failure = visit_print(settings, &text);
		status = failure != 0 ? failure : status;
	}
	text_free(&text);
	return status;
}
