/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "inquiry_bench.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "tap.h"

struct inquiry_bench inquiry = {.listener = -1};

void
runner_listen(void)
{
	if (inquiry.listener >= 0)
		close(inquiry.listener);
	memset(&inquiry.entry, 0, sizeof inquiry.entry);
	inquiry.listener = inquiry_listen(inquiry.entry.address);
	CHECK(inquiry.listener >= 0);
	strcpy(inquiry.entry.token, RUNNER_TOKEN);
	strcpy(inquiry.entry.key, "lock:job");
}

void
runner_start(void (*act)(void))
{
	runner_listen();
	inquiry.entry.runner = fork();
	if (inquiry.entry.runner == 0) {
		alarm(30);
		act();
		_exit(0);
	}
	/* Only the child listens: when it ends, nobody does. */
	close(inquiry.listener);
	inquiry.listener = -1;
}

void
runner_end(void)
{
	kill(inquiry.entry.runner, SIGKILL);
	waitpid(inquiry.entry.runner, NULL, 0);
}

void
runner_hear(struct inquiry_question *question, struct inquiry_peer *peer)
{
	struct pollfd fd = {.fd = inquiry.listener, .events = POLLIN};
	while (inquiry_hear(inquiry.listener, question, peer) != 1)
		poll(&fd, 1, 1000);
}

void
runner_say(const struct inquiry_peer *peer, const struct inquiry_question *question, int verdict)
{
	struct inquiry_answer reply;
	memset(&reply, 0, sizeof reply);
	reply.verdict = verdict;
	strcpy(reply.token, question->token);
	strcpy(reply.fence, "17");
	strcpy(reply.name, "job");
	snprintf(reply.key, sizeof reply.key, "%d %d", (int)peer->pid, (int)peer->uid);
	snprintf(reply.reason, sizeof reply.reason, "kind %d", (int)question->kind);
	inquiry_reply(peer, question, &reply);
}

enum inquiry_result
runner_ask(enum inquiry_kind kind)
{
	return inquiry_ask(&inquiry.entry, kind, 2 * NS_PER_S, -1, &inquiry.answer);
}
