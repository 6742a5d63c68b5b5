/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* lock/: undoing an acquire of which nobody knows whether it was executed; leaving the line. */
#include "lock_bench.h"
#include "tap.h"

static struct bench bench;

/* -n, neither acquire answered in time: the release that undoes them is under way. */
static void
leave_in_doubt(void)
{
	bench_acquire(&bench, 30 * S, 0);
	bench_pass(&bench, 2 * S);
	bench_answer(&bench, OUTCOME_UNKNOWN);
	bench_pass(&bench, 2 * S);
	bench_answer(&bench, OUTCOME_UNKNOWN);
	CHECK(bench_is_asked(&bench, STORE_RELEASE));
	CHECK_INT(bench.lock.state, LOCK_LEAVING);
}

static void
check_failed(enum outcome failure)
{
	CHECK_INT(bench.lock.state, LOCK_FAILED);
	CHECK_INT(bench.lock.failure, failure);
	CHECK_INT(lock_due(&bench.lock).ns, INT64_MAX);
	CHECK_INT(bench.store.overlaps, 0);
	CHECK_INT(bench.store.started[STORE_ACQUIRE], 2);
}

static void
test_patience(void)
{
	tap_case("in doubt the undoing is waited for up to 2 s, a line across the world");
	leave_in_doubt();
	bench_pass(&bench, 1900 * MS);
	CHECK_INT(bench.lock.state, LOCK_LEAVING);
	bench_answer(&bench, OUTCOME_OK);
	check_failed(OUTCOME_UNREACHABLE);

	tap_case("and not longer");
	leave_in_doubt();
	bench_pass(&bench, 2 * S - 1);
	CHECK_INT(bench.lock.state, LOCK_LEAVING);
	bench_pass(&bench, 1);
	CHECK_INT(bench.store.closed, 1);
	check_failed(OUTCOME_UNREACHABLE);

	tap_case("a signal cuts that short: 80 ms");
	leave_in_doubt();
	bench_pass(&bench, 1 * S);
	lock_give_up(&bench.lock, bench.now);
	bench_pass(&bench, 80 * MS - 1);
	CHECK_INT(bench.lock.state, LOCK_LEAVING);
	bench_pass(&bench, 1);
	check_failed(OUTCOME_UNREACHABLE);

	tap_case("but does not make it longer");
	leave_in_doubt();
	bench_pass(&bench, 1990 * MS);
	lock_give_up(&bench.lock, bench.now);
	bench_pass(&bench, 10 * MS);
	check_failed(OUTCOME_UNREACHABLE);
}

