/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "net/link.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "net/reader.h"

static void
try_next_address(struct link *link);
static void
on_socket(void *context, short revents);
static void
on_addresses(void *context, const struct addresses *addresses, const struct problem *why);
static void
on_patience(void *context, struct instant now);

void
link_init(struct link *link, struct loop *loop, const struct url *url,
    const struct link_events *events, void *context)
{
	memset(link, 0, offsetof(struct link, out));
	link->loop = loop;
	link->url = url;
	link->events = events;
	link->context = context;
	link->watch = (struct watch){.fd = -1, .ready = on_socket, .context = link};
	link->patience = (struct timer){.due = on_patience, .context = link};
	link->resolver.loop = loop;
	link->resolver.done = on_addresses;
	link->resolver.context = link;
}

static void
drop_socket(struct link *link)
{
	if (link->watch.fd < 0)
		return;
	loop_unwatch(link->loop, &link->watch);
	close(link->watch.fd);
	link->watch.fd = -1;
}

/* What was sent may have been a password. */
static void
drop_output(struct link *link)
{
	explicit_bzero(link->out, link->out_used);
	link->out_used = link->out_sent = link->out_flushed = 0;
}

void
link_close(struct link *link)
{
	resolve_cancel(&link->resolver);
	loop_stop_timer(link->loop, &link->patience);
	drop_socket(link);
	link->state = LINK_CLOSED;
	drop_output(link);
	link->append_failed = false;
	link->generation++;
}

void
link_free(struct link *link)
{
	link_close(link);
	reader_free(link->reader);
	link->reader = NULL;
}

void
link_forget(struct link *link)
{
	/* A plain close of the inherited copy is all; what differs is that nothing may be said. */
	if (link->watch.fd >= 0)
		close(link->watch.fd);
	link->watch.fd = -1;
	link->state = LINK_CLOSED;
}

static void
fail(struct link *link)
{
	struct problem why = link->problem;
	link_close(link);
	link->events->failed(link->context, &why);
}

/* Fails from the loop, not from within the caller's call. */
static void
fail_soon(struct link *link)
{
	link->state = LINK_CONNECTING;
	link->next_address = link->addresses.count;
	loop_set_timer(link->loop, &link->patience, clock_now());
}

static void
use_unix_socket(struct link *link)
{
	struct sockaddr_un *address = (void *)&link->addresses.items[0];
	memset(address, 0, sizeof *address);
	address->sun_family = AF_UNIX;
	memcpy(address->sun_path, link->url->path, sizeof address->sun_path);
	link->addresses.lengths[0] = sizeof *address;
	link->addresses.count = 1;
}

void
link_open(struct link *link, struct instant deadline, bool fall_back)
{
	link_close(link);
	link->deadline = deadline;
	link->next_address = 0;
	link->spoke = false;
	problem_set(&link->problem, "no address");
	if (link->reader == NULL)
		link->reader = reader_new();
	if (link->reader == NULL || reader_reset(link->reader) != 0) {
		problem_set_errno(&link->problem, NULL, ENOMEM);
		fail_soon(link);
		return;
	}
	if (link->url->scheme == URL_UNIX) {
		use_unix_socket(link);
		try_next_address(link);
		return;
	}
	if (resolve_literal(link->url->host, link->url->port, &link->addresses)) {
		try_next_address(link);
		return;
	}
	link->state = LINK_RESOLVING;
	link->addresses.count = 0;
	if (resolve_start(&link->resolver, link->url->host, link->url->port) != 0) {
		if (fall_back && link->last_good.count > 0) {
			link->addresses = link->last_good;
			try_next_address(link);
			return;
		}
		problem_set_errno(&link->problem, "cannot start a name look-up", errno);
		link->problem.is_system = true;
		fail_soon(link);
	} else if (fall_back && link->last_good.count > 0) {
		struct instant now = clock_now();
		loop_set_timer(link->loop, &link->patience,
		    instant_plus(now, instant_between(now, deadline) / 4));
	}
}

static void
on_addresses(void *context, const struct addresses *addresses, const struct problem *why)
{
	struct link *link = context;
	loop_stop_timer(link->loop, &link->patience);
	link->addresses = *addresses;
	if (addresses->count == 0) {
		link->problem = *why;
		if (link->last_good.count == 0) {
			fail(link);
			return;
		}
		link->addresses = link->last_good;
	}
	try_next_address(link);
}

/* Time is over for a look-up, where addresses from before can serve, or for an address, where
 * another one is left. */
static void
on_patience(void *context, struct instant now)
{
	struct link *link = context;
	(void)now;
	if (link->state == LINK_RESOLVING) {
		resolve_cancel(&link->resolver);
		link->addresses = link->last_good;
	} else if (link->watch.fd >= 0) {
		problem_set(&link->problem, "no answer to a connection attempt");
	} else if (link->next_address >= link->addresses.count) {
		fail(link); /* what fail_soon asked for */
		return;
	}
	drop_socket(link);
	try_next_address(link);
}

