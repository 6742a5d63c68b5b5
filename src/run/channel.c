/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "run/channel.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* Where the processor cannot do it alone, the C library takes a lock of one process. */
_Static_assert(ATOMIC_INT_LOCK_FREE == 2 && ATOMIC_LLONG_LOCK_FREE == 2,
    "two processes cannot share the page");

int
channel_open(struct channel *channel)
{
	void *page = mmap(NULL, sizeof *channel->page, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return -1;
	channel->page = page;
	atomic_store(&channel->page->guard_at_ns, INT64_MAX);
	atomic_store(&channel->page->phase, PHASE_HOLDING);
	atomic_store(&channel->page->last_word, 0);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, channel->ends) ==
	    0)
		return 0;
	int error = errno;
	munmap(page, sizeof *channel->page);
	errno = error;
	return -1;
}

void
channel_close(struct channel *channel)
{
	close(channel->ends[CHANNEL_OUTER]);
	close(channel->ends[CHANNEL_RUNNER]);
	munmap(channel->page, sizeof *channel->page);
}

int
channel_take(struct channel *channel, enum channel_end end)
{
	int other = end == CHANNEL_OUTER ? CHANNEL_RUNNER : CHANNEL_OUTER;
	close(channel->ends[other]);
	channel->ends[other] = -1;
	return channel->ends[end];
}

int64_t
channel_pack(const struct message *last_word)
{
	return ((int64_t)last_word->kind + 1) * 1000 + last_word->number;
}

void
channel_unpack(int64_t packed, struct message *last_word)
{
	last_word->kind = (int32_t)(packed / 1000 - 1);
	last_word->number = (int32_t)(packed % 1000);
}

void
channel_send(int fd, const struct message *message)
{
	while (send(fd, message, sizeof *message, MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
}

int
channel_receive(int fd, struct message *message)
{
	for (;;) {
		/* MSG_TRUNC: the length that was sent, so that a longer one is no message either.
		 */
		ssize_t got = recv(fd, message, sizeof *message, MSG_TRUNC);
		if (got == (ssize_t)sizeof *message)
			return 1;
		if (got == 0)
			return -1;
		if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return 0;
		/* A peer that ended with something of ours unread is told first, and once; what it
		 * said before comes after that. */
		if (got < 0 && errno != EINTR && errno != ECONNRESET)
			return -1;
	}
}
