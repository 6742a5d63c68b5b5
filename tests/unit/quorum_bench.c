/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "quorum_bench.h"

struct quorum quorum;
struct instant now;

void
set_up(int count)
{
	now = (struct instant){1000 * NS_PER_S};
	quorum_init(&quorum, count, T, T / 100 + 2 * MS, 0);
	for (int i = 0; i < count; i++)
		quorum_set_link(&quorum, i, NODE_UP, now);
}

void
pass(int64_t ns)
{
	now = instant_plus(now, ns);
}

int
send_all(enum quorum_ask ask)
{
	int sent = 0;
	for (int i = 0; i < quorum.count; i++) {
		if (quorum.nodes[i].want == ASK_NOTHING || quorum.nodes[i].link != NODE_UP)
			continue;
		CHECK_INT(quorum.nodes[i].want, ask);
		quorum_sent(&quorum, i, now);
		sent++;
	}
	return sent;
}

void
answer_with(int node, enum quorum_ask ask, enum quorum_word word, int64_t number)
{
	quorum_answered(&quorum, node, ask, quorum.serial, word, number, 1000, now);
}

void
answer(int node, enum quorum_ask ask, enum quorum_word word)
{
	answer_with(node, ask, word, 0);
}

void
begin_taking(void)
{
	quorum_begin_acquire(&quorum, now);
	CHECK_INT(quorum.step, QUORUM_TAKING);
	CHECK(send_all(ASK_TAKE) > 0);
}

void
acquire_by_two(void)
{
	begin_taking();
	for (int i = 0; i < quorum.majority; i++)
		answer(i, ASK_TAKE, WORD_TAKEN);
	send_all(ASK_ACCEPT);
	for (int i = 0; i < quorum.majority; i++)
		answer(i, ASK_ACCEPT, WORD_ACCEPTED);
	CHECK_INT(quorum.result, QUORUM_WON);
	CHECK(quorum.held);
}

void
acquire(void)
{
	acquire_by_two();
	answer(2, ASK_TAKE, WORD_TAKEN);
	CHECK_INT(send_all(ASK_ACCEPT), 1);
	answer(2, ASK_ACCEPT, WORD_ACCEPTED);
}
