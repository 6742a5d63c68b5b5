/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/postgres_parts.h"

/* -- asking ----------------------------------------------------------------------------------- */

static void
write_comment(const struct postgres_store *postgres, char comment[POSTGRES_COMMENT])
{
	const struct postgres_record record = {
	    .token = postgres->settings->token,
	    .key = postgres->settings->keys->lock,
	    .record = postgres->settings->record,
	    .fence = postgres->is_held ? postgres->fence : "",
	    .since_us = postgres->is_held ? postgres->since_us : 0,
	};
	postgres_write_comment(comment, &record);
}

static void
ask(struct postgres_store *postgres, enum postgres_ask what, const char *statement)
{
	/* A renewal that nobody has waited for may still be under way: it is the same one. */
	postgres->asked = what;
	postgres_session_ask(&postgres->session, statement);
	postgres->sent_at = postgres->session.asked_at;
	loop_set_timer(postgres->loop, &postgres->deadline,
	    instant_plus(postgres->sent_at, postgres->request.answer_limit_ns));
}

static void
send_acquire(struct postgres_store *postgres)
{
	const struct postgres_settings *settings = postgres->settings;
	char comment[POSTGRES_COMMENT], statement[POSTGRES_STATEMENT];
	int64_t ttl_ms = ms_from_ns(postgres->request.ttl_ns);
	const struct postgres_acquire acquire = {
	    .numbers = &postgres->numbers,
	    .mode = settings->mode,
	    .slots = settings->slots,
	    .ttl_ms = ttl_ms < POSTGRES_MS_MOST ? ttl_ms : POSTGRES_MS_MOST,
	    .fence_base = settings->url->fence_base,
	    .comment = comment,
	    .application = postgres->application,
	    .joins = postgres->listens,
	    .is_joined = postgres->is_joined,
	    .ancestor = postgres->request.ancestor,
	    .under = postgres->request.under,
	};
	write_comment(postgres, comment);
	postgres_write_acquire(statement, &acquire);
	ask(postgres, ASK_ACQUIRE, statement);
}

static void
send_renew(struct postgres_store *postgres)
{
	char comment[POSTGRES_COMMENT], statement[POSTGRES_STATEMENT];
	write_comment(postgres, comment);
	postgres_write_renew(statement, &postgres->numbers, comment);
	ask(postgres, ASK_RENEW, statement);
}

static void
send_release(struct postgres_store *postgres)
{
	char comment[POSTGRES_COMMENT], statement[POSTGRES_STATEMENT];
	write_comment(postgres, comment);
	postgres_write_release(statement, &postgres->numbers, comment,
	    postgres->is_held ? 0 : postgres->ticket);
	ask(postgres, ASK_RELEASE, statement);
}

static void
send_listen(struct postgres_store *postgres)
{
	char statement[64];
	snprintf(statement, sizeof statement, "LISTEN %s", postgres->numbers.channel);
	ask(postgres, ASK_LISTEN, statement);
}

/* It is one of ours if it says so: backends' numbers are used again. */
void
postgres_bury_ghost(struct postgres_store *postgres)
{
	char statement[256 + POSTGRES_APPLICATION];
	snprintf(statement, sizeof statement,
	    "SELECT pg_terminate_backend(pid, 1000) FROM pg_stat_activity WHERE pid = %" PRId64
	    " AND left(application_name, %zu) = '%s'",
	    postgres->ghost, strlen(postgres->application), postgres->application);
	ask(postgres, ASK_BURY, statement);
}

/* Then what it was for. Until then it is a ghost: this session may end before it has told. */
static void
take_burial(struct postgres_store *postgres)
{
	struct store_answer told = {.outcome = OUTCOME_OK};
	postgres->ghost = 0;
	if (postgres->pending && postgres->request.verb == STORE_RELEASE)
		postgres_report(postgres, &told);
	else if (postgres->pending)
		postgres_send(postgres);
}

void
postgres_send(struct postgres_store *postgres)
{
	switch (postgres->request.verb) {
	case STORE_ACQUIRE:
		if (postgres->is_held)
			send_renew(postgres);
		else
			send_acquire(postgres);
		break;
	case STORE_RENEW:
	case STORE_TOUCH:
		send_renew(postgres);
		break;
	case STORE_RELEASE:
		send_release(postgres);
		break;
	case STORE_LOOK: /* of a lock that another has, which a session's never is */
		break;
	}
}

