/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "quorum_bench.h"

static void
test_renewal(void)
{
	struct instant t0;

	tap_case("a majority renews: the lease counts from the first send of that round");
	set_up(3);
	acquire();
	pass(T / 3);
	t0 = now;
	quorum_begin_renew(&quorum, T / 12, now);
	CHECK_INT(send_all(ASK_RENEW), 3);
	pass(20 * MS);
	answer(0, ASK_RENEW, WORD_YES);
	CHECK_INT(quorum.result, QUORUM_PENDING);
	answer(1, ASK_RENEW, WORD_YES);
	CHECK_INT(quorum.result, QUORUM_WON);
	CHECK_INT(quorum.t0.ns, t0.ns);

	tap_case("where it is gone it is taken again: when a majority has said that it is ours");
	answer(2, ASK_RENEW, WORD_GONE);
	CHECK_INT(send_all(ASK_RETAKE), 1);
	quorum_begin_renew(&quorum, T / 12, now);
	send_all(ASK_RENEW);
	answer(2, ASK_RENEW, WORD_GONE);
	CHECK_INT(quorum.nodes[2].want, ASK_NOTHING);
	answer(0, ASK_RENEW, WORD_YES);
	answer(1, ASK_RENEW, WORD_YES);
	CHECK_INT(quorum.nodes[2].want, ASK_RETAKE);

	tap_case("not where another has it");
	quorum_begin_renew(&quorum, T / 12, now);
	send_all(ASK_RENEW);
	answer(0, ASK_RENEW, WORD_YES);
	answer(1, ASK_RENEW, WORD_YES);
	answer(2, ASK_RENEW, WORD_ANOTHERS);
	CHECK_INT(send_all(ASK_RETAKE), 0);

	tap_case("what was broken is given back, though it is another's by its look");
	quorum_begin_renew(&quorum, T / 12, now);
	send_all(ASK_RENEW);
	answer(0, ASK_RENEW, WORD_ANOTHERS);
	answer(1, ASK_RENEW, WORD_ANOTHERS);
	CHECK_INT(quorum.result, QUORUM_LOST);
	quorum_begin_release(&quorum, LIMIT, now);
	CHECK_INT(quorum.nodes[0].want, ASK_GIVE);
	CHECK_INT(quorum.nodes[1].want, ASK_GIVE);

	tap_case("a majority has forgotten it: lost, and never taken again");
	set_up(3);
	acquire();
	quorum_begin_renew(&quorum, T / 12, now);
	send_all(ASK_RENEW);
	answer(0, ASK_RENEW, WORD_GONE);
	answer(1, ASK_RENEW, WORD_GONE);
	CHECK_INT(quorum.result, QUORUM_LOST);
	answer(2, ASK_RENEW, WORD_YES);
	CHECK_INT(send_all(ASK_RETAKE), 0);
	CHECK(!quorum.held);

	tap_case("too few answer: nothing is known, and nothing is taken again");
	set_up(3);
	acquire();
	quorum_begin_renew(&quorum, T / 12, now);
	send_all(ASK_RENEW);
	answer(0, ASK_RENEW, WORD_YES);
	answer(2, ASK_RENEW, WORD_GONE);
	pass(T / 12);
	quorum_tick(&quorum, now);
	CHECK_INT(quorum.result, QUORUM_TOO_FEW);
	CHECK(quorum.held);
	CHECK_INT(send_all(ASK_RETAKE), 0);
	answer(1, ASK_RENEW, WORD_YES);
	CHECK_INT(quorum.result, QUORUM_TOO_FEW);
	CHECK_INT(send_all(ASK_RETAKE), 0);

	tap_case("a node that has come back in the meantime is asked, and taken again");
	set_up(3);
	acquire();
	quorum_set_link(&quorum, 2, NODE_DOWN, now);
	pass(T / 3);
	quorum_set_link(&quorum, 2, NODE_COMING, now);
	quorum_begin_renew(&quorum, T / 12, now);
	CHECK_INT(send_all(ASK_RENEW), 2);
	answer(0, ASK_RENEW, WORD_YES);
	answer(1, ASK_RENEW, WORD_YES);
	CHECK_INT(quorum.result, QUORUM_WON);
	quorum_set_link(&quorum, 2, NODE_UP, now);
	CHECK_INT(send_all(ASK_RENEW), 1);
	answer(2, ASK_RENEW, WORD_GONE);
	CHECK_INT(send_all(ASK_RETAKE), 1);

	tap_case("not when the lease is over by then");
	quorum_begin_renew(&quorum, T, now);
	send_all(ASK_RENEW);
	answer(0, ASK_RENEW, WORD_YES);
	answer(1, ASK_RENEW, WORD_YES);
	pass(T - T / 100);
	answer(2, ASK_RENEW, WORD_GONE);
	CHECK_INT(send_all(ASK_RETAKE), 0);

	tap_case("an answer to the round before is as old as that: it renews nothing now");
	set_up(3);
	acquire();
	quorum_begin_renew(&quorum, T / 12, now);
	CHECK_INT(send_all(ASK_RENEW), 3);
	unsigned int before = quorum.serial;
	pass(MS);
	t0 = now;
	quorum_begin_renew(&quorum, T / 12, now);
	CHECK_INT(send_all(ASK_RENEW), 3);
	for (int i = 0; i < 3; i++)
		quorum_answered(&quorum, i, ASK_RENEW, before, WORD_YES, 0, 0, now);
	CHECK_INT(quorum.result, QUORUM_PENDING);
	CHECK(quorum.t0.ns < t0.ns);
	answer(0, ASK_RENEW, WORD_YES);
	answer(1, ASK_RENEW, WORD_YES);
	CHECK_INT(quorum.result, QUORUM_WON);
	CHECK_INT(quorum.t0.ns, t0.ns);
}

