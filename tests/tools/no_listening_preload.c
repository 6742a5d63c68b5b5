/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT
 *
 * A system on which RUNNER may not listen for questions: to be loaded with LD_PRELOAD. bind(2) of
 * the name that dlock gives itself is refused, as by a security module.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

int
bind(int fd, const struct sockaddr *address, socklen_t length)
{
	const struct sockaddr_un *name = (const struct sockaddr_un *)address;
	if (address->sa_family == AF_UNIX && length > sizeof name->sun_family + 6 &&
	    memcmp(name->sun_path, "\0dlock-", 7) == 0) {
		errno = EACCES;
		return -1;
	}
	return (int)syscall(SYS_bind, fd, address, length);
}