static int
begin_to_connect(struct link *link, size_t index)
{
	const struct sockaddr *address = (const struct sockaddr *)&link->addresses.items[index];
	int yes = 1;
	int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	if (address->sa_family != AF_UNIX) {
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
		setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
	}
	if (connect(fd, address, link->addresses.lengths[index]) != 0 && errno != EINPROGRESS) {
		int error = errno;
		close(fd);
		errno = error;
		return -1;
	}
	link->watch.fd = fd;
	link->watch.events = POLLOUT;
	loop_watch(link->loop, &link->watch);
	return 0;
}

static void
try_next_address(struct link *link)
{
	link->state = LINK_CONNECTING;
	loop_stop_timer(link->loop, &link->patience);
	if (link->next_address == 0)
		link->connecting_at = clock_now();
	while (link->next_address < link->addresses.count) {
		size_t left = link->addresses.count - link->next_address;
		if (begin_to_connect(link, link->next_address++) != 0) {
			problem_set_errno(&link->problem, NULL, errno);
			continue;
		}
		if (left > 1) {
			struct instant now = clock_now();
			loop_set_timer(link->loop, &link->patience,
			    instant_plus(now,
				instant_between(now, link->deadline) / (int64_t)left));
		}
		return;
	}
	fail_soon(link);
}

static void
on_connected(struct link *link)
{
	int error = 0;
	socklen_t size = sizeof error;
	if (getsockopt(link->watch.fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
		error = errno;
	if (error != 0) {
		problem_set_errno(&link->problem, NULL, error);
		drop_socket(link);
		try_next_address(link);
		return;
	}
	loop_stop_timer(link->loop, &link->patience);
	link->last_good = link->addresses;
	link->state = LINK_OPEN;
	link->watch.events = POLLIN;
	link->events->opened(link->context);
}

/* Gives the kernel what it takes. 0, or -1 and the reason in link->problem. */
static int
flush(struct link *link)
{
	while (link->out_sent < link->out_used) {
		/* MSG_NOSIGNAL: a server that has gone must not end us by SIGPIPE. */
		ssize_t sent = send(link->watch.fd, link->out + link->out_sent,
		    link->out_used - link->out_sent, MSG_NOSIGNAL);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
			link->watch.events = POLLIN | POLLOUT;
			return 0;
		}
		if (sent < 0) {
			problem_set_errno(&link->problem, NULL, errno);
			return -1;
		}
		link->out_sent += (size_t)sent;
	}
	drop_output(link);
	link->watch.events = POLLIN;
	return 0;
}

void
link_append(struct link *link, int argc, const char *const *argv)
{
	size_t room = sizeof link->out - link->out_used;
	long length = reader_format(link->out + link->out_used, room, argc, argv);
	if (length < 0)
		link->append_failed = true;
	else
		link->out_used += (size_t)length;
}

bool
link_flush(struct link *link)
{
	if (link->append_failed) {
		/* A pipeline is sent whole or not at all; what was flushed before it stays. */
		link->append_failed = false;
		explicit_bzero(link->out + link->out_flushed, link->out_used - link->out_flushed);
		link->out_used = link->out_flushed;
		return false;
	}
	if (link->state == LINK_OPEN && flush(link) != 0) {
		/* Told from the loop: the socket is readable now, with the error or the end. */
		drop_output(link);
		link->watch.events = POLLIN;
		shutdown(link->watch.fd, SHUT_RDWR);
	}
	link->out_flushed = link->out_used;
	return true;
}

void
link_pause(struct link *link)
{
	link->watch.events = 0;
}

bool
link_has_unread(const struct link *link)
{
	char byte;
	return reader_has_more(link->reader) ||
	    recv(link->watch.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

static void
on_data(struct link *link)
{
	char bytes[4096];
	unsigned int generation = link->generation;
	ssize_t got = recv(link->watch.fd, bytes, sizeof bytes, 0);
	if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
		return;
	if (got <= 0) {
		problem_set(&link->problem, "%s",
		    got == 0 ? "the server closed the connection" : strerror(errno));
		fail(link);
		return;
	}
	link->spoke = true;
	if (reader_feed(link->reader, bytes, (size_t)got, &link->problem) != 0) {
		fail(link);
		return;
	}
	for (;;) {
		const struct reply *reply;
		int status = reader_next(link->reader, &reply, &link->problem);
		if (status < 0)
			fail(link);
		if (status <= 0)
			return;
		link->events->answered(link->context, reply);
		if (link->generation != generation)
			return;
	}
}

static void
on_socket(void *context, short revents)
{
	struct link *link = context;
	if (link->state == LINK_CONNECTING) {
		on_connected(link);
		return;
	}
	if ((revents & POLLOUT) && flush(link) != 0) {
		fail(link);
		return;
	}
	if (revents & (POLLIN | POLLHUP | POLLERR))
		on_data(link);
}
