/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* lock/: giving the lock back. */
#include <string.h>

#include "lock_bench.h"
#include "tap.h"

static struct bench bench;

/* Of a TTL of 30 s. */
#define TERM_AT (23698 * MS)

static void
check_released(enum lock_release released)
{
	CHECK_INT(bench.lock.state, LOCK_RELEASED);
	CHECK_INT(bench.lock.released, released);
	CHECK_INT(bench.told_state, LOCK_RELEASED);
	CHECK_INT(lock_due(&bench.lock).ns, INT64_MAX);
	CHECK(!lock_is_held(&bench.lock));
	int total = bench.store.total, told = bench.told;
	bench_pass(&bench, 3600 * S);
	CHECK_INT(bench.store.total, total);
	CHECK_INT(bench.told, told);
	CHECK_INT(bench.store.overlaps, 0);
	CHECK_INT(bench.store.started[STORE_ACQUIRE], 1);
}

static void
hold_and_release(int64_t after_ns, int64_t rest_ns)
{
	bench_hold(&bench, 30 * S);
	bench_pass(&bench, after_ns);
	lock_release(&bench.lock, bench.now, rest_ns);
	CHECK(bench_is_asked(&bench, STORE_RELEASE));
	CHECK_INT(bench.lock.state, LOCK_RELEASING);
}

static void
test_confirmed(void)
{
	tap_case("released and confirmed");
	hold_and_release(3 * S, 0);
	CHECK(!lock_is_held(&bench.lock));
	CHECK_INT(bench.store.request.rest_ns, 0);
	CHECK_INT(bench.store.request.answer_limit_ns, 500 * MS);
	CHECK_INT(instant_between(bench.now, bench.store.request.not_later), 2 * S);
	bench_pass(&bench, 2 * MS);
	bench_answer(&bench, OUTCOME_OK);
	CHECK_INT(bench.told_at.ns, bench.now.ns);
	check_released(RELEASE_CONFIRMED);
	CHECK_INT(bench.store.closed, 0);

	tap_case("P72: --at-least: released for the time that is left, in every try");
	hold_and_release(3 * S, 27 * S);
	CHECK_INT(bench.store.request.rest_ns, 27 * S);
	bench_answer(&bench, OUTCOME_UNREACHABLE);
	bench_pass(&bench, 0);
	CHECK(bench_is_asked(&bench, STORE_RELEASE));
	CHECK_INT(bench.store.request.rest_ns, 27 * S);
	bench_answer(&bench, OUTCOME_OK);
	check_released(RELEASE_CONFIRMED);

	tap_case("released while doubtful, between two tries");
	bench_hold(&bench, 30 * S);
	CHECK(bench_pass_until_asked(&bench, 30 * S));
	bench_answer(&bench, OUTCOME_REFUSED);
	bench_pass(&bench, 0);
	bench_answer(&bench, OUTCOME_REFUSED);
	CHECK_INT(bench.lock.state, LOCK_DOUBTFUL);
	lock_release(&bench.lock, bench.now, 0);
	CHECK(bench_is_asked(&bench, STORE_RELEASE));
	/* Its own row of failures: at once, then after 50 ms. */
	bench_answer(&bench, OUTCOME_REFUSED);
	CHECK_INT(lock_due(&bench.lock).ns, bench.now.ns);
	bench_pass(&bench, 0);
	bench_answer(&bench, OUTCOME_REFUSED);
	CHECK_INT(lock_due(&bench.lock).ns, bench.now.ns + 50 * MS);
	bench_pass(&bench, 50 * MS);
	bench_answer(&bench, OUTCOME_OK);
	check_released(RELEASE_CONFIRMED);

	tap_case("released while a renewal is under way: the release takes its place");
	bench_hold(&bench, 30 * S);
	CHECK(bench_pass_until_asked(&bench, 30 * S));
	CHECK(bench_is_asked(&bench, STORE_RENEW));
	bench_pass(&bench, 5 * MS);
	lock_release(&bench.lock, bench.now, 0);
	CHECK(bench_is_asked(&bench, STORE_RELEASE));
	bench_pass(&bench, 1 * S);
	bench_answer(&bench, OUTCOME_OK);
	check_released(RELEASE_CONFIRMED);
	CHECK_INT(bench.store.started[STORE_RENEW], 1);
}

