/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "quorum_bench.h"

static void
test_acquire(void)
{
	struct instant t0;

	tap_case(
	    "phase 2 begins as soon as a majority agrees; the lease counts from the first send");
	set_up(3);
	t0 = now;
	begin_taking();
	pass(5 * MS);
	answer(0, ASK_TAKE, WORD_TAKEN);
	CHECK_INT(quorum.step, QUORUM_TAKING);
	answer_with(2, ASK_TAKE, WORD_TAKEN, 5000);
	CHECK_INT(quorum.step, QUORUM_ACCEPTING);
	CHECK_INT(quorum.fence, 5001);
	CHECK_INT(send_all(ASK_ACCEPT), 2);
	pass(5 * MS);
	answer(0, ASK_ACCEPT, WORD_ACCEPTED);
	CHECK_INT(quorum.result, QUORUM_PENDING);
	answer(2, ASK_ACCEPT, WORD_ACCEPTED);
	CHECK_INT(quorum.result, QUORUM_WON);
	CHECK_INT(quorum.t0.ns, t0.ns);

	tap_case("who takes the key later is told the number, too");
	answer(1, ASK_TAKE, WORD_TAKEN);
	CHECK_INT(quorum.nodes[1].want, ASK_ACCEPT);

	tap_case("the clock's number where no greater was accepted; above --min-fence in any case");
	set_up(3);
	begin_taking();
	answer(0, ASK_TAKE, WORD_TAKEN);
	answer(1, ASK_TAKE, WORD_TAKEN);
	CHECK_INT(quorum.fence, 1000);
	quorum_init(&quorum, 3, T, MS, 1234567);
	for (int i = 0; i < 3; i++)
		quorum_set_link(&quorum, i, NODE_UP, now);
	begin_taking();
	answer(0, ASK_TAKE, WORD_TAKEN);
	answer(1, ASK_TAKE, WORD_TAKEN);
	CHECK_INT(quorum.fence, 1234568);

	tap_case(
	    "LOW: a higher number, asked of all again; answers to the lower one count no more");
	set_up(3);
	begin_taking();
	answer(0, ASK_TAKE, WORD_TAKEN);
	answer(1, ASK_TAKE, WORD_TAKEN);
	answer(2, ASK_TAKE, WORD_TAKEN);
	send_all(ASK_ACCEPT);
	unsigned int before = quorum.serial;
	answer_with(2, ASK_ACCEPT, WORD_LOW, 7000);
	CHECK_INT(quorum.fence, 7001);
	CHECK_INT(send_all(ASK_ACCEPT), 3);
	quorum_answered(&quorum, 0, ASK_ACCEPT, before, WORD_ACCEPTED, 0, 0, now);
	quorum_answered(&quorum, 1, ASK_ACCEPT, before, WORD_ACCEPTED, 0, 0, now);
	CHECK_INT(quorum.result, QUORUM_PENDING);
	answer(0, ASK_ACCEPT, WORD_ACCEPTED);
	answer(1, ASK_ACCEPT, WORD_ACCEPTED);
	CHECK_INT(quorum.result, QUORUM_WON);

	tap_case("LOW without end: the attempt is over with its lease, and is asked back");
	set_up(3);
	begin_taking();
	answer(0, ASK_TAKE, WORD_TAKEN);
	answer(1, ASK_TAKE, WORD_TAKEN);
	int rounds = 0;
	while (quorum.result == QUORUM_PENDING && rounds < 1000) {
		send_all(ASK_ACCEPT);
		pass(100 * MS);
		answer_with(0, ASK_ACCEPT, WORD_LOW, 7000 + 2 * rounds++);
	}
	CHECK_INT(quorum.result, QUORUM_TOO_LATE);
	CHECK(rounds > 90 && rounds < 100);
	CHECK_INT(quorum.nodes[0].want, ASK_GIVE);
	CHECK_INT(quorum.nodes[1].want, ASK_GIVE);

	tap_case("a majority that accepts when the lease is over has lost its time");
	set_up(3);
	begin_taking();
	answer(0, ASK_TAKE, WORD_TAKEN);
	answer(1, ASK_TAKE, WORD_TAKEN);
	send_all(ASK_ACCEPT);
	answer(0, ASK_ACCEPT, WORD_ACCEPTED);
	pass(T - T / 100);
	answer(1, ASK_ACCEPT, WORD_ACCEPTED);
	CHECK_INT(quorum.result, QUORUM_TOO_LATE);
	CHECK(!quorum.held);
	CHECK_INT(quorum.nodes[0].want, ASK_GIVE);

	tap_case("what is gone between the phases accepts nothing");
	set_up(3);
	begin_taking();
	answer(0, ASK_TAKE, WORD_TAKEN);
	answer(1, ASK_TAKE, WORD_TAKEN);
	answer(2, ASK_TAKE, WORD_BUSY);
	send_all(ASK_ACCEPT);
	answer(0, ASK_ACCEPT, WORD_ACCEPTED);
	answer(1, ASK_ACCEPT, WORD_GONE);
	CHECK_INT(quorum.result, QUORUM_TOO_FEW);

	tap_case("what was taken where nobody is any more is not waited for");
	set_up(3);
	begin_taking();
	answer(0, ASK_TAKE, WORD_TAKEN);
	quorum_set_link(&quorum, 0, NODE_DOWN, now);
	answer(1, ASK_TAKE, WORD_TAKEN);
	CHECK_INT(quorum.step, QUORUM_ACCEPTING);
	CHECK_INT(send_all(ASK_ACCEPT), 1);
	answer(2, ASK_TAKE, WORD_BUSY);
	CHECK_INT(quorum.result, QUORUM_TOO_FEW);

	tap_case("the same server twice");
	set_up(3);
	begin_taking();
	answer(0, ASK_TAKE, WORD_TAKEN);
	answer(1, ASK_TAKE, WORD_OWNED);
	CHECK_INT(quorum.result, QUORUM_SAME);
	CHECK_INT(quorum.nodes[0].want, ASK_GIVE);
}