static void
test_again(void)
{
	static const enum outcome again[] = {OUTCOME_UNREACHABLE, OUTCOME_REFUSED, OUTCOME_UNKNOWN};
	for (size_t i = 0; i < COUNT_OF(again); i++) {
		tap_case(
		    "an undoing that fails is tried again, at once and then spaced: outcome %d",
		    (int)again[i]);
		leave_in_doubt();
		bench_answer(&bench, again[i]);
		bench_pass(&bench, 0);
		CHECK_INT(bench.store.started[STORE_RELEASE], 2);
		bench_answer(&bench, again[i]);
		bench_pass(&bench, 49 * MS);
		CHECK_INT(bench.store.started[STORE_RELEASE], 2);
		bench_pass(&bench, 1 * MS);
		CHECK_INT(bench.store.started[STORE_RELEASE], 3);
		bench_answer(&bench, OUTCOME_LOST);
		check_failed(OUTCOME_UNREACHABLE);
	}

	tap_case("not for ever: no try after 2 s");
	leave_in_doubt();
	struct instant start = bench.now;
	while (bench.lock.state == LOCK_LEAVING && bench.store.total < 100) {
		if (bench.store.under_way)
			bench_answer(&bench, OUTCOME_UNREACHABLE);
		else
			bench_pass(&bench, 10 * MS);
	}
	CHECK(instant_between(start, bench.now) <= 2 * S);
	CHECK(bench.store.total < 20);
	check_failed(OUTCOME_UNREACHABLE);

	tap_case("given up by a signal while the answer is awaited: tried again within 80 ms");
	bench_acquire(&bench, 30 * S, WAIT_FOR_EVER);
	bench_pass(&bench, 20 * MS);
	lock_give_up(&bench.lock, bench.now);
	bench_answer(&bench, OUTCOME_UNKNOWN);
	bench_pass(&bench, 0);
	CHECK_INT(bench.store.started[STORE_RELEASE], 2);
	CHECK_INT(bench.lock.state, LOCK_LEAVING);
	bench_answer(&bench, OUTCOME_OK);
	CHECK_INT(bench.lock.state, LOCK_FAILED);

	tap_case("-w ends while an acquire is asked for again: as long as one answer takes");
	bench_acquire(&bench, 30 * S, 1 * S);
	bench_pass(&bench, 900 * MS);
	bench_answer(&bench, OUTCOME_UNKNOWN);
	bench_pass(&bench, 0);
	CHECK(bench_is_asked(&bench, STORE_ACQUIRE));
	bench_pass(&bench, 2050 * MS - 1);
	CHECK_INT(bench.lock.state, LOCK_ASKING);
	bench_pass(&bench, 1);
	CHECK(bench_is_asked(&bench, STORE_RELEASE));
	bench_answer(&bench, OUTCOME_OK);
	check_failed(OUTCOME_UNREACHABLE);

	tap_case("a grant that has grown old is confirmed also when -w is over");
	bench_hold(&bench, 30 * S);
	bench.lock.settings.wait_ns = 1 * S;
	bench.now = instant_plus(bench.now, 11 * S);
	lock_acquire(&bench.lock, bench.now);
	bench_pass(&bench, 1 * S);
	CHECK(bench_is_asked(&bench, STORE_ACQUIRE));
	bench_answer(&bench, OUTCOME_OK);
	CHECK_INT(bench.lock.state, LOCK_HELD);

	tap_case("a denial, or who holds it now, ends it");
	leave_in_doubt();
	bench_answer(&bench, OUTCOME_DENIED);
	check_failed(OUTCOME_UNREACHABLE);

	tap_case("why the acquire failed is still known afterwards");
	leave_in_doubt();
	problem_set(&bench.lock.problem, "the first reason");
	bench_answer(&bench, OUTCOME_UNREACHABLE);
	bench_pass(&bench, 0);
	bench_answer(&bench, OUTCOME_OK);
	CHECK_TEXT(bench.lock.problem.text, "the first reason");
}

/* A connection that failed before the answer's limit leaves an acquire that may still arrive, until
 * the server time that it carries. */
