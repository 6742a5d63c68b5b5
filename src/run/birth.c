/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "run/birth.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "run/testing.h"

#define LONGEST_MS 10

/* gcc says so in one way, clang in the other. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED
#endif

#if defined(__linux__) && !defined(SANITIZED)

/* A few calls deep, none of them with large variables. */
static _Alignas(16) char stack[32768];
static void (*born)(void *context);
static bool refused;

static int
live(void *context)
{
	born(context);
	_exit(EXIT_FAILURE); /* not reached */
}

static pid_t
share(void (*child)(void *context), void *context)
{
	born = child;
	pid_t pid = clone(live, stack + sizeof stack, CLONE_VM | SIGCHLD, context);
	refused = pid < 0;
	return pid;
}

bool
birth_shares_memory(void)
{
	return !refused && !testing_hook("fork");
}

#else

static pid_t
share(void (*child)(void *context), void *context)
{
	(void)child, (void)context;
	return -1;
}

bool
birth_shares_memory(void)
{
	return false;
}

#endif

pid_t
birth_give(void (*child)(void *context), void *context)
{
	pid_t pid = birth_shares_memory() ? share(child, context) : -1;
	if (pid > 0)
		return pid;
	/* qemu's user mode knows threads and vfork(2) and nothing in between: EINVAL. A filter of
	 * system calls may say anything. */
	pid = fork();
	if (pid == 0)
		child(context);
	return pid;
}

void
birth_await(int fd)
{
	struct pollfd executed = {.fd = fd, .events = POLLIN};
	if (birth_shares_memory())
		poll(&executed, 1, LONGEST_MS);
}
