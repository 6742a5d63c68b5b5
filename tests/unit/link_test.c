/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* net/link: one connection, and all that can become of it. */
#include "net/link.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "peer.h"
#include "tap.h"

#define LIMIT_MS 20000

static struct loop loop;
static struct peer peer;
static struct link line;
static struct url url;
static bool opened, answered, failed;
static int answers;
static char last_text[128];
static int64_t last_integer;
static struct problem reason;
static void (*on_answer)(void);

static void
note_opened(void *context)
{
	CHECK(context == &line);
	opened = true;
}

static void
note_answered(void *context, const struct reply *reply)
{
	CHECK(context == &line);
	answered = true;
	answers++;
	last_integer = reply->integer;
	snprintf(last_text, sizeof last_text, "%s", reply->text ? reply->text : "");
	if (on_answer != NULL)
		on_answer();
}

static void
note_failed(void *context, const struct problem *why)
{
	CHECK(context == &line);
	CHECK_INT(line.state, LINK_CLOSED);
	failed = true;
	reason = *why;
}

static const struct link_events events = {
    .opened = note_opened,
    .answered = note_answered,
    .failed = note_failed,
};

static void
forget(void)
{
	opened = answered = failed = false;
	answers = 0, on_answer = NULL;
}

static void
begin(void)
{
	forget();
	CHECK(peer_open(&peer, &loop));
	memset(&url, 0, sizeof url);
	url.scheme = URL_UNIX;
	memcpy(url.path, peer.path, strlen(peer.path) + 1);
	link_init(&line, &loop, &url, &events, &line);
}

static void
end(void)
{
	link_free(&line);
	peer_close(&peer);
	CHECK(loop.watches == NULL);
	CHECK(loop.timers == NULL);
}

static bool
open_link(void)
{
	link_open(&line, instant_plus(clock_now(), 5 * NS_PER_S), false);
	/* Nothing is told from within the call. */
	CHECK(!opened && !failed);
	bool done = peer_run_until(&loop, &opened, LIMIT_MS);
	while (done && peer.fd < 0)
		peer_run(&loop, 1);
	return CHECK(done);
}

static void
test_talk(void)
{
	static const char *const time[] = {"TIME"}, *const select[] = {"SELECT", "2"};
	tap_case("connects, sends a pipeline, and hears the answers in their order");
	begin();
	open_link();
	CHECK_INT(line.state, LINK_OPEN);
	CHECK((fcntl(line.watch.fd, F_GETFD) & FD_CLOEXEC) != 0);
	CHECK((fcntl(line.watch.fd, F_GETFL) & O_NONBLOCK) != 0);
	link_append(&line, 2, select);
	link_append(&line, 1, time);
	CHECK(link_flush(&line));
	peer_run(&loop, 20);
	CHECK_TEXT(peer.log, "SELECT 2; TIME");
	peer_say(&peer, "+OK\r\n:5\r\n", 0);
	CHECK(peer_run_until(&loop, &answered, LIMIT_MS));
	CHECK_INT(answers, 2);
	CHECK_INT(last_integer, 5);

	tap_case("an answer in pieces of one byte");
	const char *bytes = "*2\r\n$3\r\nabc\r\n:7\r\n+ENDE\r\n";
	forget();
	for (const char *at = bytes; *at != '\0'; at++) {
		peer_say(&peer, at, 1);
		peer_run(&loop, 1);
	}
	CHECK(peer_run_until(&loop, &answered, LIMIT_MS));
	CHECK_INT(answers, 2);
	CHECK_TEXT(last_text, "ENDE");
	end();
}

