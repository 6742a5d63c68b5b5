/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* run/inquiry: questions and answers between real processes, and what comes in their place. */
#include "run/inquiry.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "inquiry_bench.h"
#include "run/proc.h"
#include "tap.h"

static void
answer_all(void)
{
	struct inquiry_question question;
	struct inquiry_peer peer;
	for (;;) {
		runner_hear(&question, &peer);
		runner_say(&peer, &question, VERDICT_LOST);
	}
}

static void
test_conversation(void)
{
	char asker[64];
	tap_case("a question is answered, and the kernel says who asked");
	runner_start(answer_all);
	CHECK_INT(runner_ask(INQUIRY_HELD), INQUIRY_ANSWERED);
	CHECK_INT(inquiry.answer.verdict, VERDICT_LOST);
	CHECK_TEXT(inquiry.answer.token, RUNNER_TOKEN);
	CHECK_TEXT(inquiry.answer.fence, "17");
	CHECK_TEXT(inquiry.answer.name, "job");
	snprintf(asker, sizeof asker, "%d %d", (int)getpid(), (int)getuid());
	CHECK_TEXT(inquiry.answer.key, asker);
	CHECK_TEXT(inquiry.answer.reason, "kind 1");
	CHECK_INT(runner_ask(INQUIRY_ABOVE), INQUIRY_ANSWERED);
	CHECK_TEXT(inquiry.answer.reason, "kind 0");
	runner_end();

	tap_case("nobody listens: ended, never there, cannot be asked");
	CHECK_INT(runner_ask(INQUIRY_HELD), INQUIRY_NOBODY);
	strcpy(inquiry.entry.address, "00112233445566ff");
	CHECK_INT(runner_ask(INQUIRY_HELD), INQUIRY_NOBODY);
	inquiry.entry.address[0] = '\0';
	CHECK_INT(runner_ask(INQUIRY_HELD), INQUIRY_NOBODY);

	tap_case("each listener has a name of its own, and neither is there for COMMAND");
	char first[HELD_ADDRESS_SIZE];
	runner_listen();
	int one = inquiry.listener;
	inquiry.listener = -1;
	strcpy(first, inquiry.entry.address);
	runner_listen();
	CHECK(strcmp(first, inquiry.entry.address) != 0);
	CHECK_INT(strlen(first) == HELD_ADDRESS_SIZE - 1, 1);
	close(one);
}

/* -- bad RUNNERs ------------------------------------------------------------------------------ */

static void
count_questions(void)
{
	struct inquiry_question question, first;
	struct inquiry_peer peer;
	runner_hear(&first, &peer);
	for (int i = 0; i < 2; i++) {
		runner_hear(&question, &peer);
		if (question.nonce != first.nonce)
			_exit(1);
	}
	runner_say(&peer, &question, VERDICT_YES);
	pause();
}

static void
end_when_asked(void)
{
	struct inquiry_question question;
	struct inquiry_peer peer;
	runner_hear(&question, &peer);
}

/* Another process answers, with the right nonce. */
static void
let_another_answer(void)
{
	struct inquiry_question question;
	struct inquiry_peer peer;
	runner_hear(&question, &peer);
	if (fork() == 0) {
		runner_say(&peer, &question, VERDICT_YES);
		_exit(0);
	}
	pause();
}

/* Nonsense of every kind, then the answer. */
static void
answer_badly(void)
{
	struct inquiry_question question, other;
	struct inquiry_peer peer;
	static char bytes[2 * sizeof(struct inquiry_answer)];
	runner_hear(&question, &peer);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	static const size_t sizes[] = {0, 1, sizeof(struct inquiry_answer) - 1,
	    sizeof(struct inquiry_answer), sizeof(struct inquiry_answer) + 1, sizeof bytes};
	for (size_t i = 0; i < COUNT_OF(sizes); i++)
		sendto(fd, bytes, sizes[i], 0, (struct sockaddr *)peer.address,
		    peer.address_length);
	other = question;
	other.nonce++;
	runner_say(&peer, &other, VERDICT_YES);
	poll(NULL, 0, 20); /* its queue is short */
	struct inquiry_answer reply;
	memset(&reply, 'x', sizeof reply);
	reply.verdict = VERDICT_ENDING;
	inquiry_reply(&peer, &question, &reply);
	pause();
}

static void
pause_only(void)
{
	pause();
}

static void
test_bad_runners(void)
{
	tap_case("the question is sent again until it is answered, and says that it is the same");
	runner_start(count_questions);
	CHECK_INT(runner_ask(INQUIRY_HELD), INQUIRY_ANSWERED);
	CHECK_INT(inquiry.answer.verdict, VERDICT_YES);
	runner_end();

	tap_case("one that does not answer: an end after the limit");
	runner_start(pause_only);
	struct instant before = clock_now();
	CHECK_INT(inquiry_ask(&inquiry.entry, INQUIRY_HELD, 300 * NS_PER_MS, -1, &inquiry.answer),
	    INQUIRY_SILENT);
	int64_t took_ms = ms_from_ns(instant_between(before, clock_now()));
	CHECK(took_ms >= 300 && took_ms < 2000);
	runner_end();

	tap_case("one that ends without an answer");
	runner_start(end_when_asked);
	CHECK_INT(runner_ask(INQUIRY_HELD), INQUIRY_NOBODY);
	runner_end();

	tap_case("another than RUNNER is not believed");
	runner_start(let_another_answer);
	CHECK_INT(inquiry_ask(&inquiry.entry, INQUIRY_HELD, 400 * NS_PER_MS, -1, &inquiry.answer),
	    INQUIRY_SILENT);
	runner_end();

	tap_case("nonsense and answers to other questions are passed over, text is terminated");
	runner_start(answer_badly);
	CHECK_INT(runner_ask(INQUIRY_HELD), INQUIRY_ANSWERED);
	CHECK_INT(inquiry.answer.verdict, VERDICT_ENDING);
	CHECK_INT(strlen(inquiry.answer.key) == sizeof inquiry.answer.key - 1, 1);
	CHECK_INT(strlen(inquiry.answer.reason) == sizeof inquiry.answer.reason - 1, 1);
	runner_end();

	tap_case("what becomes readable ends the wait, and is not read");
	int ends[2];
	char byte;
	CHECK_INT(pipe(ends), 0);
	CHECK_INT(write(ends[1], "x", 1), 1);
	runner_start(pause_only);
	CHECK_INT(inquiry_ask(&inquiry.entry, INQUIRY_HELD, 2 * NS_PER_S, ends[0], &inquiry.answer),
	    INQUIRY_INTERRUPTED);
	CHECK_INT(read(ends[0], &byte, 1), 1);
	close(ends[0]);
	close(ends[1]);
	runner_end();
}

int
main(void)
{
	signal(SIGPIPE, SIG_IGN);
	if (!proc_open())
		return 1;
	test_conversation();
	test_bad_runners();
	return tap_end();
}
