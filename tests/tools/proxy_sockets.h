/* Copyright (c) 2026 the dlock authors */
/* SPDX-License-Identifier: MIT */

/* The sockets of flaky_proxy: where it listens, and how it reaches what it stands in front of. Each
 * ends the program when it cannot. */
#ifndef TESTS_TOOLS_PROXY_SOCKETS_H
#define TESTS_TOOLS_PROXY_SOCKETS_H

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

_Noreturn static inline void
fail(const char *what)
{
	fprintf(stderr, "flaky_proxy: %s: %s\n", what, strerror(errno));
	exit(71);
}

static inline struct sockaddr_un
unix_address(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};

	if (strlen(path) >= sizeof addr.sun_path) {
		errno = ENAMETOOLONG;
		fail(path);
	}
	strcpy(addr.sun_path, path);
	return addr;
}

/* A socket that listens on this path for orders. */
static inline int
listen_at(const char *path)
{
	struct sockaddr_un addr = unix_address(path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (bind(fd, (struct sockaddr *)&addr, sizeof addr) != 0 || listen(fd, 8) != 0)
		fail(path);
	return fd;
}

/* A socket that listens on 127.0.0.1; *port (network order) is 0 the first time, and then which it
 * is. */
static inline int
listen_on(in_port_t *port)
{
	struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = *port};
	socklen_t len = sizeof addr;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int on = 1;

	if (fd < 0)
		fail("socket");
	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (bind(fd, (struct sockaddr *)&addr, sizeof addr) != 0 || listen(fd, 64) != 0)
		fail("listen");
	getsockname(fd, (struct sockaddr *)&addr, &len);
	*port = addr.sin_port;
	return fd;
}

/* Connected to unix:PATH or to a port of 127.0.0.1; -1 when nobody is there. */
static inline int
dial(const char *target)
{
	struct sockaddr_un local;
	struct sockaddr_in remote = {.sin_family = AF_INET};
	int fd, result;

	if (strncmp(target, "unix:", 5) == 0) {
		local = unix_address(target + 5);
		fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		result = connect(fd, (struct sockaddr *)&local, sizeof local);
	} else {
		remote.sin_port = htons((unsigned short)atoi(target));
		remote.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		result = connect(fd, (struct sockaddr *)&remote, sizeof remote);
	}
	if (result == 0)
		return fd;
	close(fd);
	return -1;
}

/* The other side gets a RST. */
static inline void
reset_by_close(int fd)
{
	struct linger at_once = {1, 0};

	if (fd < 0)
		return;
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
	close(fd);
}

#endif
