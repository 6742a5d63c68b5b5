/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* run/channel: what OUTER and RUNNER share. */
#include "run/channel.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tap.h"

static struct channel channel;

static const struct message term = {.kind = MESSAGE_SIGNAL,
    .number = SIGTERM,
    .code = SI_USER,
    .sender = 4711};
static const struct message exited = {.kind = MESSAGE_EXITED, .number = 3};

static void
open_channel(void)
{
	memset(&channel, '#', sizeof channel);
	CHECK_INT(channel_open(&channel), 0);
}

static void
close_channel(void)
{
	for (int i = 0; i < 2; i++) {
		if (channel.ends[i] >= 0)
			close(channel.ends[i]);
	}
}

static bool
is_same(const struct message *one, const struct message *other)
{
	return one->kind == other->kind && one->number == other->number &&
	    one->code == other->code && one->sender == other->sender;
}

static void
test_messages(void)
{
	struct message message;
	tap_case("messages arrive whole, in order, in both directions");
	open_channel();
	int outer = channel.ends[CHANNEL_OUTER], runner = channel.ends[CHANNEL_RUNNER];
	CHECK_INT(channel_receive(runner, &message), 0);
	channel_send(outer, &term);
	channel_send(outer, &exited);
	channel_send(runner, &exited);
	CHECK_INT(channel_receive(runner, &message), 1);
	CHECK(is_same(&message, &term));
	CHECK_INT(channel_receive(runner, &message), 1);
	CHECK(is_same(&message, &exited));
	CHECK_INT(channel_receive(runner, &message), 0);
	CHECK_INT(channel_receive(outer, &message), 1);
	CHECK(is_same(&message, &exited));
	close_channel();

	static const struct {
		const char *what;
		size_t length;
	} packets[] = {
	    {"one byte", 1},
	    {"a byte less than a message", sizeof term - 1},
	    {"a byte more than a message", sizeof term + 1},
	    {"four messages in one", 4 * sizeof term},
	};
	for (size_t i = 0; i < COUNT_OF(packets); i++) {
		char bytes[4 * sizeof term];
		memset(bytes, 0x5a, sizeof bytes);
		tap_case("what is not exactly a message is passed over: %s", packets[i].what);
		open_channel();
		outer = channel.ends[CHANNEL_OUTER], runner = channel.ends[CHANNEL_RUNNER];
		CHECK_INT(send(outer, bytes, packets[i].length, 0), (int64_t)packets[i].length);
		channel_send(outer, &term);
		CHECK_INT(channel_receive(runner, &message), 1);
		CHECK(is_same(&message, &term));
		CHECK_INT(channel_receive(runner, &message), 0);
		close_channel();
	}
}

static void
test_end(void)
{
	struct message message;
	tap_case("taking one end closes the other, and the peer sees the end");
	open_channel();
	int runner = channel.ends[CHANNEL_RUNNER];
	CHECK_INT(channel_take(&channel, CHANNEL_RUNNER), runner);
	CHECK_INT(channel.ends[CHANNEL_OUTER], -1);
	CHECK_INT(channel.ends[CHANNEL_RUNNER], runner);
	CHECK_INT(channel_receive(runner, &message), -1);
	CHECK_INT(channel_receive(runner, &message), -1);
	close_channel();
	open_channel();
	int outer = channel.ends[CHANNEL_OUTER];
	CHECK_INT(channel_take(&channel, CHANNEL_OUTER), outer);
	CHECK_INT(channel.ends[CHANNEL_RUNNER], -1);
	CHECK_INT(channel_receive(outer, &message), -1);
	close_channel();

	tap_case("the last word is heard after its speaker has gone");
	open_channel();
	channel_send(channel.ends[CHANNEL_RUNNER], &exited);
	close(channel.ends[CHANNEL_RUNNER]);
	channel.ends[CHANNEL_RUNNER] = -1;
	CHECK_INT(channel_receive(channel.ends[CHANNEL_OUTER], &message), 1);
	CHECK(is_same(&message, &exited));
	CHECK_INT(channel_receive(channel.ends[CHANNEL_OUTER], &message), -1);
	close_channel();

	/* A signal that comes just then: RUNNER ends with OUTER's message unread. */
	tap_case("the last word is heard though its speaker has left something unread");
	open_channel();
	channel_send(channel.ends[CHANNEL_OUTER], &term);
	channel_send(channel.ends[CHANNEL_RUNNER], &exited);
	close(channel.ends[CHANNEL_RUNNER]);
	channel.ends[CHANNEL_RUNNER] = -1;
	CHECK_INT(channel_receive(channel.ends[CHANNEL_OUTER], &message), 1);
	CHECK(is_same(&message, &exited));
	CHECK_INT(channel_receive(channel.ends[CHANNEL_OUTER], &message), -1);
	close_channel();
}

static void
test_no_waiting(void)
{
	struct message message;
	tap_case("sending to one who does not listen neither waits nor raises PIPE");
	open_channel();
	int outer = channel.ends[CHANNEL_OUTER], runner = channel.ends[CHANNEL_RUNNER];
	alarm(20); /* ends the test if it waits */
	for (int i = 0; i < 100000; i++)
		channel_send(outer, &term);
	int heard = 0;
	while (channel_receive(runner, &message) == 1)
		heard += is_same(&message, &term);
	CHECK(heard > 0 && heard < 100000);
	channel_send(outer, &exited);
	CHECK_INT(channel_receive(runner, &message), 1);
	CHECK(is_same(&message, &exited));
	channel_take(&channel, CHANNEL_OUTER);
	channel_send(outer, &term);
	alarm(0);
	CHECK_INT(channel_receive(outer, &message), -1);
	close_channel();

	tap_case("neither end waits, and neither is there for COMMAND");
	open_channel();
	for (int i = 0; i < 2; i++) {
		CHECK((fcntl(channel.ends[i], F_GETFD) & FD_CLOEXEC) != 0);
		CHECK((fcntl(channel.ends[i], F_GETFL) & O_NONBLOCK) != 0);
	}
	close_channel();
}

static void
test_page(void)
{
	tap_case(
	    "the page begins as never and holding, and what one process writes the other sees");
	open_channel();
	CHECK_INT(atomic_load(&channel.page->guard_at_ns), INT64_MAX);
	CHECK_INT(atomic_load(&channel.page->phase), PHASE_HOLDING);
	pid_t child = fork();
	if (child == 0) {
		atomic_store(&channel.page->guard_at_ns, 12345);
		atomic_store(&channel.page->phase, PHASE_KILLING);
		_exit(0);
	}
	CHECK_INT(waitpid(child, NULL, 0), child);
	CHECK_INT(atomic_load(&channel.page->guard_at_ns), 12345);
	CHECK_INT(atomic_load(&channel.page->phase), PHASE_KILLING);
	close_channel();
}

int
main(void)
{
	test_messages();
	test_end();
	test_no_waiting();
	test_page();
	return tap_end();
}
