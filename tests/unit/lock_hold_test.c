/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* lock/: holding, renewing, and losing (SPEC section 5, promises 1 and 2). */
#include <string.h>

#include "lock_bench.h"
#include "tap.h"

static struct bench bench;

/* Of a TTL of 30 s. */
#define TERM_AT (23698 * MS)

static void
check_lost(enum lock_loss loss)
{
	CHECK_INT(bench.lock.state, LOCK_LOST);
	CHECK_INT(bench.lock.loss, loss);
	CHECK(!lock_is_held(&bench.lock));
	CHECK_INT(bench.told_state, LOCK_LOST);
	CHECK_INT(lock_due(&bench.lock).ns, INT64_MAX);
	/* A lost lock is never recreated, and asks for nothing by itself. */
	int total = bench.store.total;
	bench_pass(&bench, 3600 * S);
	CHECK_INT(bench.store.total, total);
	CHECK_INT(bench.lock.state, LOCK_LOST);
	CHECK_INT(bench.lock.loss, loss);
	CHECK_INT(bench.store.overlaps, 0);
	CHECK(bench.store.started[STORE_ACQUIRE] <= 2);
}

static void
test_renewal(void)
{
	tap_case("renewed at T/3, from the send of the last confirmation");
	bench_hold(&bench, 30 * S);
	struct instant t0 = bench.lock.t0;
	bench_pass(&bench, 10 * S - 1);
	CHECK_INT(bench.store.total, 1);
	bench_pass(&bench, 1);
	CHECK(bench_is_asked(&bench, STORE_RENEW));

	tap_case("what a renewal asks for: nothing is sent when its lease is over");
	CHECK_INT(bench.store.request.ttl_ns, 30 * S);
	CHECK_INT(bench.store.request.answer_limit_ns, 2500 * MS);
	CHECK_INT(bench.store.request.connect_limit_ns, 5 * S);
	CHECK_INT(bench.store.request.not_later.ns, t0.ns + TERM_AT);

	tap_case("confirmed: a new t0, the instant of the send");
	struct instant sent = bench.now;
	bench_pass(&bench, 400 * MS);
	bench_answer(&bench, OUTCOME_OK);
	CHECK_INT(bench.lock.state, LOCK_HELD);
	CHECK_INT(bench.told_state, LOCK_HELD);
	CHECK_INT(bench.told_at.ns, bench.now.ns);
	CHECK_INT(bench.lock.t0.ns, sent.ns);
	CHECK_INT(lock_due(&bench.lock).ns, sent.ns + 10 * S);

	tap_case("a renewal may not hang in a connection attempt for long");
	bench_hold(&bench, 3 * S);
	CHECK(bench_pass_until_asked(&bench, 2 * S));
	CHECK_INT(bench.store.request.connect_limit_ns, 500 * MS);
	CHECK_INT(bench.store.request.answer_limit_ns, 250 * MS);
	bench_hold(&bench, 1 * S);
	CHECK(bench_pass_until_asked(&bench, 2 * S));
	CHECK_INT(bench.store.request.connect_limit_ns, 200 * MS);
	CHECK_INT(bench.store.request.answer_limit_ns, 100 * MS);

	tap_case("R3: a thousand renewals, each at T/3");
	bench_hold(&bench, 3 * S);
	for (int i = 0; i < 1000 && !tap_failed(); i++) {
		t0 = bench.lock.t0;
		CHECK(bench_pass_until_asked(&bench, 10 * S));
		CHECK_INT(instant_between(t0, bench.now), 1 * S);
		bench_pass(&bench, 1 * MS);
		bench_answer(&bench, OUTCOME_OK);
	}
}