static void
test_found_lost(void)
{
	for (int gone = 0; gone < 2; gone++) {
		tap_case("at its release it was %s", gone ? "gone" : "another's");
		hold_and_release(3 * S, 0);
		bench_answer_lost(&bench, gone);
		check_released(RELEASE_FOUND_LOST);

		tap_case("%s after a release whose answer was lost: that release did it",
		    gone ? "gone" : "another's");
		hold_and_release(3 * S, 0);
		bench_answer(&bench, OUTCOME_UNKNOWN);
		bench_pass(&bench, 0);
		CHECK(bench_is_asked(&bench, STORE_RELEASE));
		bench_answer_lost(&bench, gone);
		check_released(RELEASE_CONFIRMED);

		tap_case("%s after a release that was never sent: it was lost",
		    gone ? "gone" : "another's");
		hold_and_release(3 * S, 0);
		bench_answer(&bench, OUTCOME_UNREACHABLE);
		bench_pass(&bench, 0);
		bench_answer_lost(&bench, gone);
		check_released(RELEASE_FOUND_LOST);
	}
}

/* Several servers, of which too few still have it. */
static void
test_partly_lost(void)
{
	for (int gone = 0; gone < 2; gone++) {
		tap_case("%s, but not everywhere: what is left is given back, and not kept",
		    gone ? "gone" : "another's");
		bench_hold(&bench, 30 * S);
		CHECK(bench_pass_until_asked(&bench, 30 * S));
		bench_answer_lost_partly(&bench, gone);
		CHECK(!bench_is_asked(&bench, STORE_RELEASE)); /* its command lives */
		if (!gone)
			bench_answer_held(&bench, 20 * S);
		lock_release(&bench.lock, bench.now, 27 * S);
		CHECK(bench_is_asked(&bench, STORE_RELEASE));
		CHECK_INT(bench.store.request.rest_ns, 0);
		bench_answer_lost(&bench, true);
		check_released(RELEASE_FOUND_LOST);
		CHECK_INT(bench.lock.loss, gone ? LOSS_GONE : LOSS_ANOTHER);
	}

	for (int told = 0; told < 2; told++) {
		tap_case("the same, after it was asked who has it, %s",
		    told ? "and told" : "in vain");
		bench_hold(&bench, 30 * S);
		CHECK(bench_pass_until_asked(&bench, 30 * S));
		bench_answer_lost_partly(&bench, false);
		CHECK(bench_is_asked(&bench, STORE_LOOK));
		lock_release(&bench.lock, bench.now, 0);
		CHECK(bench_is_asked(&bench, STORE_LOOK));
		if (told)
			bench_answer_held(&bench, 20 * S);
		else
			CHECK(bench_pass_until_asked(&bench, 5 * S));
		CHECK(bench_is_asked(&bench, STORE_RELEASE));
		bench_answer(&bench, OUTCOME_OK);
		check_released(RELEASE_CONFIRMED);
	}
}

static void
test_unconfirmed(void)
{
	static const enum outcome outcomes[] = {OUTCOME_UNKNOWN, OUTCOME_UNREACHABLE,
	    OUTCOME_REFUSED, OUTCOME_DENIED, OUTCOME_HELD};
	for (size_t i = 0; i < COUNT_OF(outcomes); i++) {
		tap_case("P102: a release that fails is tried for 2 s, with pauses: outcome %d",
		    (int)outcomes[i]);
		hold_and_release(3 * S, 0);
		struct instant start = bench.now;
		int64_t wanted = 0;
		while (!tap_failed()) {
			struct instant answered = bench.now;
			bench_answer(&bench, outcomes[i]);
			if (!bench_pass_until_asked(&bench, 10 * S))
				break;
			CHECK(bench_is_asked(&bench, STORE_RELEASE));
			CHECK_INT(instant_between(answered, bench.now), wanted);
			CHECK(instant_between(start, bench.now) < 2 * S);
			wanted = wanted == 0 ? 50 * MS : 2 * wanted;
		}
		CHECK(instant_between(start, bench.told_at) <= 2 * S);
		CHECK(instant_between(start, bench.told_at) > 500 * MS);
		CHECK(bench.lock.problem.text[0] != '\0');
		check_released(RELEASE_UNCONFIRMED);
	}

	tap_case("R4: a release that is not answered is given up after 2 s");
	hold_and_release(3 * S, 0);
	bench_pass(&bench, 2 * S - 1);
	CHECK_INT(bench.lock.state, LOCK_RELEASING);
	bench_pass(&bench, 1);
	CHECK_INT(bench.store.closed, 1);
	check_released(RELEASE_UNCONFIRMED);

	tap_case("earlier where less is left of the lease");
	bench_hold(&bench, 3 * S);
	bench_pass(&bench, 1500 * MS);
	lock_release(&bench.lock, bench.now, 0);
	CHECK_INT(instant_between(bench.lock.t0, bench.store.request.not_later), 3 * S);
	bench_pass(&bench, 1500 * MS - 1);
	CHECK_INT(bench.lock.state, LOCK_RELEASING);
	bench_pass(&bench, 1);
	check_released(RELEASE_UNCONFIRMED);

	tap_case("when the lease is over there is nothing to release, and nothing is sent");
	bench_hold(&bench, 30 * S);
	bench.now = bench_after_t0(&bench, 30 * S);
	lock_release(&bench.lock, bench.now, 0);
	CHECK_INT(bench.store.total, 1);
	check_released(RELEASE_UNCONFIRMED);

	tap_case("a nanosecond before it is tried");
	bench_hold(&bench, 30 * S);
	bench.now = bench_after_t0(&bench, 30 * S - 1);
	lock_release(&bench.lock, bench.now, 0);
	CHECK(bench_is_asked(&bench, STORE_RELEASE));
	bench_pass(&bench, 1);
	check_released(RELEASE_UNCONFIRMED);
}

