/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "net/link_parts.h"

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

/* An address has failed. What is said of a certificate that was refused is not replaced by another
 * address's trouble: it is what somebody has to see to. */
static void
note_problem(struct link *link, const struct problem *why)
{
	if (!link->problem.is_denied)
		link->problem = *why;
}

static void
note_errno(struct link *link, int error)
{
	struct problem why;
	problem_set_errno(&why, NULL, error);
	note_problem(link, &why);
}

void
link_close(struct link *link)
{
	resolve_cancel(&link->resolver);
	loop_stop_timer(link->loop, &link->patience);
	drop_socket(link);
	transport_end(&link->transport);
	link->state = LINK_CLOSED;
	link_drop_output(link);
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
	/* A plain close of the inherited copy is all; what differs is that nothing may be said, and
	 * no memory given back: TLS's stays as it is. */
	if (link->watch.fd >= 0)
		close(link->watch.fd);
	link->watch.fd = -1;
	link->state = LINK_CLOSED;
}

void
link_fail(struct link *link)
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

bool
link_leads_to(const struct link *link, const struct url_place *place)
{
	return link->place.port == place->port && strcmp(link->place.host, place->host) == 0;
}

void
link_aim(struct link *link, const struct url_place *place)
{
	/* Addresses of another name are none to fall back to. */
	if (!link_leads_to(link, place))
		link->last_good.count = 0;
	link->place = *place;
}

void
link_open(struct link *link, struct instant deadline, bool fall_back)
{
	bool aimed = link->place.port != 0;
	const char *host = aimed ? link->place.host : link->url->host;
	int port = aimed ? link->place.port : link->url->port;
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
	if (!transport_prepare(&link->transport, link->url, host, &link->problem)) {
		fail_soon(link);
		return;
	}
	if (link->url->scheme == URL_UNIX) {
		use_unix_socket(link);
		try_next_address(link);
		return;
	}
	if (resolve_literal(host, port, &link->addresses)) {
		try_next_address(link);
		return;
	}
	link->state = LINK_RESOLVING;
	link->addresses.count = 0;
	if (resolve_start(&link->resolver, host, port) != 0) {
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
			link_fail(link);
			return;
		}
		link->addresses = link->last_good;
	}
	try_next_address(link);
}

void
link_shun(struct link *link)
{
	if (link->state != LINK_OPEN || link->next_address == 0)
		return;
	link->shunned = link->addresses.items[link->next_address - 1];
	link->shunned_length = link->addresses.lengths[link->next_address - 1];
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
		struct problem why;
		link_explain_delay(link, &why);
		note_problem(link, &why);
	} else if (link->next_address >= link->addresses.count) {
		link_fail(link); /* what fail_soon asked for */
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
	if (link->next_address == 0) {
		link->connecting_at = clock_now();
		addresses_put_last(&link->addresses, &link->shunned, link->shunned_length);
	}
	while (link->next_address < link->addresses.count) {
		size_t left = link->addresses.count - link->next_address;
		if (begin_to_connect(link, link->next_address++) != 0) {
			note_errno(link, errno);
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
be_open(struct link *link)
{
	loop_stop_timer(link->loop, &link->patience);
	link->last_good = link->addresses;
	link->state = LINK_OPEN;
	link->watch.events = POLLIN;
	link->events->opened(link->context);
}

static void
on_handshake(struct link *link)
{
	struct problem why;
	enum transfer result = transport_handshake(&link->transport, &why);
	if (transport_has_heard(&link->transport))
		link->spoke = true;
	switch (result) {
	case TRANSFER_DONE:
		be_open(link);
		return;
	case TRANSFER_WANTS_READ:
	case TRANSFER_WANTS_WRITE:
		link_await(link);
		return;
	case TRANSFER_CLOSED:
		problem_set(&why,
		    "the server closed the connection instead of speaking TLS (so does one that takes no "
		    "more clients)");
		break;
	case TRANSFER_FAILED:
		break;
	}
	note_problem(link, &why);
	drop_socket(link);
	try_next_address(link);
}

static void
on_connected(struct link *link)
{
	struct problem why;
	int error = 0;
	socklen_t size = sizeof error;
	if (getsockopt(link->watch.fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
		error = errno;
	if (error == 0 && transport_begin(&link->transport, link->watch.fd, &why)) {
		/* Patience with this address lasts until TLS is had, too. */
		link->state = LINK_SECURING;
		on_handshake(link);
		return;
	}
	if (error != 0)
		note_errno(link, error);
	else
		note_problem(link, &why);
	drop_socket(link);
	try_next_address(link);
}

void
link_explain_delay(const struct link *link, struct problem *why)
{
	if (link->problem.is_denied) /* of an address before */
		*why = link->problem;
	else if (link->state == LINK_SECURING && transport_has_heard(&link->transport))
		problem_set(why, "the TLS handshake was not over in time");
	else if (link->state == LINK_SECURING)
		problem_set(why,
		    "no answer to the TLS handshake in time: does the server speak TLS on this port?");
	else
		problem_set(why, "no connection in time");
}

static void
on_socket(void *context, short revents)
{
	struct link *link = context;
	if (link->state == LINK_CONNECTING)
		on_connected(link);
	else if (link->state == LINK_SECURING)
		on_handshake(link);
	else
		link_on_ready(link, revents);
}