/* -- answers ---------------------------------------------------------------------------------- */

/* An error. Of what was to be had it is not known how much has been had: the session is ended. */
static void
take_error(struct postgres_store *postgres, const struct pq_answer *answer)
{
	struct store_answer told = {.outcome = OUTCOME_OK};
	told.outcome = postgres_session_judge(answer, &told.problem);
	if (!postgres->is_held)
		postgres_drop(postgres);
	if (postgres->pending)
		postgres_report(postgres, &told);
}

static void
refuse_grant(struct postgres_store *postgres, struct store_answer *answer)
{
	postgres_drop(postgres);
	answer->outcome = OUTCOME_REFUSED;
	answer->for_good = true;
	postgres_report(postgres, answer);
}

static void
take_grant(struct postgres_store *postgres, const struct pq_answer *answer)
{
	const struct postgres_settings *settings = postgres->settings;
	struct store_answer told = {.outcome = OUTCOME_OK};
	int64_t fence = 0, backend = 0;
	const char *text = pq_answer_text(answer, 0, ACQUIRE_FENCE);
	bool makes_sense = postgres_read_number(text, &fence) && fence > 0 &&
	    postgres_read_number(pq_answer_text(answer, 0, ACQUIRE_BACKEND), &backend);
	if (!makes_sense || backend != postgres->session.backend) {
		problem_set(&told.problem,
		    makes_sense
			? "a connection pooler has changed the session between two statements: "
			  "name the server itself, or a pool with pool_mode=session"
			: "the server's answer makes no sense");
		refuse_grant(postgres, &told);
		return;
	}
	if (fence <= settings->min_fence) {
		problem_set(&told.problem,
		    "its fencing number would be %" PRId64 ", and --min-fence is %" PRId64
		    ": all who use it must add at least %" PRId64
		    " to that of the server URL, as in ?fence_base=%" PRId64,
		    fence, settings->min_fence, settings->min_fence + 1 - fence,
		    settings->url->fence_base + (settings->min_fence + 1 - fence));
		refuse_grant(postgres, &told);
		return;
	}
	postgres->is_held = true;
	postgres->is_ended = false;
	postgres_wait_end(postgres);
	snprintf(postgres->fence, sizeof postgres->fence, "%s", text);
	postgres->slot = atoi(pq_answer_text(answer, 0, ACQUIRE_SLOT));
	postgres_read_number(pq_answer_text(answer, 0, ACQUIRE_CLOCK), &postgres->since_us);
	memcpy(told.fence, postgres->fence, sizeof told.fence);
	told.slot = postgres->slot;
	postgres_report(postgres, &told);
}

/* Who has it: what that session says of itself, or else what the server does. */
static void
read_holder(const struct pq_answer *answer, struct holder *holder)
{
	const char *application = pq_answer_text(answer, 0, ACQUIRE_HOLDER_APPLICATION);
	const char *user = pq_answer_text(answer, 0, ACQUIRE_HOLDER_USER);
	const char *backend = pq_answer_text(answer, 0, ACQUIRE_HOLDER_BACKEND);
	char token[TOKEN_SIZE], key[KEY_SIZE];
	int64_t now_us = 0, since_us = 0;
	*holder = (struct holder){.held_ns = -1, .by_session = true};
	holder->known = postgres_read_comment(pq_answer_text(answer, 0, ACQUIRE_HOLDER),
	    &holder->identity, token, key);
	if (holder->known)
		snprintf(holder->token, sizeof holder->token, "%s", token);
	else
		snprintf(holder->token, sizeof holder->token, "%.24s, backend %.12s",
		    application[0] != '\0' ? application : user, backend);
	since_us = holder->identity.since_us;
	if (since_us == 0)
		postgres_read_number(pq_answer_text(answer, 0, ACQUIRE_HOLDER_SINCE), &since_us);
	postgres_read_number(pq_answer_text(answer, 0, ACQUIRE_CLOCK), &now_us);
	if (holder->known && since_us > 0 && now_us > since_us)
		holder->held_ns = (now_us - since_us) * NS_PER_US;
	if (!holder->known && postgres_read_application(application, &holder->identity)) {
		holder->known = true;
		snprintf(holder->identity.user, sizeof holder->identity.user, "%s", user);
	}
}

