/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* net/link: one connection, and all that can become of it. */
#include <fcntl.h>
#include <signal.h>

#include "link_bench.h"
#include "tap.h"

static void
test_talk(void)
{
	static const char *const time[] = {"TIME"}, *const select[] = {"SELECT", "2"};
	tap_case("connects, sends a pipeline, and hears the answers in their order");
	link_bench_begin();
	link_bench_open();
	CHECK_INT(talk.line.state, LINK_OPEN);
	CHECK((fcntl(talk.line.watch.fd, F_GETFD) & FD_CLOEXEC) != 0);
	CHECK((fcntl(talk.line.watch.fd, F_GETFL) & O_NONBLOCK) != 0);
	link_append(&talk.line, 2, select);
	link_append(&talk.line, 1, time);
	CHECK(link_flush(&talk.line));
	peer_run(&talk.loop, 20);
	CHECK_TEXT(talk.peer.log, "SELECT 2; TIME");
	peer_say(&talk.peer, "+OK\r\n:5\r\n", 0);
	CHECK(peer_run_until(&talk.loop, &talk.answered, LINK_LIMIT_MS));
	CHECK_INT(talk.answers, 2);
	CHECK_INT(talk.last_integer, 5);

	tap_case("an answer in pieces of one byte");
	const char *bytes = "*2\r\n$3\r\nabc\r\n:7\r\n+ENDE\r\n";
	link_bench_forget();
	for (const char *at = bytes; *at != '\0'; at++) {
		peer_say(&talk.peer, at, 1);
		peer_run(&talk.loop, 1);
	}
	CHECK(peer_run_until(&talk.loop, &talk.answered, LINK_LIMIT_MS));
	CHECK_INT(talk.answers, 2);
	CHECK_TEXT(talk.last_text, "ENDE");
	link_bench_end();
}

static void
test_failures(void)
{
	static const char *const time[] = {"TIME"};
	tap_case("a socket that is not there fails from the loop, with the reason");
	link_bench_begin();
	peer_refuse(&talk.peer);
	link_bench_begin_to_open();
	CHECK(peer_run_until(&talk.loop, &talk.failed, LINK_LIMIT_MS));
	CHECK(!talk.opened);
	CHECK_HAS(talk.reason.text, "No such file");
	link_bench_end();

	tap_case("a server that hangs up");
	link_bench_begin();
	link_bench_open();
	peer_hang_up(&talk.peer);
	CHECK(peer_run_until(&talk.loop, &talk.failed, LINK_LIMIT_MS));
	CHECK_HAS(talk.reason.text, "closed the connection");
	link_bench_end();

	static const char *const garbage[] = {"HTTP/1.1 400\r\n", "*100000000\r\n", "$-7\r\n",
	    "\r\n"};
	for (size_t i = 0; i < COUNT_OF(garbage); i++) {
		tap_case("a server that is none: %s", garbage[i]);
		link_bench_begin();
		link_bench_open();
		peer_say(&talk.peer, garbage[i], 0);
		CHECK(peer_run_until(&talk.loop, &talk.failed, LINK_LIMIT_MS));
		CHECK_INT(talk.answers, 0);
		CHECK(talk.reason.text[0] != '\0');
		link_bench_end();
	}

	tap_case("R76: sending to a server that has gone is no signal, and fails from the loop");
	link_bench_begin();
	link_bench_open();
	signal(SIGPIPE, SIG_DFL);
	peer_hang_up(&talk.peer);
	link_append(&talk.line, 1, time);
	CHECK(link_flush(&talk.line));
	CHECK(!talk.failed);
	CHECK(peer_run_until(&talk.loop, &talk.failed, LINK_LIMIT_MS));
	link_bench_end();

	tap_case("half an answer of the old connection is forgotten on the new one");
	link_bench_begin();
	link_bench_open();
	peer_say(&talk.peer, "$10\r\nabc", 0);
	peer_run(&talk.loop, 20);
	link_bench_forget();
	link_bench_open();
	CHECK_INT(talk.peer.connections, 2);
	peer_say(&talk.peer, ":9\r\n", 0);
	CHECK(peer_run_until(&talk.loop, &talk.answered, LINK_LIMIT_MS));
	CHECK_INT(talk.last_integer, 9);
	CHECK(!talk.failed);
	link_bench_end();
}

static void
close_it(void)
{
	link_close(&talk.line);
}

static void
open_it(void)
{
	talk.on_answer = NULL;
	talk.opened = false;
	link_bench_begin_to_open();
}