static void
test_failures(void)
{
	static const char *const time[] = {"TIME"};
	tap_case("a socket that is not there fails from the loop, with the reason");
	begin();
	peer_refuse(&peer);
	link_open(&line, instant_plus(clock_now(), 5 * NS_PER_S), false);
	CHECK(!failed);
	CHECK(peer_run_until(&loop, &failed, LIMIT_MS));
	CHECK(!opened);
	CHECK_HAS(reason.text, "No such file");
	end();

	tap_case("a server that hangs up");
	begin();
	open_link();
	peer_hang_up(&peer);
	CHECK(peer_run_until(&loop, &failed, LIMIT_MS));
	CHECK_HAS(reason.text, "closed the connection");
	end();

	static const char *const garbage[] = {"HTTP/1.1 400\r\n", "*100000000\r\n", "$-7\r\n",
	    "\r\n"};
	for (size_t i = 0; i < COUNT_OF(garbage); i++) {
		tap_case("a server that is none: %s", garbage[i]);
		begin();
		open_link();
		peer_say(&peer, garbage[i], 0);
		CHECK(peer_run_until(&loop, &failed, LIMIT_MS));
		CHECK_INT(answers, 0);
		CHECK(reason.text[0] != '\0');
		end();
	}

	tap_case("R76: sending to a server that has gone is no signal, and fails from the loop");
	begin();
	open_link();
	signal(SIGPIPE, SIG_DFL);
	peer_hang_up(&peer);
	link_append(&line, 1, time);
	CHECK(link_flush(&line));
	CHECK(!failed);
	CHECK(peer_run_until(&loop, &failed, LIMIT_MS));
	end();

	tap_case("half an answer of the old connection is forgotten on the new one");
	begin();
	open_link();
	peer_say(&peer, "$10\r\nabc", 0);
	peer_run(&loop, 20);
	forget();
	open_link();
	CHECK_INT(peer.connections, 2);
	peer_say(&peer, ":9\r\n", 0);
	CHECK(peer_run_until(&loop, &answered, LIMIT_MS));
	CHECK_INT(last_integer, 9);
	CHECK(!failed);
	end();
}

static void
close_it(void)
{
	link_close(&line);
}

static void
open_it(void)
{
	on_answer = NULL;
	opened = false;
	link_open(&line, instant_plus(clock_now(), 5 * NS_PER_S), false);
}

static void
test_closing(void)
{
	tap_case("closed by a callback: the rest of what was received is not told");
	begin();
	open_link();
	on_answer = close_it;
	peer_say(&peer, ":1\r\n:2\r\n:3\r\n", 0);
	CHECK(peer_run_until(&loop, &answered, LIMIT_MS));
	peer_run(&loop, 20);
	CHECK_INT(answers, 1);
	CHECK(!failed);
	CHECK_INT(peer.ended, 1);
	end();

	tap_case(
	    "opened anew by a callback: the old connection's answers are not taken for the new one's");
	begin();
	open_link();
	on_answer = open_it;
	peer_say(&peer, ":1\r\n:2\r\n", 0);
	CHECK(peer_run_until(&loop, &answered, LIMIT_MS));
	CHECK(peer_run_until(&loop, &opened, LIMIT_MS));
	peer_run(&loop, 20);
	CHECK_INT(answers, 1);
	CHECK_INT(peer.connections, 2);
	peer_say(&peer, ":7\r\n", 0);
	answered = false;
	CHECK(peer_run_until(&loop, &answered, LIMIT_MS));
	CHECK_INT(last_integer, 7);
	end();

	tap_case("closed: nobody is called back, and the server sees the end");
	begin();
	open_link();
	peer_say(&peer, ":1\r\n", 0);
	link_close(&line);
	peer_run(&loop, 20);
	CHECK(!answered && !failed && peer.ended == 1);
	link_close(&line); /* once more does no harm */
	end();

	tap_case("closed while it connects: nobody is called back");
	begin();
	link_open(&line, instant_plus(clock_now(), 5 * NS_PER_S), false);
	link_close(&line);
	peer_run(&loop, 20);
	CHECK(!opened && !failed);
	end();
}

static char large[12000];

