/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "link_bench.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "tap.h"

struct link_bench talk;

static char large[30000];
const char *const link_bench_large_command[2] = {"ECHO", large};

static void
note_opened(void *context)
{
	CHECK(context == &talk);
	talk.opened = true;
}

static void
note_answered(void *context, const struct reply *reply)
{
	CHECK(context == &talk);
	talk.answered = true;
	talk.answers++;
	talk.last_integer = reply->integer;
	snprintf(talk.last_text, sizeof talk.last_text, "%s", reply->text ? reply->text : "");
	if (talk.on_answer != NULL)
		talk.on_answer();
}

static void
note_failed(void *context, const struct problem *why)
{
	CHECK(context == &talk);
	CHECK_INT(talk.line.state, LINK_CLOSED);
	talk.failed = true;
	talk.reason = *why;
}

bool
link_bench_set_up(void)
{
	memset(large, 'x', sizeof large - 1);
	return loop_open(&talk.loop) == 0;
}

void
link_bench_forget(void)
{
	talk.opened = talk.answered = talk.failed = false;
	talk.answers = 0;
	talk.on_answer = NULL;
}

void
link_bench_begin(void)
{
	static const struct link_events events = {
	    .opened = note_opened,
	    .answered = note_answered,
	    .failed = note_failed,
	};
	link_bench_forget();
	CHECK(peer_open(&talk.peer, &talk.loop));
	memset(&talk.url, 0, sizeof talk.url);
	talk.url.scheme = URL_UNIX;
	memcpy(talk.url.path, talk.peer.path, strlen(talk.peer.path) + 1);
	link_init(&talk.line, &talk.loop, &talk.url, &events, &talk);
}

void
link_bench_end(void)
{
	link_free(&talk.line);
	peer_close(&talk.peer);
	/* Nothing of it is left in the loop. */
	CHECK(talk.loop.watches == NULL);
	CHECK(talk.loop.timers == NULL);
}

void
link_bench_begin_to_open(void)
{
	talk.opened = talk.failed = false;
	link_open(&talk.line, instant_plus(clock_now(), 5 * NS_PER_S), false);
	/* Nothing is told from within the call. */
	CHECK(!talk.opened && !talk.failed);
}

bool
link_bench_open(void)
{
	int before = talk.peer.connections;
	link_bench_begin_to_open();
	bool done = peer_run_until(&talk.loop, &talk.opened, LINK_LIMIT_MS);
	for (int i = 0; done && i < LINK_LIMIT_MS && talk.peer.connections == before; i++)
		peer_run(&talk.loop, 1);
	return CHECK(done);
}

void
link_bench_make_narrow(void)
{
	int least = 1;
	CHECK(setsockopt(talk.line.watch.fd, SOL_SOCKET, SO_SNDBUF, &least, sizeof least) == 0);
}
