/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Names to addresses, without ever waiting: getaddrinfo(3) may hang for minutes (a dead name
 * server, an unreachable directory), so a helper process asks it and can be killed at any time.
 *
 * A process and not a thread, because a thread that hangs in the C library cannot be ended, and
 * because dlock forks: fork(2) in a program with threads is a trap of its own. The helper closes
 * every descriptor but its pipe, has all signals blocked as its parent has, and dies with it. */
#ifndef DLOCK_NET_RESOLVE_H
#define DLOCK_NET_RESOLVE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "base/loop.h"
#include "base/problem.h"

#define RESOLVE_MAX 8

struct addresses {
	size_t count;
	struct sockaddr_storage items[RESOLVE_MAX];
	socklen_t lengths[RESOLVE_MAX];
};

/* Puts that address, if it is among them, behind the others, whose order stays. */
void
addresses_put_last(struct addresses *addresses, const struct sockaddr_storage *address,
    socklen_t length);

struct resolver {
	struct loop *loop;
	struct watch watch;
	pid_t helper; /* 0: none */
	/* Called once: with addresses, or with none and the reason. */
	void (*done)(void *context, const struct addresses *addresses, const struct problem *why);
	void *context;
	struct resolve_result {
		struct addresses addresses;
		struct problem problem;
	} result;
	size_t received; /* bytes of it */
};

/* Is `host` a literal address? Then the list is filled at once, without a helper. */
bool
resolve_literal(const char *host, int port, struct addresses *addresses);

/* Starts a look-up; done is called from the loop. The caller sets loop, done and context first. 0,
 * or -1 and errno. */
int
resolve_start(struct resolver *resolver, const char *host, int port);

/* Abandons a look-up: the helper is killed, done is not called. Harmless when none runs. */
void
resolve_cancel(struct resolver *resolver);

#endif