static void
test_large(void)
{
	const char *const command[] = {"ECHO", large};
	int least = 1;
	bool done = false;
	memset(large, 'x', sizeof large - 1);
	tap_case("what the socket does not take at once follows from the loop");
	begin();
	peer.deaf = true;
	open_link();
	setsockopt(line.watch.fd, SOL_SOCKET, SO_SNDBUF, &least, sizeof least);
	link_append(&line, 2, command);
	CHECK(link_flush(&line));
	CHECK(line.out_used > 0); /* some of it is still here: the test tests something */
	peer_run(&loop, 10);
	loop_watch(&loop, &peer.reading);
	for (int i = 0; i < 1000 && peer.log[0] == '\0'; i++)
		peer_run_until(&loop, &done, 1);
	CHECK_TEXT(peer.log, "ECHO xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
	CHECK_INT((int64_t)line.out_used, 0);
	end();

	tap_case("a pipeline that is too long is not sent at all");
	begin();
	open_link();
	link_append(&line, 2, command);
	link_append(&line, 2, command);
	CHECK(!link_flush(&line));
	peer_run(&loop, 20);
	CHECK_TEXT(peer.log, "");
	link_append(&line, 1, (const char *const[]){"TIME"});
	CHECK(link_flush(&line));
	peer_run(&loop, 20);
	CHECK_TEXT(peer.log, "TIME");
	end();

	tap_case("one that is too long does not cut off the command before it");
	begin();
	peer.deaf = true;
	open_link();
	setsockopt(line.watch.fd, SOL_SOCKET, SO_SNDBUF, &least, sizeof least);
	link_append(&line, 2, command);
	CHECK(link_flush(&line));
	link_append(&line, 2, command);
	CHECK(!link_flush(&line));
	loop_watch(&loop, &peer.reading);
	for (int i = 0; i < 200 && peer.log[0] == '\0' && !failed; i++)
		peer_run_until(&loop, &done, 1);
	/* The command before it arrives whole, or the connection is given up: never half of it. */
	CHECK(peer.log[0] != '\0' || failed);
	end();
}

static int tcp_listener = -1;

static int
listen_on_loopback(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t size = sizeof address;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	tcp_listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(tcp_listener, (struct sockaddr *)&address, sizeof address) != 0 ||
	    listen(tcp_listener, 8) != 0 ||
	    getsockname(tcp_listener, (struct sockaddr *)&address, &size) != 0)
		return -1;
	return ntohs(address.sin_port);
}

static void
test_tcp(void)
{
	static const char *const hosts[] = {"127.0.0.1", "localhost"};
	for (size_t i = 0; i < COUNT_OF(hosts); i++) {
		tap_case("connects to %s over TCP, with keep-alive and without delay", hosts[i]);
		begin();
		url.scheme = URL_REDIS;
		strcpy(url.host, hosts[i]);
		url.port = listen_on_loopback();
		CHECK(url.port > 0);
		link_open(&line, instant_plus(clock_now(), 5 * NS_PER_S), false);
		CHECK(peer_run_until(&loop, &opened, LIMIT_MS));
		int value = 0;
		socklen_t size = sizeof value;
		CHECK(getsockopt(line.watch.fd, SOL_SOCKET, SO_KEEPALIVE, &value, &size) == 0);
		CHECK(value != 0);
		CHECK(getsockopt(line.watch.fd, IPPROTO_TCP, 1 /* TCP_NODELAY */, &value, &size) ==
		    0);
		CHECK(value != 0);
		close(tcp_listener);
		end();
	}
	tap_case("a port where nobody listens");
	begin();
	url.scheme = URL_REDIS;
	strcpy(url.host, "127.0.0.1");
	url.port = listen_on_loopback();
	close(tcp_listener);
	link_open(&line, instant_plus(clock_now(), 5 * NS_PER_S), false);
	CHECK(peer_run_until(&loop, &failed, LIMIT_MS));
	CHECK_HAS(reason.text, "refused");
	end();

	tap_case("R79: a look-up that is abandoned leaves nothing behind");
	begin();
	url.scheme = URL_REDIS;
	strcpy(url.host, "no-such-host.invalid");
	url.port = 6379;
	link_open(&line, instant_plus(clock_now(), 5 * NS_PER_S), false);
	CHECK_INT(line.state, LINK_RESOLVING);
	CHECK(line.resolver.helper > 0);
	link_close(&line);
	CHECK_INT(line.resolver.helper, 0);
	for (int i = 0; i < 5000 && waitpid(-1, NULL, WNOHANG) >= 0; i++)
		poll(NULL, 0, 1);
	CHECK_INT(waitpid(-1, NULL, WNOHANG), -1);
	peer_run(&loop, 5);
	CHECK(!failed);
	end();
}

int
main(void)
{
	if (loop_open(&loop) != 0)
		return 1;
	test_talk();
	test_failures();
	test_closing();
	test_large();
	test_tcp();
	return tap_end();
}