static void
release_while_asking_who(void)
{
	bench_hold(&bench, 30 * S);
	CHECK(bench_pass_until_asked(&bench, 30 * S));
	bench_answer_lost(&bench, false);
	CHECK(bench_is_asked(&bench, STORE_LOOK));
	lock_release(&bench.lock, bench.now, 0);
	CHECK(bench_is_asked(&bench, STORE_LOOK));
}

static void
test_after_loss(void)
{
	tap_case("what is gone, or another's, is not released");
	bench_hold(&bench, 30 * S);
	CHECK(bench_pass_until_asked(&bench, 30 * S));
	bench_answer_lost(&bench, true);
	lock_release(&bench.lock, bench.now, 0);
	CHECK_INT(bench.lock.state, LOCK_RELEASED);
	CHECK_INT(bench.store.started[STORE_RELEASE], 0);
	CHECK_INT(bench.lock.loss, LOSS_GONE);
	bench_hold(&bench, 30 * S);
	CHECK(bench_pass_until_asked(&bench, 30 * S));
	bench_answer_lost(&bench, false);
	bench_answer_held(&bench, 20 * S);
	lock_release(&bench.lock, bench.now, 0);
	CHECK_INT(bench.lock.state, LOCK_RELEASED);
	CHECK_INT(bench.store.started[STORE_RELEASE], 0);
	CHECK_INT(bench.lock.loss, LOSS_ANOTHER);

	tap_case("R34: while it is still asked who has it, the end waits for that answer");
	release_while_asking_who();
	bench_pass(&bench, 5 * MS);
	CHECK_INT(bench.lock.state, LOCK_LOST);
	bench_answer_held(&bench, 20 * S);
	CHECK_INT(bench.lock.state, LOCK_RELEASED);
	CHECK_INT(bench.told_at.ns, bench.now.ns);
	CHECK(bench.lock.explained);
	CHECK_TEXT(bench.lock.holder.token, "another");
	CHECK_INT(bench.store.started[STORE_RELEASE], 0);

	tap_case("but not for longer than a release may take: 2 s");
	release_while_asking_who();
	struct instant start = bench.now;
	bench_pass(&bench, 20 * S);
	CHECK_INT(bench.lock.state, LOCK_RELEASED);
	CHECK(instant_between(start, bench.told_at) <= 2 * S);
	CHECK_INT(bench.store.started[STORE_RELEASE], 0);

	tap_case("what could not be confirmed is released: it may still be ours");
	bench_hold(&bench, 30 * S);
	CHECK(bench_pass_until_asked(&bench, 30 * S));
	bench_answer(&bench, OUTCOME_UNREACHABLE);
	bench_pass(&bench, 0);
	bench_answer(&bench, OUTCOME_UNREACHABLE);
	bench_pass(&bench, 50 * MS);
	bench_answer(&bench, OUTCOME_UNREACHABLE);
	bench_sleep(&bench, TERM_AT);
	CHECK_INT(bench.lock.loss, LOSS_UNCONFIRMED);
	bench.now = bench_after_t0(&bench, 29 * S);
	lock_release(&bench.lock, bench.now, 0);
	CHECK(bench_is_asked(&bench, STORE_RELEASE));
	CHECK_INT(instant_between(bench.lock.t0, bench.store.request.not_later), 30 * S);
	bench_answer(&bench, OUTCOME_OK);
	CHECK_INT(bench.lock.loss, LOSS_UNCONFIRMED);
	CHECK_TEXT(bench.lock.loss_problem.text,
	    "outcome 3"); /* still, for who explains the loss */
	check_released(RELEASE_CONFIRMED);

	tap_case("also while a renewal is still under way: the release takes its place");
	bench_hold(&bench, 30 * S);
	bench_pass(&bench, TERM_AT);
	CHECK_INT(bench.lock.loss, LOSS_UNCONFIRMED);
	CHECK(bench_is_asked(&bench, STORE_RENEW));
	lock_release(&bench.lock, bench.now, 0);
	CHECK(bench_is_asked(&bench, STORE_RELEASE));
	bench_answer_lost(&bench, true);
	check_released(RELEASE_FOUND_LOST);
}

