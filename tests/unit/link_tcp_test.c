/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* net/link and net/resolve: connections over TCP, and names. */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "link_bench.h"
#include "tap.h"

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
		link_bench_begin();
		talk.url.scheme = URL_REDIS;
		strcpy(talk.url.host, hosts[i]);
		talk.url.port = listen_on_loopback();
		CHECK(talk.url.port > 0);
		link_bench_begin_to_open();
		CHECK(peer_run_until(&talk.loop, &talk.opened, LINK_LIMIT_MS));
		int value = 0;
		socklen_t size = sizeof value;
		CHECK(getsockopt(talk.line.watch.fd, SOL_SOCKET, SO_KEEPALIVE, &value, &size) == 0);
		CHECK(value != 0);
		CHECK(getsockopt(talk.line.watch.fd, IPPROTO_TCP, TCP_NODELAY, &value, &size) == 0);
		CHECK(value != 0);
		close(tcp_listener);
		link_bench_end();
	}
	tap_case("a port where nobody listens");
	link_bench_begin();
	talk.url.scheme = URL_REDIS;
	strcpy(talk.url.host, "127.0.0.1");
	talk.url.port = listen_on_loopback();
	close(tcp_listener);
	link_bench_begin_to_open();
	CHECK(peer_run_until(&talk.loop, &talk.failed, LINK_LIMIT_MS));
	CHECK_HAS(talk.reason.text, "refused");
	link_bench_end();

	tap_case("R79: a look-up that is abandoned leaves nothing behind");
	link_bench_begin();
	talk.url.scheme = URL_REDIS;
	strcpy(talk.url.host, "no-such-host.invalid");
	talk.url.port = 6379;
	link_bench_begin_to_open();
	CHECK_INT(talk.line.state, LINK_RESOLVING);
	CHECK(talk.line.resolver.helper > 0);
	link_close(&talk.line);
	CHECK_INT(talk.line.resolver.helper, 0);
	for (int i = 0; i < 5000 && waitpid(-1, NULL, WNOHANG) >= 0; i++)
		poll(NULL, 0, 1);
	CHECK_INT(waitpid(-1, NULL, WNOHANG), -1);
	peer_run(&talk.loop, 5);
	CHECK(!talk.failed);
	link_bench_end();
}

int
main(void)
{
	if (!link_bench_set_up())
		return 1;
	test_tcp();
	return tap_end();
}