static void
test_unanswered(void)
{
	static const enum outcome outcomes[] = {OUTCOME_UNKNOWN, OUTCOME_UNREACHABLE,
	    OUTCOME_REFUSED, OUTCOME_DENIED, OUTCOME_HELD};
	static const struct {
		int64_t ttl_ns, term_at, longest;
	} rows[] = {{30 * S, TERM_AT, 2500 * MS}, {3 * S, 1918 * MS, 250 * MS},
	    {1 * S, 638 * MS, 100 * MS}};
	for (size_t i = 0; i < COUNT_OF(outcomes); i++) {
		for (size_t k = 0; k < COUNT_OF(rows); k++) {
			tap_case(
			    "failed renewals (outcome %d, T row %zu): 0, 50, 100 ms ... T/12, lost at term_at",
			    (int)outcomes[i], k + 1);
			bench_hold(&bench, rows[k].ttl_ns);
			struct instant t0 = bench.lock.t0;
			int64_t wanted = 0;
			CHECK(bench_pass_until_asked(&bench, rows[k].ttl_ns));
			while (!tap_failed()) {
				struct instant answered = bench.now;
				bench_answer(&bench, outcomes[i]);
				CHECK_INT(bench.lock.state, LOCK_DOUBTFUL);
				CHECK_INT(bench.told_state, LOCK_DOUBTFUL);
				CHECK(lock_is_held(&bench.lock));
				if (!bench_pass_until_asked(&bench, rows[k].ttl_ns))
					break;
				CHECK(bench.now.ns < t0.ns + rows[k].term_at);
				CHECK_INT(instant_between(answered, bench.now), wanted);
				CHECK(bench_is_asked(&bench, STORE_RENEW));
				wanted = wanted == 0 ? 50 * MS : 2 * wanted;
				wanted = wanted < rows[k].longest ? wanted : rows[k].longest;
			}
			CHECK_INT(bench.told_at.ns, t0.ns + rows[k].term_at);
			CHECK_INT(wanted, rows[k].longest);
			check_lost(LOSS_UNCONFIRMED);
		}
	}
}

static void
test_recovered(void)
{
	tap_case("R72: one failure, and the lock is held on; the next row of failures begins anew");
	bench_hold(&bench, 30 * S);
	for (int i = 0; i < 20 && !tap_failed(); i++) {
		CHECK(bench_pass_until_asked(&bench, 30 * S));
		for (int failures = i % 4; failures > 0; failures--) {
			bench_answer(&bench, OUTCOME_REFUSED);
			CHECK_INT(bench.lock.state, LOCK_DOUBTFUL);
			struct instant answered = bench.now;
			CHECK(bench_pass_until_asked(&bench, 30 * S));
			if (failures == i % 4)
				CHECK_INT(answered.ns, bench.now.ns);
		}
		struct instant sent = bench.now;
		bench_answer(&bench, OUTCOME_OK);
		CHECK_INT(bench.lock.state, LOCK_HELD);
		CHECK_INT(bench.lock.t0.ns, sent.ns);
		CHECK_INT(lock_due(&bench.lock).ns, sent.ns + 10 * S);
	}
	tap_case("in a row of failures the first one's instant and the last one's reason are kept");
	bench_hold(&bench, 30 * S);
	CHECK(bench_pass_until_asked(&bench, 30 * S));
	bench_pass(&bench, 7 * MS);
	struct instant first = bench.now;
	bench_answer(&bench, OUTCOME_REFUSED);
	CHECK(bench_pass_until_asked(&bench, 30 * S));
	bench_pass(&bench, 7 * MS);
	bench_answer(&bench, OUTCOME_UNKNOWN);
	CHECK_INT(bench.lock.trouble_since.ns, first.ns);
	CHECK_TEXT(bench.lock.problem.text, "outcome 6");
}