static void
test_failure(void)
{
	tap_case(
	    "held: decided when it cannot be won any more, and asked back where it may be ours");
	set_up(3);
	begin_taking();
	answer(0, ASK_TAKE, WORD_TAKEN);
	answer(1, ASK_TAKE, WORD_BUSY);
	CHECK_INT(quorum.result, QUORUM_PENDING);
	answer(2, ASK_TAKE, WORD_BUSY);
	CHECK_INT(quorum.result, QUORUM_TAKEN);
	CHECK_INT(send_all(ASK_GIVE), 1);
	answer(0, ASK_GIVE, WORD_YES);

	tap_case("a node that does not answer: asked back, too, behind what it owes");
	set_up(3);
	begin_taking();
	answer(0, ASK_TAKE, WORD_TAKEN);
	pass(LIMIT);
	quorum_tick(&quorum, now);
	CHECK_INT(quorum.result, QUORUM_TOO_FEW);
	CHECK_INT(send_all(ASK_GIVE), 3);

	tap_case("it costs its limit once: the next attempt does not wait for it");
	set_up(3);
	begin_taking();
	answer(0, ASK_TAKE, WORD_TAKEN);
	answer(1, ASK_TAKE, WORD_BUSY);
	pass(LIMIT - 1);
	quorum_tick(&quorum, now);
	CHECK_INT(quorum.result, QUORUM_PENDING);
	pass(1);
	quorum_tick(&quorum, now);
	CHECK_INT(quorum.result, QUORUM_TAKEN);
	send_all(ASK_GIVE);
	answer(0, ASK_GIVE, WORD_YES);
	quorum_begin_acquire(&quorum, now);
	CHECK_INT(quorum.nodes[2].vote, VOTE_ABSENT);
	CHECK_INT(send_all(ASK_TAKE), 2);
	answer(0, ASK_TAKE, WORD_TAKEN);
	answer(1, ASK_TAKE, WORD_BUSY);
	CHECK_INT(quorum.result, QUORUM_TAKEN);

	tap_case("nor while it is connected to again, until it is there");
	quorum_set_link(&quorum, 2, NODE_DOWN, now);
	quorum_set_link(&quorum, 2, NODE_COMING, now);
	send_all(ASK_GIVE);
	quorum_begin_acquire(&quorum, now);
	CHECK_INT(quorum.step, QUORUM_TAKING);
	CHECK_INT(send_all(ASK_TAKE), 2);
	answer(0, ASK_TAKE, WORD_TAKEN);
	answer(1, ASK_TAKE, WORD_BUSY);
	CHECK_INT(quorum.result, QUORUM_TAKEN);
	send_all(ASK_GIVE);
	quorum_begin_acquire(&quorum, now);
	send_all(ASK_TAKE);
	answer(0, ASK_TAKE, WORD_TAKEN);
	quorum_set_link(&quorum, 2, NODE_UP, now);
	CHECK_INT(send_all(ASK_TAKE), 1);
	answer(1, ASK_TAKE, WORD_BUSY);
	CHECK_INT(quorum.result, QUORUM_PENDING);
	answer(2, ASK_TAKE, WORD_TAKEN);
	CHECK_INT(quorum.step, QUORUM_ACCEPTING);

	tap_case("one that comes for the first time is waited for");
	set_up(3);
	quorum_init(&quorum, 3, T, MS, 0);
	for (int i = 0; i < 3; i++)
		quorum_set_link(&quorum, i, NODE_COMING, now);
	quorum_begin_acquire(&quorum, now);
	quorum_set_link(&quorum, 0, NODE_UP, now);
	quorum_set_link(&quorum, 1, NODE_UP, now);
	CHECK_INT(send_all(ASK_TAKE), 2); /* in the same instant: nothing to wait for longer */
	answer(0, ASK_TAKE, WORD_TAKEN);
	answer(1, ASK_TAKE, WORD_BUSY);
	CHECK_INT(quorum.result, QUORUM_PENDING);
	pass(LIMIT);
	quorum_tick(&quorum, now);
	CHECK_INT(quorum.result, QUORUM_TAKEN);
	CHECK(quorum.nodes[2].late);

	tap_case("two of three are down: too few, and nothing is sent");
	set_up(3);
	quorum_set_link(&quorum, 0, NODE_DOWN, now);
	quorum_set_link(&quorum, 1, NODE_DOWN, now);
	quorum_begin_acquire(&quorum, now);
	CHECK_INT(quorum.result, QUORUM_TOO_FEW);
	CHECK_INT(send_all(ASK_TAKE), 0);

	tap_case("a majority that falls apart while the rest is waited for is no reason to tick");
	set_up(3);
	for (int i = 0; i < 3; i++)
		quorum_set_link(&quorum, i, NODE_COMING, now);
	quorum_begin_acquire(&quorum, now);
	pass(MS);
	quorum_set_link(&quorum, 0, NODE_UP, now);
	quorum_set_link(&quorum, 1, NODE_UP, now);
	CHECK(quorum.due.ns != INSTANT_NEVER.ns);
	quorum_set_link(&quorum, 1, NODE_DOWN, now);
	CHECK_INT(quorum.step, QUORUM_GATHERING);
	pass(LIMIT);
	quorum_tick(&quorum, now);
	CHECK_INT(quorum.due.ns, INSTANT_NEVER.ns);
	quorum_set_link(&quorum, 2, NODE_UP, now);
	CHECK_INT(quorum.step, QUORUM_TAKING);

	tap_case("a node in quarantine is not asked, and is no vote");
	set_up(3);
	quorum.nodes[1].votes = false;
	begin_taking();
	CHECK_INT(quorum.nodes[1].want, ASK_NOTHING);
	CHECK(!quorum.nodes[1].asked);
	answer(0, ASK_TAKE, WORD_TAKEN);
	answer(2, ASK_TAKE, WORD_BUSY);
	CHECK_INT(quorum.result, QUORUM_TAKEN);
}

