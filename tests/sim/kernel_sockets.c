/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* System calls about sockets: connections to servers, and the channel of two processes. */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "descriptors.h"
#include "network.h"
#include "node.h"
#include "run/channel.h"
#include "stand_ins.h"

_Static_assert(sizeof(struct message) == MESSAGE_SIZE, "a message of the channel");

static int
refuse(int error)
{
	errno = error;
	return -1;
}

int
__wrap_socket(int domain, int type, int protocol)
{
	(void)domain;
	(void)type;
	(void)protocol;
	return descriptor_open(DESCRIPTOR_SOCKET);
}

int
__wrap_socketpair(int domain, int type, int protocol, int ends[2])
{
	(void)domain;
	(void)type;
	(void)protocol;
	ends[0] = descriptor_open(DESCRIPTOR_CHANNEL);
	ends[1] = descriptor_open(DESCRIPTOR_CHANNEL);
	descriptor_get(ends[0])->peer = ends[1];
	descriptor_get(ends[1])->peer = ends[0];
	return 0;
}

/* A server's number is its port. */
int
__wrap_connect(int fd, const struct sockaddr *address, socklen_t length)
{
	struct descriptor *descriptor = descriptor_get(fd);
	struct sockaddr_in place;
	(void)length;
	memcpy(&place, address, sizeof place);
	task_step();
	descriptor->connection =
	    connection_open(current->host, nodes_get(ntohs(place.sin_port) - 1));
	return refuse(EINPROGRESS);
}

int
__wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *length)
{
	const struct descriptor *descriptor = descriptor_get(fd);
	(void)level;
	(void)name;
	(void)length;
	memcpy(value, &descriptor->connection->error, sizeof descriptor->connection->error);
	return 0;
}

int
__wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t length)
{
	(void)fd;
	(void)level;
	(void)name;
	(void)value;
	(void)length;
	return 0;
}

ssize_t
__wrap_send(int fd, const void *bytes, size_t length, int flags)
{
	struct descriptor *descriptor = descriptor_get(fd);
	(void)flags;
	if (descriptor == NULL)
		return refuse(EBADF);
	task_step();
	if (descriptor->kind == DESCRIPTOR_CHANNEL)
		return channel_put(descriptor, bytes) ? (ssize_t)length : refuse(EPIPE);
	ssize_t sent = connection_send(descriptor->connection, bytes, length);
	task_step();
	return sent;
}

static ssize_t
take_message(struct descriptor *end, void *bytes)
{
	if (end->message_count == 0)
		return end->peer < 0 ? 0 : refuse(EAGAIN);
	memcpy(bytes, end->messages[0], MESSAGE_SIZE);
	end->message_count--;
	memmove(end->messages[0], end->messages[1], (size_t)end->message_count * MESSAGE_SIZE);
	return MESSAGE_SIZE;
}

ssize_t
__wrap_recv(int fd, void *bytes, size_t size, int flags)
{
	struct descriptor *descriptor = descriptor_get(fd);
	if (descriptor == NULL)
		return refuse(EBADF);
	if (descriptor->kind == DESCRIPTOR_CHANNEL)
		return take_message(descriptor, bytes);
	return connection_receive(descriptor->connection, bytes, size, (flags & MSG_PEEK) != 0);
}

int
__wrap_shutdown(int fd, int how)
{
	(void)how;
	connection_end(descriptor_get(fd)->connection);
	return 0;
}