static void
test_late_answers(void)
{
	tap_case("lost exactly at term_at while a renewal is under way");
	bench_hold(&bench, 30 * S);
	struct instant t0 = bench.lock.t0;
	bench_pass(&bench, TERM_AT - 1);
	CHECK(bench_is_asked(&bench, STORE_RENEW));
	CHECK_INT(bench.lock.state, LOCK_HELD);
	bench_pass(&bench, 1);
	CHECK_INT(bench.told_at.ns, t0.ns + TERM_AT);
	CHECK_INT(bench.lock.state, LOCK_LOST);

	tap_case("a late confirmation revives nothing");
	bench_pass(&bench, 1 * MS);
	bench_answer(&bench, OUTCOME_OK);
	CHECK_INT(bench.lock.t0.ns, t0.ns);
	check_lost(LOSS_UNCONFIRMED);

	tap_case("nor one that comes before the clock was looked at");
	bench_hold(&bench, 30 * S);
	t0 = bench.lock.t0;
	CHECK(bench_pass_until_asked(&bench, 30 * S));
	bench.now = instant_plus(t0, TERM_AT);
	bench_answer(&bench, OUTCOME_OK);
	CHECK_INT(bench.lock.t0.ns, t0.ns);
	check_lost(LOSS_UNCONFIRMED);

	tap_case("a nanosecond before term_at it still counts");
	bench_hold(&bench, 30 * S);
	t0 = bench.lock.t0;
	CHECK(bench_pass_until_asked(&bench, 30 * S));
	struct instant sent = bench.now;
	bench.now = instant_plus(t0, TERM_AT - 1);
	bench_answer(&bench, OUTCOME_OK);
	CHECK_INT(bench.lock.state, LOCK_HELD);
	CHECK_INT(bench.lock.t0.ns, sent.ns);

	tap_case("a failure that comes after term_at is the end, too");
	bench_hold(&bench, 30 * S);
	CHECK(bench_pass_until_asked(&bench, 30 * S));
	bench.now = bench_after_t0(&bench, TERM_AT);
	bench_answer(&bench, OUTCOME_UNREACHABLE);
	check_lost(LOSS_UNCONFIRMED);
}

static void
test_lost(void)
{
	tap_case("P9: the key is gone: lost at that answer, which explains all");
	bench_hold(&bench, 30 * S);
	CHECK(bench_pass_until_asked(&bench, 30 * S));
	bench_pass(&bench, 2 * MS);
	bench_answer_lost(&bench, true);
	CHECK_INT(bench.told_at.ns, bench.now.ns);
	CHECK(bench.lock.explained);
	CHECK(!bench.store.under_way);
	check_lost(LOSS_GONE);

	tap_case("P7: another has it: lost at that answer, then it is asked who");
	bench_hold(&bench, 30 * S);
	CHECK(bench_pass_until_asked(&bench, 30 * S));
	bench_answer_lost(&bench, false);
	CHECK_INT(bench.lock.state, LOCK_LOST);
	CHECK_INT(bench.told_state, LOCK_LOST);
	CHECK_INT(bench.told_at.ns, bench.now.ns);
	CHECK(!bench.lock.explained);
	CHECK(bench_is_asked(&bench, STORE_LOOK));
	int told = bench.told;
	bench_pass(&bench, 5 * MS);
	bench_answer_held(&bench, 20 * S);
	CHECK_INT(bench.told, told + 1);
	CHECK(bench.lock.explained);
	CHECK_TEXT(bench.lock.holder.token, "another");
	check_lost(LOSS_ANOTHER);

	static const enum outcome outcomes[] = {OUTCOME_OK, OUTCOME_LOST, OUTCOME_UNREACHABLE,
	    OUTCOME_REFUSED, OUTCOME_DENIED, OUTCOME_UNKNOWN};
	for (size_t i = 0; i < COUNT_OF(outcomes); i++) {
		tap_case("another has it, and who cannot be learnt: outcome %d", (int)outcomes[i]);
		bench_hold(&bench, 30 * S);
		CHECK(bench_pass_until_asked(&bench, 30 * S));
		bench_answer_lost(&bench, false);
		bench_answer(&bench, outcomes[i]);
		CHECK(bench.lock.explained);
		CHECK_TEXT(bench.lock.holder.token, "");
		check_lost(LOSS_ANOTHER);
	}

	for (size_t i = 0; i < COUNT_OF(outcomes); i++) {
		tap_case("and then it is not said to be who had it while we waited: outcome %d",
		    (int)outcomes[i]);
		bench_acquire(&bench, 30 * S, WAIT_FOR_EVER);
		bench_answer_held(&bench, 20 * S);
		CHECK(bench_pass_until_asked(&bench, 1 * S));
		bench_answer(&bench, OUTCOME_OK);
		CHECK(bench_pass_until_asked(&bench, 30 * S));
		bench_answer_lost(&bench, false);
		bench_answer(&bench, outcomes[i]);
		CHECK(bench.lock.explained);
		CHECK_TEXT(bench.lock.holder.token, "");
		check_lost(LOSS_ANOTHER);
	}

	tap_case("lost after failures is lost as well");
	bench_hold(&bench, 30 * S);
	CHECK(bench_pass_until_asked(&bench, 30 * S));
	bench_answer(&bench, OUTCOME_UNKNOWN);
	CHECK(bench_pass_until_asked(&bench, 30 * S));
	bench_answer_lost(&bench, true);
	check_lost(LOSS_GONE);
}

