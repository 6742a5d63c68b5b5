/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "net/transport.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

bool
transport_prepare(struct transport *transport, const struct url *url, const char *host,
    struct problem *why)
{
	transport_end(transport);
	if (!url->tls.on)
		return true;
	transport->tls = tls_new(&url->tls, host, why);
	return transport->tls != NULL;
}

bool
transport_begin(struct transport *transport, int fd, struct problem *why)
{
	transport->is_secured = false;
	transport->read_event = POLLIN;
	transport->write_event = POLLOUT;
	return transport->tls == NULL || tls_begin(transport->tls, fd, why);
}

/* TLS may have to write before it can read, and the other way round. */
static void
note_event(short *event, enum transfer result, short usual)
{
	*event = usual;
	if (result == TRANSFER_WANTS_READ)
		*event = POLLIN;
	else if (result == TRANSFER_WANTS_WRITE)
		*event = POLLOUT;
}

enum transfer
transport_handshake(struct transport *transport, struct problem *why)
{
	enum transfer result =
	    transport->tls != NULL ? tls_handshake(transport->tls, why) : TRANSFER_DONE;
	transport->is_secured = result == TRANSFER_DONE;
	note_event(&transport->read_event, result, POLLIN);
	return result;
}

/* What a system call that has failed means. */
static enum transfer
judge(enum transfer wants, struct problem *why)
{
	int error = errno;
	if (error == EAGAIN || error == EWOULDBLOCK || error == EINTR)
		return wants;
	problem_set_errno(why, NULL, error);
	return TRANSFER_FAILED;
}

enum transfer
transport_read(struct transport *transport, int fd, char *bytes, size_t size, size_t *got,
    struct problem *why)
{
	if (transport->tls != NULL) {
		enum transfer result = tls_read(transport->tls, bytes, size, got, why);
		note_event(&transport->read_event, result, POLLIN);
		return result;
	}
	ssize_t count = recv(fd, bytes, size, 0);
	if (count < 0)
		return judge(TRANSFER_WANTS_READ, why);
	*got = (size_t)count;
	return count > 0 ? TRANSFER_DONE : TRANSFER_CLOSED;
}

enum transfer
transport_write(struct transport *transport, int fd, const char *bytes, size_t length, size_t *sent,
    struct problem *why)
{
	if (transport->tls != NULL) {
		enum transfer result = tls_write(transport->tls, bytes, length, sent, why);
		note_event(&transport->write_event, result, POLLOUT);
		return result;
	}
	/* MSG_NOSIGNAL: a server that has gone must not end us by SIGPIPE. */
	ssize_t count;
	do
		count = send(fd, bytes, length, MSG_NOSIGNAL);
	while (count < 0 && errno == EINTR);
	if (count < 0)
		return judge(TRANSFER_WANTS_WRITE, why);
	*sent = (size_t)count;
	return TRANSFER_DONE;
}

bool
transport_has_pending(const struct transport *transport)
{
	return transport->tls != NULL && tls_has_pending(transport->tls);
}

bool
transport_has_unread(struct transport *transport, int fd)
{
	char byte;
	if (transport->tls != NULL)
		return tls_has_unread(transport->tls);
	return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

bool
transport_has_heard(const struct transport *transport)
{
	return transport->tls != NULL && tls_has_heard(transport->tls);
}

void
transport_end(struct transport *transport)
{
	tls_free(transport->tls);
	transport->tls = NULL;
	transport->is_secured = false;
}