static void
test_late_nodes(void)
{
	tap_case("a node has a twentieth of the lease for an answer, 50 ms at least");
	quorum_init(&quorum, 3, 30 * NS_PER_S, MS, 0);
	CHECK_INT(quorum.node_limit_ns, 1500 * MS);
	quorum_init(&quorum, 3, NS_PER_S / 2, MS, 0);
	CHECK_INT(quorum.node_limit_ns, 50 * MS);

	tap_case("who is connected when a majority has it is asked by the rule of phase 2");
	set_up(3);
	quorum_set_link(&quorum, 2, NODE_COMING, now);
	begin_taking();
	for (int i = 0; i < 2; i++)
		answer(i, ASK_TAKE, WORD_TAKEN);
	CHECK_INT(send_all(ASK_ACCEPT), 2);
	for (int i = 0; i < 2; i++)
		answer(i, ASK_ACCEPT, WORD_ACCEPTED);
	CHECK_INT(quorum.result, QUORUM_WON);
	quorum_set_link(&quorum, 2, NODE_UP, now);
	CHECK_INT(send_all(ASK_RETAKE), 1);

	tap_case("who comes while the others are asked is asked, too; not in quarantine");
	for (int votes = 0; votes < 2; votes++) {
		set_up(3);
		quorum_set_link(&quorum, 2, NODE_DOWN, now);
		begin_taking();
		answer(0, ASK_TAKE, WORD_TAKEN);
		quorum.nodes[2].votes = votes;
		quorum_set_link(&quorum, 2, NODE_UP, now);
		CHECK_INT(quorum.nodes[2].want, votes ? ASK_TAKE : ASK_NOTHING);
		CHECK_INT(quorum.nodes[2].vote, votes ? VOTE_NONE : VOTE_MUTE);
	}
}