/* The machine slept: BOOTTIME went on, MONOTONIC did not. */
static void
test_sleep(void)
{
	tap_case("R75, S82: asleep beyond the lease while idle: lost, and no renewal is sent");
	bench_hold(&bench, 30 * S);
	bench_sleep(&bench, 60 * S);
	CHECK_INT(bench.store.total, 1);
	CHECK_INT(bench.told_at.ns, bench.now.ns);
	check_lost(LOSS_UNCONFIRMED);

	tap_case("R75: while a renewal is under way");
	bench_hold(&bench, 30 * S);
	CHECK(bench_pass_until_asked(&bench, 30 * S));
	bench_sleep(&bench, 60 * S);
	CHECK_INT(bench.store.total, 2);
	check_lost(LOSS_UNCONFIRMED);

	tap_case("R75: while a retry is due");
	bench_hold(&bench, 30 * S);
	CHECK(bench_pass_until_asked(&bench, 30 * S));
	bench_answer(&bench, OUTCOME_UNREACHABLE);
	bench_sleep(&bench, 60 * S);
	CHECK_INT(bench.store.total, 2);
	check_lost(LOSS_UNCONFIRMED);

	tap_case("R75: to term_at exactly");
	bench_hold(&bench, 30 * S);
	bench_sleep(&bench, TERM_AT);
	CHECK_INT(bench.store.total, 1);
	check_lost(LOSS_UNCONFIRMED);

	tap_case("asleep within the lease: renewed at once");
	bench_hold(&bench, 30 * S);
	bench_sleep(&bench, TERM_AT - 1);
	CHECK(bench_is_asked(&bench, STORE_RENEW));
	CHECK_INT(bench.lock.state, LOCK_HELD);
}

/* A store whose locks die with a session (PostgreSQL). */
static void
test_session_ended(void)
{
	const struct problem why = {.text = "terminated"};
	tap_case("the session's end is told between two renewals: lost, and why");
	bench_hold(&bench, 30 * S);
	bench_pass(&bench, 3 * S);
	bench.store.store.events->ended(bench.store.store.context, &why, bench.now);
	CHECK_TEXT(bench.lock.loss_problem.text, "terminated");
	CHECK(bench.lock.explained);
	check_lost(LOSS_ENDED);

	tap_case("what is lost with its session is not given back: nobody is asked");
	int total = bench.store.total;
	lock_release(&bench.lock, bench.now, 0);
	CHECK_INT(bench.lock.state, LOCK_RELEASED);
	CHECK_INT(bench.lock.released, RELEASE_CONFIRMED);
	CHECK_INT(bench.store.total, total);

	tap_case("told again, or to one who holds nothing, it changes nothing");
	bench.store.store.events->ended(bench.store.store.context, &why, bench.now);
	CHECK_INT(bench.lock.state, LOCK_RELEASED);
	bench_acquire(&bench, 30 * S, WAIT_FOR_EVER);
	bench.store.store.events->ended(bench.store.store.context, &why, bench.now);
	CHECK_INT(bench.lock.state, LOCK_ASKING);

	tap_case("as the answer to a renewal");
	bench_hold(&bench, 30 * S);
	CHECK(bench_pass_until_asked(&bench, 12 * S));
	const struct store_answer answer = {.outcome = OUTCOME_LOST,
	    .ended = true,
	    .sent_at = bench.now,
	    .received_at = bench.now,
	    .problem = why};
	bench.store.under_way = false;
	bench.store.store.events->answered(bench.store.store.context, &answer);
	CHECK_TEXT(bench.lock.loss_problem.text, "terminated");
	check_lost(LOSS_ENDED);
}

int
main(void)
{
	test_renewal();
	test_unanswered();
	test_recovered();
	test_late_answers();
	test_lost();
	test_sleep();
	test_session_ended();
	return tap_end();
}
