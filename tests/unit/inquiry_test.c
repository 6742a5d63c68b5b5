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
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "run/proc.h"
#include "tap.h"

#define TOKEN "0b5ec1f2-8d0a-4a52-9f43-cd7b14f63d4c"
#define QUICK_NS (2 * NS_PER_S)

static struct held_entry entry;
static struct inquiry_answer answer;
static int listener = -1;

/* -- a RUNNER --------------------------------------------------------------------------------- */

static void
listen_anew(void)
{
	if (listener >= 0)
		close(listener);
	memset(&entry, 0, sizeof entry);
	listener = inquiry_listen(entry.address);
	CHECK(listener >= 0);
	strcpy(entry.token, TOKEN);
	strcpy(entry.key, "lock:job");
}

/* A child that is RUNNER: it answers as `act` does, and ends by itself. */
static void
start_runner(void (*act)(void))
{
	listen_anew();
	entry.runner = fork();
	if (entry.runner == 0) {
		alarm(30);
		act();
		_exit(0);
	}
	/* Only the child listens: when it ends, nobody does. */
	close(listener);
	listener = -1;
}

static void
end_runner(void)
{
	kill(entry.runner, SIGKILL);
	waitpid(entry.runner, NULL, 0);
}

static void
hear(struct inquiry_question *question, struct inquiry_peer *peer)
{
	struct pollfd fd = {.fd = listener, .events = POLLIN};
	while (inquiry_hear(listener, question, peer) != 1)
		poll(&fd, 1, 1000);
}

static void
say(const struct inquiry_peer *peer, const struct inquiry_question *question, int verdict)
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

static void
answer_all(void)
{
	struct inquiry_question question;
	struct inquiry_peer peer;
	for (;;) {
		hear(&question, &peer);
		say(&peer, &question, VERDICT_LOST);
	}
}

static void
test_conversation(void)
{
	char asker[64];
	tap_case("a question is answered, and the kernel says who asked");
	start_runner(answer_all);
	CHECK_INT(inquiry_ask(&entry, INQUIRY_HELD, QUICK_NS, -1, &answer), INQUIRY_ANSWERED);
	CHECK_INT(answer.verdict, VERDICT_LOST);
	CHECK_TEXT(answer.token, TOKEN);
	CHECK_TEXT(answer.fence, "17");
	CHECK_TEXT(answer.name, "job");
	snprintf(asker, sizeof asker, "%d %d", (int)getpid(), (int)getuid());
	CHECK_TEXT(answer.key, asker);
	CHECK_TEXT(answer.reason, "kind 1");
	CHECK_INT(inquiry_ask(&entry, INQUIRY_ABOVE, QUICK_NS, -1, &answer), INQUIRY_ANSWERED);
	CHECK_TEXT(answer.reason, "kind 0");
	end_runner();

	tap_case("nobody listens: ended, never there, cannot be asked");
	CHECK_INT(inquiry_ask(&entry, INQUIRY_HELD, QUICK_NS, -1, &answer), INQUIRY_NOBODY);
	strcpy(entry.address, "00112233445566ff");
	CHECK_INT(inquiry_ask(&entry, INQUIRY_HELD, QUICK_NS, -1, &answer), INQUIRY_NOBODY);
	entry.address[0] = '\0';
	CHECK_INT(inquiry_ask(&entry, INQUIRY_HELD, QUICK_NS, -1, &answer), INQUIRY_NOBODY);

	tap_case("each listener has a name of its own, and neither is there for COMMAND");
	char first[HELD_ADDRESS_SIZE];
	listen_anew();
	int one = listener;
	listener = -1;
	strcpy(first, entry.address);
	listen_anew();
	CHECK(strcmp(first, entry.address) != 0);
	CHECK_INT(strlen(first) == HELD_ADDRESS_SIZE - 1, 1);
	close(one);
}

/* -- bad RUNNERs ------------------------------------------------------------------------------ */

static void
count_questions(void)
{
	struct inquiry_question question, first;
	struct inquiry_peer peer;
	hear(&first, &peer);
	for (int i = 0; i < 2; i++) {
		hear(&question, &peer);
		if (question.nonce != first.nonce)
			_exit(1);
	}
	say(&peer, &question, VERDICT_YES);
	pause();
}

static void
end_when_asked(void)
{
	struct inquiry_question question;
	struct inquiry_peer peer;
	hear(&question, &peer);
}

/* Another process answers, with the right nonce. */
static void
let_another_answer(void)
{
	struct inquiry_question question;
	struct inquiry_peer peer;
	hear(&question, &peer);
	if (fork() == 0) {
		say(&peer, &question, VERDICT_YES);
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
	hear(&question, &peer);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	static const size_t sizes[] = {0, 1, sizeof answer - 1, sizeof answer, sizeof answer + 1,
	    sizeof bytes};
	for (size_t i = 0; i < COUNT_OF(sizes); i++)
		sendto(fd, bytes, sizes[i], 0, (struct sockaddr *)peer.address,
		    peer.address_length);
	other = question;
	other.nonce++;
	say(&peer, &other, VERDICT_YES);
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
	start_runner(count_questions);
	CHECK_INT(inquiry_ask(&entry, INQUIRY_HELD, QUICK_NS, -1, &answer), INQUIRY_ANSWERED);
	CHECK_INT(answer.verdict, VERDICT_YES);
	end_runner();

	tap_case("one that does not answer: an end after the limit");
	start_runner(pause_only);
	struct instant before = clock_now();
	CHECK_INT(inquiry_ask(&entry, INQUIRY_HELD, 300 * NS_PER_MS, -1, &answer), INQUIRY_SILENT);
	int64_t took_ms = ms_from_ns(instant_between(before, clock_now()));
	CHECK(took_ms >= 300 && took_ms < 2000);
	end_runner();

	tap_case("one that ends without an answer");
	start_runner(end_when_asked);
	CHECK_INT(inquiry_ask(&entry, INQUIRY_HELD, QUICK_NS, -1, &answer), INQUIRY_NOBODY);
	end_runner();

	tap_case("another than RUNNER is not believed");
	start_runner(let_another_answer);
	CHECK_INT(inquiry_ask(&entry, INQUIRY_HELD, 400 * NS_PER_MS, -1, &answer), INQUIRY_SILENT);
	end_runner();

	tap_case("nonsense and answers to other questions are passed over, text is terminated");
	start_runner(answer_badly);
	CHECK_INT(inquiry_ask(&entry, INQUIRY_HELD, QUICK_NS, -1, &answer), INQUIRY_ANSWERED);
	CHECK_INT(answer.verdict, VERDICT_ENDING);
	CHECK_INT(strlen(answer.key) == sizeof answer.key - 1, 1);
	CHECK_INT(strlen(answer.reason) == sizeof answer.reason - 1, 1);
	end_runner();

	tap_case("what becomes readable ends the wait, and is not read");
	int ends[2];
	char byte;
	CHECK_INT(pipe(ends), 0);
	CHECK_INT(write(ends[1], "x", 1), 1);
	start_runner(pause_only);
	CHECK_INT(inquiry_ask(&entry, INQUIRY_HELD, QUICK_NS, ends[0], &answer),
	    INQUIRY_INTERRUPTED);
	CHECK_INT(read(ends[0], &byte, 1), 1);
	close(ends[0]);
	close(ends[1]);
	end_runner();
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
