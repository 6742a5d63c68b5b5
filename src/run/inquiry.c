/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "run/inquiry.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "run/descent.h"
#include "run/proc.h"

/* A question is sent again after this long; when there was no room for it in RUNNER's queue, which
 * is short, sooner, and then some tries at once: who floods it fills each place as it becomes free.
 */
#define REPEAT_NS (100 * NS_PER_MS)
#define FULL_NS (5 * NS_PER_MS)
#define INSIST 200

/* RUNNER looks at the clock soon after its start, and notes that. */
#define NOTED_WITHIN_CS 100

static int
open_socket(void)
{
	const int yes = 1;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes) != 0) {
		int error = errno;
		close(fd);
		errno = error;
		return -1;
	}
	return fd;
}

/* The abstract name of an address; returns its length. */
static socklen_t
make_name(struct sockaddr_un *name, const char *address)
{
	*name = (struct sockaddr_un){.sun_family = AF_UNIX};
	static const char prefix[] = "dlock-";
	size_t length = strnlen(address, HELD_ADDRESS_SIZE - 1);
	memcpy(name->sun_path + 1, prefix, sizeof prefix - 1);
	memcpy(name->sun_path + sizeof prefix, address, length);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + sizeof prefix + length);
}

/* Takes one datagram of exactly `size` bytes and who sent it. There is no room for descriptors:
 * what a sender attaches is closed by the kernel. 1; 0: something else came; -1: nothing is there.
 */
static int
receive(int fd, void *packet, size_t size, struct ucred *sender, struct sockaddr_un *from,
    socklen_t *from_length)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(struct ucred))];
	} control;
	struct iovec part = {.iov_base = packet, .iov_len = size};
	struct msghdr message = {
	    .msg_name = from,
	    .msg_namelen = sizeof *from,
	    .msg_iov = &part,
	    .msg_iovlen = 1,
	    .msg_control = &control,
	    .msg_controllen = sizeof control,
	};
	ssize_t got = recvmsg(fd, &message, MSG_TRUNC | MSG_CMSG_CLOEXEC);
	if (got < 0)
		return -1;
	*from_length = message.msg_namelen;
	const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	if ((size_t)got != size || header == NULL || header->cmsg_level != SOL_SOCKET ||
	    header->cmsg_type != SCM_CREDENTIALS ||
	    header->cmsg_len != CMSG_LEN(sizeof(struct ucred)))
		return 0;
	memcpy(sender, CMSG_DATA(header), sizeof *sender);
	return 1;
}

/* -- RUNNER's end ----------------------------------------------------------------------------- */

int
inquiry_listen(char address[HELD_ADDRESS_SIZE])
{
	struct sockaddr_un name;
	uint64_t number;
	int fd = open_socket();
	if (fd < 0)
		return -1;
	if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
		goto failed;
	for (int i = 0; i < 16; i++)
		address[i] = "0123456789abcdef"[number >> 4 * i & 15];
	address[16] = '\0';
	socklen_t length = make_name(&name, address);
	if (bind(fd, (struct sockaddr *)&name, length) == 0)
		return fd;

failed:;
	int error = errno;
	close(fd);
	address[0] = '\0';
	errno = error;
	return -1;
}

int
inquiry_hear(int fd, struct inquiry_question *question, struct inquiry_peer *peer)
{
	struct ucred sender;
	struct sockaddr_un from;
	socklen_t length;
	int got = receive(fd, question, sizeof *question, &sender, &from, &length);
	if (got < 0)
		return -1;
	if (got == 0 || memcmp(question->magic, INQUIRY_MAGIC, sizeof INQUIRY_MAGIC) != 0)
		return 0;
	/* Only an abstract name is answered, as the kernel makes them up: a path would be looked up
	 * anew, and with RUNNER's rights. */
	if (length <= offsetof(struct sockaddr_un, sun_path) || length > sizeof peer->address ||
	    from.sun_path[0] != '\0')
		return 0;
	question->token[sizeof question->token - 1] = '\0';
	peer->pid = sender.pid;
	peer->uid = sender.uid;
	peer->address_length = length;
	memcpy(peer->address, &from, length);
	return 1;
}

/* From a socket of its own: what is not read stays on the account of the socket it was sent from,
 * and those who ask and do not read would fill that of all others. */
void
inquiry_reply(const struct inquiry_peer *peer, const struct inquiry_question *question,
    struct inquiry_answer *answer)
{
	memcpy(answer->magic, INQUIRY_MAGIC, sizeof INQUIRY_MAGIC);
	answer->nonce = question->nonce;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	sendto(fd, answer, sizeof *answer, MSG_NOSIGNAL, (const struct sockaddr *)peer->address,
	    peer->address_length);
	close(fd);
}

/* -- the asking end --------------------------------------------------------------------------- */

struct asking {
	const struct held_entry *entry;
	struct sockaddr_un runner;
	socklen_t runner_length;
	int fd;
	int interrupt_fd;
	struct inquiry_question question;
	struct instant until;
	struct instant repeat_at;
	int sent; /* how often */
};

/* The kernel makes a name up for who binds to none. 0, or -1 and errno. */
static int
take_any_name(int fd)
{
	const struct sockaddr_un none = {.sun_family = AF_UNIX};
	return bind(fd, (const struct sockaddr *)&none, sizeof none.sun_family);
}