static void
test_release(void)
{
	tap_case("a release waits for all who are well, and for nobody who owes an older answer");
	set_up(3);
	acquire_by_two();
	quorum_begin_release(&quorum, LIMIT, now);
	CHECK_INT(send_all(ASK_GIVE), 3); /* node 2 has not answered to TAKE */
	answer(0, ASK_GIVE, WORD_YES);
	CHECK_INT(quorum.result, QUORUM_PENDING);
	answer(1, ASK_GIVE, WORD_YES);
	CHECK_INT(quorum.result, QUORUM_WON);

	tap_case("who has given it back is not asked again");
	set_up(3);
	acquire();
	quorum_begin_release(&quorum, LIMIT, now);
	send_all(ASK_GIVE);
	answer(0, ASK_GIVE, WORD_YES);
	pass(LIMIT);
	quorum_tick(&quorum, now);
	CHECK_INT(quorum.result, QUORUM_TOO_FEW);
	unsigned int before = quorum.serial;
	quorum_begin_release(&quorum, LIMIT, now);
	CHECK_INT(quorum.nodes[0].want, ASK_NOTHING);
	CHECK_INT(send_all(ASK_GIVE), 2);
	CHECK_INT(quorum.result, QUORUM_PENDING);
	quorum_answered(&quorum, 1, ASK_GIVE, before, WORD_YES, 0, 0, now);
	CHECK_INT(quorum.result, QUORUM_WON);
	answer(1, ASK_GIVE, WORD_GONE);
	CHECK(quorum.nodes[1].given);

	tap_case("gone at a majority: it was lost before");
	set_up(3);
	acquire_by_two();
	answer(2, ASK_TAKE, WORD_BUSY);
	quorum_begin_release(&quorum, LIMIT, now);
	send_all(ASK_GIVE);
	answer(0, ASK_GIVE, WORD_YES);
	answer(1, ASK_GIVE, WORD_GONE);
	CHECK_INT(quorum.result, QUORUM_LOST);
}

int
main(void)
{
	test_renewal();
	test_release();
	return tap_end();
}
