/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* System calls about descriptors, but for sockets. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "descriptors.h"
#include "payload.h"
#include "stand_ins.h"
#include "world.h"

static void
on_alarm(void *subject, uint64_t unused)
{
	(void)unused;
	task_wake(subject);
}

/* What is ready now; *next becomes the true time at which a timer among them will be. */
static int
look(struct pollfd *fds, nfds_t count, int64_t *next)
{
	int ready = 0;
	for (nfds_t i = 0; i < count; i++) {
		const struct descriptor *descriptor = descriptor_get(fds[i].fd);
		fds[i].revents = POLLNVAL;
		if (descriptor != NULL)
			fds[i].revents = descriptor_events(descriptor, fds[i].events);
		ready += fds[i].revents != 0;
		if (descriptor == NULL || descriptor->kind != DESCRIPTOR_TIMER)
			continue;
		int64_t at = host_time_of(current->host, descriptor->at);
		*next = at < *next ? at : *next;
	}
	return ready;
}

int
__wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	int64_t until = timeout_ms < 0 ? NEVER : world.now + timeout_ms * NS_PER_MS;
	for (;;) {
		int64_t next = until;
		int ready = look(fds, count, &next);
		if (ready > 0 || world.now >= until)
			return ready;
		if (next != current->alarm_at || next <= world.now) {
			current->alarm_at = next;
			world_at(next, on_alarm, current, 0);
		}
		task_wait();
	}
}

ssize_t
__wrap_read(int fd, void *bytes, size_t size)
{
	struct descriptor *descriptor = descriptor_get(fd);
	uint64_t once = 1;
	if (descriptor == NULL || descriptor->kind != DESCRIPTOR_TIMER || size < sizeof once) {
		errno = EBADF;
		return -1;
	}
	if (descriptor->has_stepped) {
		descriptor->has_stepped = false;
		errno = ECANCELED;
		return -1;
	}
	if (descriptor->at == NEVER || host_boottime(current->host, world.now) < descriptor->at) {
		errno = EAGAIN;
		return -1;
	}
	descriptor->at = NEVER;
	memcpy(bytes, &once, sizeof once);
	return sizeof once;
}

ssize_t
__wrap_write(int fd, const void *bytes, size_t length)
{
	struct descriptor *descriptor = descriptor_get(fd);
	(void)bytes;
	if (descriptor == NULL || descriptor->kind != DESCRIPTOR_GATE) {
		errno = EBADF;
		return -1;
	}
	task_step();
	payload_execute(descriptor->command);
	return (ssize_t)length;
}

int
__wrap_close(int fd)
{
	descriptor_close(fd);
	return 0;
}

/* Only what run/guard.c asks of its end of the channel. */
int
__wrap_fcntl(int fd, int command, ...)
{
	struct descriptor *descriptor = descriptor_get(fd);
	if (descriptor != NULL && command == F_SETFL)
		descriptor->is_signalling = true;
	return 0;
}

int
__wrap_fcntl64(int fd, int command, ...)
{
	return __wrap_fcntl(fd, command);
}

/* The page that OUTER and RUNNER share. */
void *
__wrap_mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset)
{
	(void)address;
	(void)protection;
	(void)flags;
	(void)fd;
	(void)offset;
	return world_allocate(length);
}

void *
__wrap_mmap64(void *address, size_t length, int protection, int flags, int fd, off_t offset)
{
	return __wrap_mmap(address, length, protection, flags, fd, offset);
}

int
__wrap_munmap(void *address, size_t length)
{
	(void)address;
	(void)length;
	return 0;
}