/* Broken by --break: kept from others until it is given back. */
static void
test_broken(void)
{
	tap_case(
	    "broken: lost to another, until the server says that it is still ours to give back");
	bench_hold(&bench, 30 * S);
	CHECK(bench_pass_until_asked(&bench, 30 * S));
	bench_answer_lost(&bench, false);
	CHECK_INT(bench.lock.loss, LOSS_ANOTHER);
	CHECK(!bench.lock.explained);
	bench_answer_broken(&bench);
	CHECK_INT(bench.lock.state, LOCK_LOST);
	CHECK_INT(bench.lock.loss, LOSS_BROKEN);
	CHECK(bench.lock.explained);
	CHECK_INT(bench.told_state, LOCK_LOST);
	CHECK_TEXT(bench.lock.holder.token, "dlock!broken:mine");

	tap_case("it is not given back before COMMAND is dead, and then it is");
	bench_pass(&bench, 10 * S);
	CHECK_INT(bench.store.started[STORE_RELEASE], 0);
	CHECK(!lock_is_held(&bench.lock));
	lock_release(&bench.lock, bench.now, 0);
	CHECK(bench_is_asked(&bench, STORE_RELEASE));
	bench_answer(&bench, OUTCOME_OK);
	CHECK_INT(bench.lock.loss, LOSS_BROKEN);
	check_released(RELEASE_CONFIRMED);

	tap_case("COMMAND is dead before it is known who has it: given back when it is");
	release_while_asking_who();
	CHECK_INT(bench.store.started[STORE_RELEASE], 0);
	bench_pass(&bench, 5 * MS);
	bench_answer_broken(&bench);
	CHECK(bench_is_asked(&bench, STORE_RELEASE));
	CHECK_INT(bench.lock.state, LOCK_RELEASING);
	CHECK_INT(bench.store.request.rest_ns, 0);
	bench_answer(&bench, OUTCOME_OK);
	check_released(RELEASE_CONFIRMED);

	static const enum outcome failures[] = {OUTCOME_OK, OUTCOME_UNREACHABLE, OUTCOME_REFUSED,
	    OUTCOME_DENIED, OUTCOME_UNKNOWN};
	for (size_t i = 0; i < COUNT_OF(failures); i++) {
		tap_case(
		    "free meanwhile, or who has it cannot be learnt: that is the end: outcome %d",
		    (int)failures[i]);
		release_while_asking_who();
		bench_answer(&bench, failures[i]);
		CHECK_INT(bench.lock.loss, LOSS_ANOTHER);
		CHECK_INT(bench.store.started[STORE_RELEASE], 0);
		check_released(RELEASE_CONFIRMED);
	}

	tap_case("the release of a broken lock that fails is tried again, and not for ever");
	release_while_asking_who();
	bench_answer_broken(&bench);
	bench_answer(&bench, OUTCOME_UNREACHABLE);
	bench_pass(&bench, 0);
	CHECK_INT(bench.store.started[STORE_RELEASE], 2);
	bench_pass(&bench, 2 * S);
	check_released(RELEASE_UNCONFIRMED);
}

int
main(void)
{
	test_confirmed();
	test_found_lost();
	test_partly_lost();
	test_unconfirmed();
	test_after_loss();
	test_broken();
	return tap_end();
}
