/* Copyright (c) 2026 the dlock authors */
/* SPDX-License-Identifier: MIT */

/*
 * A row of a PostgreSQL table that is guarded by the fencing number (docs/fencing.md), written to
 * by the little of the server's protocol that this takes: no library, so that a witness starts at
 * once.
 */
#ifndef TORTURE_STORE_H
#define TORTURE_STORE_H

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct store {
	const char *dir; /* of its socket */
	int fd;          /* -1: not connected */
};

enum store_answer { STORE_ACCEPTED, STORE_REFUSED, STORE_FAILED };

static bool
store_read(int fd, char *data, size_t size)
{
	ssize_t got;

	for (; size > 0; data += got, size -= (size_t)got) {
		got = recv(fd, data, size, 0);
		if (got <= 0)
			return false;
	}
	return true;
}

/* The next message: its kind, and the beginning of its text; 0 when there is none. */
static char
store_message(int fd, char text[64])
{
	char head[5], rest[512];
	uint32_t length;

	memset(text, 0, 64);
	if (!store_read(fd, head, sizeof head))
		return 0;
	memcpy(&length, head + 1, sizeof length);
	length = ntohl(length) - 4;
	for (bool first = true; length > 0; first = false) {
		size_t part = length < sizeof rest ? length : sizeof rest;

		if (!store_read(fd, rest, part))
			return 0;
		if (first)
			memcpy(text, rest, part < 63 ? part : 63);
		length -= (uint32_t)part;
	}
	return head[0];
}

/* All there is until the server is ready; the text of the last command's tag. */
static bool
store_until_ready(int fd, char tag[64])
{
	char text[64], kind;

	tag[0] = '\0';
	while ((kind = store_message(fd, text)) != 'Z') {
		if (kind == 0)
			return false;
		if (kind == 'C')
			memcpy(tag, text, 64);
	}
	return true;
}

static bool
store_connect(struct store *store)
{
	static const char startup[] = "\0\0\0\0\0\3\0\0user\0postgres\0database\0postgres\0";
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char packet[sizeof startup], tag[64];
	uint32_t length = htonl(sizeof startup);

	snprintf(address.sun_path, sizeof address.sun_path, "%s/.s.PGSQL.5432", store->dir);
	store->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	memcpy(packet, startup, sizeof startup);
	memcpy(packet, &length, sizeof length);
	if (store->fd >= 0 &&
	    connect(store->fd, (struct sockaddr *)&address, sizeof address) == 0 &&
	    send(store->fd, packet, sizeof packet, MSG_NOSIGNAL) == (ssize_t)sizeof packet &&
	    store_until_ready(store->fd, tag))
		return true;
	if (store->fd >= 0)
		close(store->fd);
	store->fd = -1;
	return false;
}

/* One write, `<=`: compare and write are one statement. */
static enum store_answer
store_write(struct store *store, int lock, int64_t fence, int run)
{
	char packet[512] = "Q", tag[64];
	uint32_t length;
	int size;

	if (store->fd < 0 && !store_connect(store))
		return STORE_FAILED;
	size = snprintf(packet + 5, sizeof packet - 5,
	    "INSERT INTO store AS s (lock, fence, run) VALUES (%d, %lld, %d) ON CONFLICT (lock) "
	    "DO UPDATE SET fence = excluded.fence, run = excluded.run "
	    "WHERE s.fence <= excluded.fence",
	    lock, (long long)fence, run);
	length = htonl((uint32_t)size + 5);
	memcpy(packet + 1, &length, sizeof length);
	if (send(store->fd, packet, (size_t)size + 6, MSG_NOSIGNAL) == size + 6 &&
	    store_until_ready(store->fd, tag)) {
		if (strcmp(tag, "INSERT 0 1") == 0)
			return STORE_ACCEPTED;
		return strcmp(tag, "INSERT 0 0") == 0 ? STORE_REFUSED : STORE_FAILED;
	}
	close(store->fd);
	store->fd = -1;
	return STORE_FAILED;
}

#endif