static void
test_ghost(void)
{
	tap_case("-n: undone at once, and once more when no ghost can come any longer");
	bench_acquire(&bench, 30 * S, 0);
	bench_answer(&bench, OUTCOME_UNKNOWN);
	bench_pass(&bench, 100 * MS);
	bench_answer(&bench, OUTCOME_UNKNOWN);
	bench_pass(&bench, 10 * MS);
	bench_answer(&bench, OUTCOME_OK);
	CHECK_INT(bench.lock.state, LOCK_LEAVING);
	CHECK_INT(bench.store.started[STORE_RELEASE], 1);
	bench_pass(&bench, 1990 * MS - 100 * MS - 1);
	CHECK_INT(bench.store.started[STORE_RELEASE], 1);
	bench_pass(&bench, 1);
	CHECK_INT(bench.store.started[STORE_RELEASE], 2);
	bench_answer(&bench, OUTCOME_LOST);
	check_failed(OUTCOME_UNREACHABLE);

	tap_case("-n: another has it, but the ghost may come when that one has gone");
	bench_acquire(&bench, 30 * S, 0);
	bench_answer(&bench, OUTCOME_UNKNOWN);
	bench_pass(&bench, 10 * MS);
	bench_answer_held(&bench, 20 * S);
	CHECK_INT(bench.lock.state, LOCK_LEAVING);
	bench_pass(&bench, 1990 * MS);
	CHECK_INT(bench.store.started[STORE_RELEASE], 1);
	bench_answer_lost(&bench, false);
	check_failed(OUTCOME_HELD);
	CHECK_TEXT(bench.lock.holder.token, "another");

	tap_case("a signal does not wait for ghosts");
	bench_acquire(&bench, 30 * S, WAIT_FOR_EVER);
	bench_answer(&bench, OUTCOME_UNKNOWN);
	bench_pass(&bench, 10 * MS);
	bench_answer_held(&bench, 20 * S);
	lock_give_up(&bench.lock, bench.now);
	check_failed(OUTCOME_HELD);

	tap_case("a holder that releases before that time releases once more");
	bench_acquire(&bench, 30 * S, WAIT_FOR_EVER);
	bench_answer(&bench, OUTCOME_UNKNOWN);
	bench_pass(&bench, 0);
	bench_answer(&bench, OUTCOME_OK);
	CHECK_INT(bench.lock.state, LOCK_HELD);
	lock_release(&bench.lock, bench.now, 0);
	bench_answer(&bench, OUTCOME_OK);
	CHECK_INT(bench.lock.state, LOCK_RELEASING);
	bench_pass(&bench, 2 * S - 1);
	CHECK_INT(bench.store.started[STORE_RELEASE], 1);
	bench_pass(&bench, 1);
	CHECK_INT(bench.store.started[STORE_RELEASE], 2);
	bench_answer_lost(&bench, true);
	CHECK_INT(bench.lock.state, LOCK_RELEASED);
	CHECK_INT(bench.lock.released, RELEASE_CONFIRMED);

	tap_case("and has released it, also when the second one is not answered");
	bench_acquire(&bench, 30 * S, WAIT_FOR_EVER);
	bench_answer(&bench, OUTCOME_UNKNOWN);
	bench_pass(&bench, 0);
	bench_answer(&bench, OUTCOME_OK);
	lock_release(&bench.lock, bench.now, 0);
	bench_answer(&bench, OUTCOME_OK);
	bench_pass(&bench, 4 * S);
	CHECK_INT(bench.lock.state, LOCK_RELEASED);
	CHECK_INT(bench.lock.released, RELEASE_CONFIRMED);

	tap_case("a later release, and one that keeps the lock for a while, are as ever");
	for (int i = 0; i < 2; i++) {
		bench_acquire(&bench, 30 * S, WAIT_FOR_EVER);
		bench_answer(&bench, OUTCOME_UNKNOWN);
		bench_pass(&bench, 0);
		bench_answer(&bench, OUTCOME_OK);
		if (i == 0)
			bench_pass(&bench, 2 * S);
		lock_release(&bench.lock, bench.now, i == 0 ? 0 : 60 * S);
		bench_answer(&bench, OUTCOME_OK);
		CHECK_INT(bench.lock.state, LOCK_RELEASED);
	}
}

/* -- the line --------------------------------------------------------------------------------- */

static void
wait_at(int64_t rank, bool told, int64_t wait_ns)
{
	bench_acquire(&bench, 30 * S, wait_ns);
	bench_answer_place(&bench, 20 * S, (struct place){.rank = rank, .ticket = 7, .told = told});
}

static void
check_left(enum outcome failure, int releases)
{
	CHECK_INT(bench.lock.state, LOCK_FAILED);
	CHECK_INT(bench.lock.failure, failure);
	CHECK_INT(bench.store.started[STORE_RELEASE], releases);
	CHECK_INT(bench.store.overlaps, 0);
}

