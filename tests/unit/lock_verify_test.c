/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* lock/: a holder whose idle connection is lost verifies its lock, and a holder of hours keeps what
 * stands beside its lock from expiring. */
#include <string.h>

#include "lock_bench.h"
#include "tap.h"

static struct bench bench;

static void
test_disturbed(void)
{
	tap_case("an idle connection that is lost: the lock is verified at once");
	bench_hold(&bench, 30 * S);
	bench_pass(&bench, 3 * S);
	bench_disturb(&bench);
	CHECK_INT(bench.lock.state, LOCK_HELD);
	CHECK_INT(lock_due(&bench.lock).ns, bench.now.ns);
	bench_pass(&bench, 0);
	CHECK(bench_is_asked(&bench, STORE_RENEW));
	struct instant sent = bench.now;
	bench_answer(&bench, OUTCOME_OK);
	CHECK_INT(bench.lock.state, LOCK_HELD);
	CHECK_INT(bench.lock.t0.ns, sent.ns);
	CHECK_INT(lock_due(&bench.lock).ns, sent.ns + 10 * S);

	tap_case("a server that was restarted without its data is found out thereby");
	bench_hold(&bench, 30 * S);
	bench_pass(&bench, 3 * S);
	bench_disturb(&bench);
	bench_pass(&bench, 0);
	bench_answer_lost(&bench, true);
	CHECK_INT(bench.lock.state, LOCK_LOST);
	CHECK_INT(bench.lock.loss, LOSS_GONE);

	tap_case("P4: cut after every renewal, it is verified every 50 ms and no faster");
	bench_hold(&bench, 30 * S);
	struct instant start = bench.now;
	for (int i = 0; i < 100 && !tap_failed(); i++) {
		struct instant before = bench.now;
		bench_disturb(&bench);
		CHECK(bench_pass_until_asked(&bench, 100 * MS));
		CHECK_INT(instant_between(before, bench.now), 50 * MS);
		bench_answer(&bench, OUTCOME_OK);
		CHECK_INT(bench.lock.state, LOCK_HELD);
	}
	CHECK_INT(instant_between(start, bench.now), 5 * S);

	tap_case("it only brings a renewal forward, never puts one off");
	bench_hold(&bench, 30 * S);
	bench_pass(&bench, 10 * S - 10 * MS);
	bench_disturb(&bench);
	CHECK(lock_due(&bench.lock).ns <= bench.now.ns);

	tap_case("a disturbance does not undo the pauses between retries");
	bench_hold(&bench, 30 * S);
	CHECK(bench_pass_until_asked(&bench, 30 * S));
	for (int i = 0; i < 8; i++) {
		bench_answer(&bench, OUTCOME_REFUSED);
		struct instant answered = bench.now;
		/* A server that is loading its data, or a proxy, answers and hangs up. */
		bench_disturb(&bench);
		CHECK(bench_pass_until_asked(&bench, 30 * S));
		tap_note("after failure %d", i + 1);
		if (i > 0)
			CHECK(instant_between(answered, bench.now) >= 50 * MS);
	}

	tap_case("a renewal under way is verification enough");
	bench_hold(&bench, 30 * S);
	CHECK(bench_pass_until_asked(&bench, 30 * S));
	struct instant due = lock_due(&bench.lock);
	bench.store.store.events->disturbed(bench.store.store.context, bench.now);
	CHECK_INT(lock_due(&bench.lock).ns, due.ns);
	CHECK_INT(bench.store.total, 2);

	tap_case("who has lost or released does not care");
	bench_hold(&bench, 30 * S);
	CHECK(bench_pass_until_asked(&bench, 30 * S));
	bench_answer_lost(&bench, true);
	bench_disturb(&bench);
	bench_pass(&bench, 100 * S);
	CHECK_INT(bench.lock.state, LOCK_LOST);
	CHECK_INT(bench.store.total, 2);
	bench_hold(&bench, 30 * S);
	lock_release(&bench.lock, bench.now, 0);
	bench_answer(&bench, OUTCOME_OK);
	bench_disturb(&bench);
	bench_pass(&bench, 100 * S);
	CHECK_INT(bench.lock.state, LOCK_RELEASED);
	CHECK_INT(bench.store.total, 2);
}

static void
test_touch(void)
{
	tap_case("about once an hour a renewal touches what stands beside the lock");
	bench_hold(&bench, 30 * S);
	struct instant touched = bench.now;
	int touches = 0;
	for (int i = 0; i < 10 * 360 && !tap_failed(); i++) {
		CHECK(bench_pass_until_asked(&bench, 30 * S));
		if (bench_is_asked(&bench, STORE_TOUCH)) {
			touches++;
			CHECK(instant_between(touched, bench.now) >= 3600 * S);
			CHECK(instant_between(touched, bench.now) <= 3610 * S);
			/* It is a renewal with a renewal's limits. */
			CHECK_INT(bench.store.request.answer_limit_ns, 2500 * MS);
			CHECK_INT(bench.store.request.connect_limit_ns, 5 * S);
			CHECK_INT(instant_between(bench.lock.t0, bench.store.request.not_later),
			    23698 * MS);
			touched = bench.now;
		} else {
			CHECK(bench_is_asked(&bench, STORE_RENEW));
		}
		bench_answer(&bench, OUTCOME_OK);
		CHECK_INT(bench.lock.t0.ns, bench.now.ns);
	}
	CHECK(touches >= 9 && touches <= 10);

	tap_case(
	    "a touch that fails (no memory) is followed by a plain renewal, and tried again later");
	bench_hold(&bench, 30 * S);
	while (!bench_is_asked(&bench, STORE_TOUCH) && !tap_failed()) {
		if (bench.store.under_way)
			bench_answer(&bench, OUTCOME_OK);
		CHECK(bench_pass_until_asked(&bench, 30 * S));
	}
	bench_answer(&bench, OUTCOME_REFUSED);
	CHECK_INT(bench.lock.state, LOCK_DOUBTFUL);
	bench_pass(&bench, 0);
	CHECK(bench_is_asked(&bench, STORE_RENEW));
	bench_answer(&bench, OUTCOME_OK);
	CHECK_INT(bench.lock.state, LOCK_HELD);
	CHECK(bench_pass_until_asked(&bench, 30 * S));
	CHECK(bench_is_asked(&bench, STORE_TOUCH));

	tap_case("a touch that finds the key gone, or another's, has lost the lock");
	bench_answer_lost(&bench, true);
	CHECK_INT(bench.lock.state, LOCK_LOST);
	CHECK_INT(bench.lock.loss, LOSS_GONE);

	tap_case("where the TTL is longer than hours, every renewal touches");
	bench_hold(&bench, 24 * 3600 * S);
	for (int i = 0; i < 5; i++) {
		CHECK(bench_pass_until_asked(&bench, 24 * 3600 * S));
		CHECK(bench_is_asked(&bench, STORE_TOUCH));
		bench_answer(&bench, OUTCOME_OK);
	}
}

int
main(void)
{
	test_disturbed();
	test_touch();
	return tap_end();
}
