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

/* 127.0.0.N for each digit. */
static struct addresses
addresses_of(const char *digits)
{
	struct addresses addresses = {.count = 0};
	for (; *digits; digits++) {
		struct sockaddr_in *address = (void *)&addresses.items[addresses.count];
		address->sin_family = AF_INET;
		address->sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + (in_addr_t)(*digits - '0'));
		addresses.lengths[addresses.count++] = sizeof *address;
	}
	return addresses;
}

static void
test_put_last(void)
{
	static const struct {
		const char *before, *last, *after;
	} rows[] = {
	    {"12", "1", "21"},
	    {"12", "2", "12"},
	    {"12", "3", "12"},
	    {"1", "1", "1"},
	    {"", "1", ""},
	    {"12345678", "3", "12456783"},
	    {"121", "1", "211"},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct addresses before = addresses_of(rows[i].before);
		struct addresses last = addresses_of(rows[i].last);
		struct addresses after = addresses_of(rows[i].after);
		tap_case("addresses %s, %s put last", rows[i].before, rows[i].last);
		addresses_put_last(&before, &last.items[0], last.lengths[0]);
		CHECK(before.count == after.count);
		CHECK(memcmp(before.items, after.items, sizeof after.items) == 0);
		CHECK(memcmp(before.lengths, after.lengths, sizeof after.lengths) == 0);
	}
	tap_case("nothing to be put last");
	struct addresses none = {.count = 0};
	struct addresses two = addresses_of("12"), same = addresses_of("12");
	addresses_put_last(&two, &none.items[0], 0);
	CHECK(memcmp(&two, &same, sizeof two) == 0);
}

int
main(void)
{
	if (!link_bench_set_up())
		return 1;
	test_tcp();
	test_put_last();
	return tap_end();
}