/* Finds RUNNER among the ancestors of this process. */
static bool
find_above(const struct held_entry *entry, struct process *process)
{
	if (!descent_is_below(getpid(), entry->runner) ||
	    !proc_read(proc_listed(entry->runner), process))
		return false;
	int64_t started_cs = (int64_t)process->started * 100 / sysconf(_SC_CLK_TCK);
	int64_t later_cs = entry->started_cs - started_cs;
	return later_cs >= 0 && later_cs <= NOTED_WITHIN_CS;
}

bool
inquiry_runner_is_above(const struct held_entry *entry)
{
	struct process process;
	return find_above(entry, &process);
}

/* A RUNNER that somebody stopped would continue itself, at its next renewal. A queued CONT is told
 * from one that is meant for COMMAND. */
static void
wake_runner(const struct held_entry *entry)
{
	const union sigval nothing = {.sival_int = 0};
	struct process process;
	if (find_above(entry, &process) && process.stopped)
		sigqueue(entry->runner, SIGCONT, nothing);
}

/* Sends the question if it is time. 0, or -1 and errno: ECONNREFUSED when nobody has that name. */
static int
send_when_due(struct asking *asking, struct instant now)
{
	if (!instant_reached(asking->repeat_at, now))
		return 0;
	if (asking->sent > 0)
		wake_runner(asking->entry);
	ssize_t sent;
	int tries = 0;
	do {
		sent = sendto(asking->fd, &asking->question, sizeof asking->question, MSG_NOSIGNAL,
		    (const struct sockaddr *)&asking->runner, asking->runner_length);
	} while (sent < 0 && errno == EAGAIN && ++tries < INSIST);
	if (sent < 0 && errno != EAGAIN && errno != EINTR)
		return -1;
	asking->sent++;
	asking->repeat_at = instant_plus(now, sent < 0 ? FULL_NS : REPEAT_NS);
	return 0;
}

/* Is the answer from RUNNER, of the same user, of root, or, when root asks, of any user? One that
 * took the name after RUNNER's end shall not be believed. A pid that cannot be seen from here is 0:
 * RUNNER is outside of our pid namespace. */
static bool
is_from_runner(const struct held_entry *entry, const struct ucred *sender)
{
	if (sender->pid != 0 && sender->pid != entry->runner)
		return false;
	if (sender->uid == getuid() || sender->uid == 0)
		return true;
	return getuid() == 0 && sender->pid != 0 && inquiry_runner_is_above(entry);
}

static bool
read_answer(const struct asking *asking, struct inquiry_answer *answer)
{
	struct ucred sender;
	struct sockaddr_un from;
	socklen_t length;
	int got;
	while ((got = receive(asking->fd, answer, sizeof *answer, &sender, &from, &length)) >= 0) {
		if (got == 0 || memcmp(answer->magic, INQUIRY_MAGIC, sizeof INQUIRY_MAGIC) != 0 ||
		    answer->nonce != asking->question.nonce ||
		    !is_from_runner(asking->entry, &sender))
			continue;
		answer->token[sizeof answer->token - 1] = '\0';
		answer->fence[sizeof answer->fence - 1] = '\0';
		answer->slot[sizeof answer->slot - 1] = '\0';
		answer->name[sizeof answer->name - 1] = '\0';
		answer->key[sizeof answer->key - 1] = '\0';
		answer->reason[sizeof answer->reason - 1] = '\0';
		return true;
	}
	return false;
}

static enum inquiry_result
converse(struct asking *asking, struct inquiry_answer *answer)
{
	for (;;) {
		struct instant now = clock_now();
		if (instant_reached(asking->until, now))
			return INQUIRY_SILENT;
		if (send_when_due(asking, now) != 0)
			return errno == ECONNREFUSED ? INQUIRY_NOBODY : INQUIRY_FAILED;
		struct instant next = instant_earlier(asking->until, asking->repeat_at);
		struct pollfd fds[] = {
		    {.fd = asking->fd, .events = POLLIN},
		    {.fd = asking->interrupt_fd, .events = POLLIN},
		};
		int ready = poll(fds, 2, (int)ms_from_ns(instant_between(now, next)) + 1);
		if (ready < 0 && errno != EINTR)
			return INQUIRY_FAILED;
		if (ready > 0 && fds[1].revents != 0)
			return INQUIRY_INTERRUPTED;
		if (ready > 0 && read_answer(asking, answer))
			return INQUIRY_ANSWERED;
	}
}

enum inquiry_result
inquiry_ask(const struct held_entry *entry, enum inquiry_kind kind, int64_t limit_ns,
    int interrupt_fd, struct inquiry_answer *answer)
{
	struct instant now = clock_now();
	struct asking asking = {
	    .entry = entry,
	    .interrupt_fd = interrupt_fd,
	    .until = instant_plus(now, limit_ns),
	    .repeat_at = now,
	};
	enum inquiry_result result = INQUIRY_FAILED;
	if (entry->address[0] == '\0')
		return INQUIRY_NOBODY;
	memcpy(asking.question.magic, INQUIRY_MAGIC, sizeof INQUIRY_MAGIC);
	memcpy(asking.question.token, entry->token, sizeof asking.question.token);
	asking.question.kind = (int32_t)kind;
	asking.runner_length = make_name(&asking.runner, entry->address);
	asking.fd = open_socket();
	if (asking.fd < 0)
		return INQUIRY_FAILED;
	if (getrandom(&asking.question.nonce, sizeof asking.question.nonce, 0) ==
	    (ssize_t)sizeof asking.question.nonce) {
		if (take_any_name(asking.fd) == 0)
			result = converse(&asking, answer);
	}
	int error = errno;
	close(asking.fd);
	errno = error;
	return result;
}
