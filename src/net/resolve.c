/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "net/resolve.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/compat/close_range.h"
#include "base/helper.h"

void
addresses_put_last(struct addresses *addresses, const struct sockaddr_storage *address,
    socklen_t length)
{
	size_t to = 0;
	for (size_t from = 0; from < addresses->count; from++) {
		if (addresses->lengths[from] == length &&
		    memcmp(&addresses->items[from], address, length) == 0)
			continue;
		addresses->items[to] = addresses->items[from];
		addresses->lengths[to++] = addresses->lengths[from];
	}
	for (; to < addresses->count; to++) {
		addresses->items[to] = *address;
		addresses->lengths[to] = length;
	}
}

/* Returns getaddrinfo's error, 0 for none. */
static int
look_up(const char *host, int port, int flags, struct addresses *addresses)
{
	char service[16];
	struct addrinfo *found = NULL;
	const struct addrinfo hints = {
	    .ai_socktype = SOCK_STREAM,
	    .ai_flags = flags | AI_NUMERICSERV,
	};
	addresses->count = 0;
	snprintf(service, sizeof service, "%d", port);
	int error = getaddrinfo(host, service, &hints, &found);
	if (error != 0)
		return error;
	for (const struct addrinfo *at = found; at && addresses->count < RESOLVE_MAX;
	     at = at->ai_next) {
		if (at->ai_addrlen > sizeof(struct sockaddr_storage))
			continue;
		memcpy(&addresses->items[addresses->count], at->ai_addr, at->ai_addrlen);
		addresses->lengths[addresses->count++] = at->ai_addrlen;
	}
	freeaddrinfo(found);
	return 0;
}

bool
resolve_literal(const char *host, int port, struct addresses *addresses)
{
	return look_up(host, port, AI_NUMERICHOST, addresses) == 0 && addresses->count > 0;
}

/* In the helper. The pipe holds the whole result (PIPE_BUF is 4096), so one write is enough. */
_Static_assert(sizeof(struct resolve_result) <= 4096, "a result must fit into a pipe at once");

static _Noreturn void
help(const char *host, int port, int out, pid_t parent)
{
	struct resolve_result result;
	memset(&result, 0, sizeof result);
	helper_die_with(parent);
	/* Copies of the connection or of the channel would hide their end from the peers. */
	compat_close_all_but(out);
	int error = look_up(host, port, 0, &result.addresses);
	if (error == EAI_SYSTEM)
		problem_set(&result.problem, "cannot look up '%s': %s", host, strerror(errno));
	else if (error != 0)
		problem_set(&result.problem, "cannot look up '%s': %s", host, gai_strerror(error));
	ssize_t written = write(out, &result, sizeof result);
	_exit(written == (ssize_t)sizeof result ? 0 : 1);
}

static void
end_helper(struct resolver *resolver)
{
	if (resolver->helper == 0)
		return;
	loop_unwatch(resolver->loop, &resolver->watch);
	close(resolver->watch.fd);
	/* One that cannot die must not stop us either: whoever reaps children gets it later. */
	helper_signal(resolver->helper, SIGKILL);
	helper_reap(resolver->helper);
	resolver->helper = 0;
}

static void
on_answer(void *context, short revents)
{
	(void)revents;
	struct resolver *resolver = context;
	struct resolve_result *result = &resolver->result;
	ssize_t got = read(resolver->watch.fd, (char *)result + resolver->received,
	    sizeof *result - resolver->received);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got > 0)
		resolver->received += (size_t)got;
	if (got > 0 && resolver->received < sizeof *result)
		return;
	if (resolver->received < sizeof *result) {
		memset(result, 0, sizeof *result);
		problem_set(&result->problem, "the name look-up ended without an answer");
	}
	end_helper(resolver);
	resolver->done(resolver->context, &result->addresses, &result->problem);
}

int
resolve_start(struct resolver *resolver, const char *host, int port)
{
	int end;
	resolve_cancel(resolver);
	pid_t parent = getpid();
	pid_t helper = helper_fork(&end);
	if (helper < 0)
		return -1;
	if (helper == 0)
		help(host, port, end, parent);
	resolver->helper = helper;
	resolver->received = 0;
	resolver->watch =
	    (struct watch){.fd = end, .events = POLLIN, .ready = on_answer, .context = resolver};
	loop_watch(resolver->loop, &resolver->watch);
	return 0;
}

void
resolve_cancel(struct resolver *resolver)
{
	end_helper(resolver);
}