/* What each node may say to TAKE, in each order, with three and with four nodes: it is won by a
 * majority alone, never by fewer, and what was taken is asked back where it was not. */
static void
try_words(int count, int words, const int *order)
{
	static const enum quorum_word possible[] = {WORD_TAKEN, WORD_BUSY, WORD_FAILED};
	int taken = 0, spoken = 0;
	set_up(count);
	quorum_begin_acquire(&quorum, now);
	send_all(ASK_TAKE);
	for (int i = 0; i < count; i++) {
		int node = order[i], word = words;
		for (int k = 0; k < node; k++)
			word /= 3;
		taken += possible[word % 3] == WORD_TAKEN;
		spoken += possible[word % 3] != WORD_FAILED;
		answer(node, ASK_TAKE, possible[word % 3]);
		if (quorum.step == QUORUM_ACCEPTING)
			CHECK(taken >= quorum.majority);
	}
	if (taken >= quorum.majority) {
		CHECK_INT(quorum.step, QUORUM_ACCEPTING);
		return;
	}
	CHECK_INT(quorum.result, spoken >= quorum.majority ? QUORUM_TAKEN : QUORUM_TOO_FEW);
	for (int i = 0; i < count; i++) {
		if (quorum.nodes[i].want == ASK_GIVE)
			quorum_sent(&quorum, i, now);
		CHECK(quorum.nodes[i].may_have || !quorum.nodes[i].asked || spoken > taken);
	}
}

static void
try_orders(int count, int words, int *order, int used)
{
	if (used == count) {
		try_words(count, words, order);
		return;
	}
	for (int i = used; i < count && !tap_failed(); i++) {
		int kept = order[used];
		order[used] = order[i];
		order[i] = kept;
		try_orders(count, words, order, used + 1);
		order[i] = order[used];
		order[used] = kept;
	}
}

static void
test_all_orders(void)
{
	for (int count = 2; count <= 5; count++) {
		int order[] = {0, 1, 2, 3, 4}, all = 1;
		tap_case("%d nodes, whatever each says to TAKE, in every order", count);
		for (int i = 0; i < count; i++)
			all *= 3;
		for (int words = 0; words < all && !tap_failed(); words++)
			try_orders(count, words, order, 0);
	}
}

/* (Schedule 2093611 of the simulator: who was stopped for four seconds in the middle of it asked
 * again 3.5 s late.) */
static void
test_split(void)
{
	static const int64_t took[] = {0, NS_PER_MS, 40 * NS_PER_MS, 4 * NS_PER_S, INT64_MAX};
	static const uint64_t draws[] = {0, 1, 123456789012345, UINT64_MAX};
	tap_case("a split vote: all pauses are short, however long the attempt took");
	for (size_t i = 0; i < COUNT_OF(took) * COUNT_OF(draws) * 8; i++) {
		int64_t pause = quorum_split_pause(took[i % COUNT_OF(took)],
		    1 + (unsigned int)(i % 8), draws[i / 8 % COUNT_OF(draws)]);
		CHECK(pause >= NS_PER_MS && pause <= QUORUM_SPLIT_PAUSE_MOST);
	}
	tap_case("a split vote: whose draws differ do not come back together");
	CHECK_INT(quorum_split_pause(40 * NS_PER_MS, 1, 0), 20 * NS_PER_MS);
	CHECK_INT(quorum_split_pause(40 * NS_PER_MS, 1, 39999999), 20 * NS_PER_MS + 39999999);
	CHECK_INT(quorum_split_pause(40 * NS_PER_MS, 3, 119999999), 20 * NS_PER_MS + 119999999);
	CHECK_INT(quorum_split_pause(40 * NS_PER_MS, 9, 199999999), 20 * NS_PER_MS + 199999999);
}

int
main(void)
{
	test_split();
	test_acquire();
	test_failure();
	test_late_nodes();
	test_all_orders();
	return tap_end();
}