static void
take_held(struct postgres_store *postgres, const struct pq_answer *answer)
{
	struct store_answer told = {.outcome = OUTCOME_HELD, .place = {.rank = -1}};
	int64_t waiting = 0;
	int64_t most = postgres->settings->max_waiters;
	postgres_read_number(pq_answer_text(answer, 0, ACQUIRE_WAITING), &waiting);
	postgres_read_number(pq_answer_text(answer, 0, ACQUIRE_RANK), &postgres->rank);
	postgres_read_number(pq_answer_text(answer, 0, ACQUIRE_TICKET), &postgres->ticket);
	postgres->is_joined = postgres->listens;
	told.place.full =
	    postgres->request.wait && !postgres->is_joined && most >= 0 && waiting >= most;
	if (postgres->request.wait && !postgres->listens && !told.place.full) {
		send_listen(postgres); /* and then again: it may be free since */
		return;
	}
	if (postgres->is_joined) {
		told.place.rank = postgres->rank;
		told.place.ticket = postgres->ticket;
		told.place.told = true;
	} else {
		told.place.waiting = waiting;
	}
	read_holder(answer, &told.holder);
	told.holder.left_ns = postgres_wait_look_again(postgres);
	postgres_report(postgres, &told);
	postgres_wait_answered(postgres);
}

static void
take_acquire(struct postgres_store *postgres, const struct pq_answer *answer)
{
	const char *word = pq_answer_text(answer, 0, ACQUIRE_WORD);
	if (word[0] == 'G') {
		take_grant(postgres, answer);
	} else if (word[0] == 'H') {
		take_held(postgres, answer);
	} else {
		struct store_answer told = {.outcome = OUTCOME_REFUSED};
		problem_set(&told.problem,
		    word[0] == 'N' ? "it has another number of slots there, not %d: all who use it "
				     "must give the same --slots"
				   : "the server's answer makes no sense (%d)",
		    postgres->settings->slots);
		refuse_grant(postgres, &told);
	}
}

/* Also in the place of an acquire, to confirm what is had afresh. */
static void
take_renew(struct postgres_store *postgres, const struct pq_answer *answer)
{
	struct store_answer told = {.outcome = OUTCOME_OK, .slot = postgres->slot};
	bool is_own = strcmp(pq_answer_text(answer, 0, 0), "t") == 0 &&
	    strtoll(pq_answer_text(answer, 0, 1), NULL, 10) == postgres->session.backend;
	memcpy(told.fence, postgres->fence, sizeof told.fence);
	if (!is_own) {
		told.outcome = OUTCOME_LOST;
		told.ended = true;
		problem_set(&told.problem,
		    "the session does not have it any more (a connection pooler, or "
		    "pg_advisory_unlock_all)");
		postgres_drop(postgres);
		postgres->is_ended = true;
	}
	if (postgres->pending)
		postgres_report(postgres, &told);
}

static void
take_release(struct postgres_store *postgres, const struct pq_answer *answer)
{
	struct store_answer told = {.outcome = OUTCOME_OK};
	if (postgres->is_held && strcmp(pq_answer_text(answer, 0, 0), "t") != 0)
		told.outcome = OUTCOME_LOST;
	postgres->is_held = false;
	postgres_wait_end(postgres);
	if (postgres->pending)
		postgres_report(postgres, &told);
}

void
postgres_take_answer(struct postgres_store *postgres, const struct pq_answer *answer)
{
	enum postgres_ask asked = postgres->asked;
	postgres->asked = ASK_NOTHING;
	/* Where it may not be ended it ends when its time is over. */
	if (answer->sqlstate[0] != '\0' && asked != ASK_BURY) {
		take_error(postgres, answer);
		return;
	}
	/* A release has waited for the answer to a renewal. */
	if (asked == ASK_RENEW && postgres->pending && postgres->request.verb == STORE_RELEASE) {
		postgres_send(postgres);
		return;
	}
	switch (asked) {
	case ASK_ACQUIRE:
		take_acquire(postgres, answer);
		break;
	case ASK_LISTEN:
		postgres->listens = true;
		send_acquire(postgres);
		break;
	case ASK_RENEW:
		take_renew(postgres, answer);
		break;
	case ASK_RELEASE:
		take_release(postgres, answer);
		break;
	case ASK_BURY:
		take_burial(postgres);
		break;
	case ASK_NOTHING:
		break;
	}
}