static void
test_closing(void)
{
	tap_case("closed by a callback: the rest of what was received is not told");
	link_bench_begin();
	link_bench_open();
	talk.on_answer = close_it;
	peer_say(&talk.peer, ":1\r\n:2\r\n:3\r\n", 0);
	CHECK(peer_run_until(&talk.loop, &talk.answered, LINK_LIMIT_MS));
	peer_run(&talk.loop, 20);
	CHECK_INT(talk.answers, 1);
	CHECK(!talk.failed);
	CHECK_INT(talk.peer.ended, 1);
	link_bench_end();

	tap_case(
	    "opened anew by a callback: the old connection's answers are not taken for the new one's");
	link_bench_begin();
	link_bench_open();
	talk.on_answer = open_it;
	peer_say(&talk.peer, ":1\r\n:2\r\n", 0);
	CHECK(peer_run_until(&talk.loop, &talk.answered, LINK_LIMIT_MS));
	CHECK(peer_run_until(&talk.loop, &talk.opened, LINK_LIMIT_MS));
	peer_run(&talk.loop, 20);
	CHECK_INT(talk.answers, 1);
	CHECK_INT(talk.peer.connections, 2);
	peer_say(&talk.peer, ":7\r\n", 0);
	talk.answered = false;
	CHECK(peer_run_until(&talk.loop, &talk.answered, LINK_LIMIT_MS));
	CHECK_INT(talk.last_integer, 7);
	link_bench_end();

	tap_case("closed: nobody is called back, and the server sees the end");
	link_bench_begin();
	link_bench_open();
	peer_say(&talk.peer, ":1\r\n", 0);
	link_close(&talk.line);
	peer_run(&talk.loop, 20);
	CHECK(!talk.answered && !talk.failed && talk.peer.ended == 1);
	link_close(&talk.line); /* once more does no harm */
	link_bench_end();

	tap_case("closed while it connects: nobody is called back");
	link_bench_begin();
	link_bench_begin_to_open();
	link_close(&talk.line);
	peer_run(&talk.loop, 20);
	CHECK(!talk.opened && !talk.failed);
	link_bench_end();
}

static void
test_large(void)
{
	const char *const *command = link_bench_large_command;
	bool done = false;
	tap_case("what the socket does not take at once follows from the loop");
	link_bench_begin();
	talk.peer.deaf = true;
	link_bench_open();
	link_bench_make_narrow();
	link_append(&talk.line, 2, command);
	CHECK(link_flush(&talk.line));
	CHECK(talk.line.out_used > 0); /* some of it is still here: the test tests something */
	peer_run(&talk.loop, 10);
	loop_watch(&talk.loop, &talk.peer.reading);
	for (int i = 0; i < 1000 && talk.peer.log[0] == '\0'; i++)
		peer_run_until(&talk.loop, &done, 1);
	CHECK_TEXT(talk.peer.log, "ECHO xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
	CHECK_INT((int64_t)talk.line.out_used, 0);
	link_bench_end();

	tap_case("a pipeline that is too long is not sent at all");
	link_bench_begin();
	link_bench_open();
	link_append(&talk.line, 2, command);
	link_append(&talk.line, 2, command);
	CHECK(!link_flush(&talk.line));
	peer_run(&talk.loop, 20);
	CHECK_TEXT(talk.peer.log, "");
	link_append(&talk.line, 1, (const char *const[]){"TIME"});
	CHECK(link_flush(&talk.line));
	peer_run(&talk.loop, 20);
	CHECK_TEXT(talk.peer.log, "TIME");
	link_bench_end();

	tap_case("one that is too long does not cut off the command before it");
	link_bench_begin();
	talk.peer.deaf = true;
	link_bench_open();
	link_bench_make_narrow();
	link_append(&talk.line, 2, command);
	CHECK(link_flush(&talk.line));
	link_append(&talk.line, 2, command);
	CHECK(!link_flush(&talk.line));
	loop_watch(&talk.loop, &talk.peer.reading);
	for (int i = 0; i < 200 && talk.peer.log[0] == '\0' && !talk.failed; i++)
		peer_run_until(&talk.loop, &done, 1);
	/* The command before it arrives whole, or the connection is given up: never half of it. */
	CHECK(talk.peer.log[0] != '\0' || talk.failed);
	link_bench_end();
}

/* What an old connection still had to send, or to say, is nothing to the new one. */
static void
test_leftovers(void)
{
	tap_case("closed with a failure that was not told yet: it never is");
	link_bench_begin();
	peer_refuse(&talk.peer);
	link_bench_begin_to_open();
	link_close(&talk.line);
	peer_run(&talk.loop, 20);
	CHECK(!talk.failed);
	link_bench_end();

	tap_case("bytes that the old connection did not take are not sent on the new one");
	link_bench_begin();
	talk.peer.deaf = true;
	link_bench_open();
	link_bench_make_narrow();
	link_append(&talk.line, 2, link_bench_large_command);
	CHECK(link_flush(&talk.line));
	CHECK(talk.line.out_used > 0);
	talk.peer.deaf = false;
	link_bench_open();
	link_append(&talk.line, 1, (const char *const[]){"TIME"});
	CHECK(link_flush(&talk.line));
	peer_run(&talk.loop, 20);
	CHECK_TEXT(talk.peer.log, "TIME");
	CHECK_INT(talk.peer.connections, 2);
	link_bench_end();
}

int
main(void)
{
	if (!link_bench_set_up())
		return 1;
	test_talk();
	test_failures();
	test_closing();
	test_large();
	test_leftovers();
	return tap_end();
}