static void
test_line(void)
{
	static const struct {
		const char *what;
		int64_t rank;
		bool told;
	} rows[] = {{"first", 0, true}, {"far behind", 70, true}, {"not told", 2, false}};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		tap_case("%s in line: who gives up leaves it, whatever that is answered",
		    rows[i].what);
		for (int answer = OUTCOME_OK; answer <= OUTCOME_UNKNOWN; answer++) {
			wait_at(rows[i].rank, rows[i].told, WAIT_FOR_EVER);
			bench_pass(&bench, 10 * MS);
			lock_give_up(&bench.lock, bench.now);
			CHECK(bench_is_asked(&bench, STORE_RELEASE));
			CHECK_INT(bench.lock.state, LOCK_LEAVING);
			bench_answer(&bench, (enum outcome)answer);
			bench_pass(&bench, 80 * MS);
			CHECK_INT(bench.lock.state, LOCK_FAILED);
		}

		tap_case("%s in line: so does who has waited for long enough", rows[i].what);
		wait_at(rows[i].rank, rows[i].told, 3 * S);
		while (bench.lock.state == LOCK_WAITING &&
		    CHECK(bench_pass_until_asked(&bench, 4 * S))) {
			CHECK(instant_between(bench.lock.asked_at, bench.now) <= 3 * S);
			bench_answer_place(&bench, 19 * S,
			    (struct place){.rank = rows[i].rank,
				.ticket = 7,
				.told = rows[i].told});
		}
		CHECK_INT(instant_between(bench.lock.asked_at, bench.now), 3 * S);
		CHECK(bench_is_asked(&bench, STORE_RELEASE));
		bench_answer(&bench, OUTCOME_LOST);
		check_left(OUTCOME_HELD, 1);
	}

	tap_case("unanswered, that is given up after 80 ms");
	wait_at(1, true, WAIT_FOR_EVER);
	lock_give_up(&bench.lock, bench.now);
	bench_pass(&bench, 80 * MS - 1);
	CHECK_INT(bench.lock.state, LOCK_LEAVING);
	bench_pass(&bench, 1);
	CHECK_INT(bench.store.closed, 1);
	check_left(OUTCOME_HELD, 1);

	tap_case("who never was in the line has nothing to leave");
	wait_at(-1, false, WAIT_FOR_EVER);
	lock_give_up(&bench.lock, bench.now);
	check_left(OUTCOME_HELD, 0);

	tap_case("nor has -n, which does not stand in it");
	bench_acquire(&bench, 30 * S, 0);
	CHECK(!bench.store.request.wait);
	bench_answer_held(&bench, 20 * S);
	check_left(OUTCOME_HELD, 0);

	tap_case("too many wait: a conflict at once, and nothing to leave");
	bench_acquire(&bench, 30 * S, WAIT_FOR_EVER);
	CHECK(bench.store.request.wait);
	bench_answer_place(&bench, 20 * S, (struct place){.rank = -1, .full = true});
	check_left(OUTCOME_HELD, 0);
	CHECK(bench.lock.place.full);

	static const enum outcome failures[] = {OUTCOME_REFUSED, OUTCOME_UNREACHABLE};
	for (size_t i = 0; i < COUNT_OF(failures); i++) {
		tap_case("in trouble, too, it leaves the line: outcome %d", (int)failures[i]);
		wait_at(1, true, WAIT_FOR_EVER);
		bench_pass_until_asked(&bench, 60 * S);
		bench_answer(&bench, failures[i]);
		bench_pass(&bench, 0);
		bench_answer(&bench, failures[i]);
		lock_give_up(&bench.lock, bench.now);
		CHECK(bench_is_asked(&bench, STORE_RELEASE));
		bench_answer(&bench, OUTCOME_LOST);
		check_left(OUTCOME_HELD, 1);
	}

	tap_case("denied what it had: it leaves the line, as far as it may");
	wait_at(1, true, WAIT_FOR_EVER);
	bench_pass_until_asked(&bench, 60 * S);
	bench_answer(&bench, OUTCOME_DENIED);
	CHECK(bench_is_asked(&bench, STORE_RELEASE));
	bench_answer(&bench, OUTCOME_DENIED);
	check_left(OUTCOME_DENIED, 1);

	tap_case("in line a moment ago, and now out of it: nothing to leave");
	wait_at(1, true, WAIT_FOR_EVER);
	bench_pass_until_asked(&bench, 60 * S);
	bench_answer_held(&bench, 20 * S);
	lock_give_up(&bench.lock, bench.now);
	check_left(OUTCOME_HELD, 0);

	tap_case("told that it is its turn, and given up: what it was given is given back");
	wait_at(0, true, WAIT_FOR_EVER);
	bench_wake(&bench, WAKE_GRANTED, -1);
	lock_give_up(&bench.lock, bench.now);
	CHECK(bench_is_asked(&bench, STORE_RELEASE));
	bench_answer(&bench, OUTCOME_OK);
	check_left(OUTCOME_HELD, 1);
}

static void
test_ancestor(void)
{
	struct lock_settings settings;
	tap_case("an ancestor is named in all that is asked for");
	bench_set_up(&bench, 30 * S, WAIT_FOR_EVER);
	settings = bench.lock.settings;
	settings.ancestor = "of-a-dlock-above";
	lock_init(&bench.lock, &bench.store.store, &settings, 42);
	lock_acquire(&bench.lock, bench.now);
	CHECK_TEXT(bench.store.request.ancestor, "of-a-dlock-above");
	bench_answer_place(&bench, 20 * S, (struct place){.rank = 0, .ticket = 7, .told = true});
	bench_pass_until_asked(&bench, 60 * S);
	CHECK(bench_is_asked(&bench, STORE_ACQUIRE));
	CHECK_TEXT(bench.store.request.ancestor, "of-a-dlock-above");
}

int
main(void)
{
	test_patience();
	test_again();
	test_ghost();
	test_line();
	test_ancestor();
	return tap_end();
}
