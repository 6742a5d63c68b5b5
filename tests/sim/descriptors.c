/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "descriptors.h"

#include <poll.h>
#include <signal.h>
#include <string.h>

#include "network.h"
#include "world.h"

static struct descriptor descriptors[MOST_DESCRIPTORS];
static int first_free;

void
descriptors_begin(void)
{
	for (int i = 0; i < MOST_DESCRIPTORS; i++)
		descriptors[i].kind = DESCRIPTOR_FREE;
	first_free = 0;
}

int
descriptor_open(enum descriptor_kind kind)
{
	int index = first_free;
	while (index < MOST_DESCRIPTORS && descriptors[index].kind != DESCRIPTOR_FREE)
		index++;
	if (index == MOST_DESCRIPTORS)
		return -1;
	first_free = index + 1;
	struct descriptor *descriptor = &descriptors[index];
	descriptor->kind = kind;
	descriptor->owner = current;
	descriptor->is_wall_clock = false;
	descriptor->has_stepped = false;
	descriptor->at = NEVER;
	descriptor->connection = NULL;
	descriptor->peer = -1;
	descriptor->message_count = 0;
	descriptor->is_signalling = false;
	descriptor->command = NULL;
	descriptor->is_answered = false;
	return FIRST_DESCRIPTOR + index;
}

struct descriptor *
descriptor_get(int fd)
{
	int index = fd - FIRST_DESCRIPTOR;
	if (index < 0 || index >= MOST_DESCRIPTORS || descriptors[index].kind == DESCRIPTOR_FREE)
		return NULL;
	return &descriptors[index];
}

static bool
is_readable(const struct descriptor *descriptor)
{
	switch (descriptor->kind) {
	case DESCRIPTOR_FREE:
	case DESCRIPTOR_GATE:
		return false;
	case DESCRIPTOR_TIMER:
		return descriptor->has_stepped ||
		    (descriptor->at != NEVER &&
			host_boottime(current->host, world.now) >= descriptor->at);
	case DESCRIPTOR_SOCKET:
		return connection_is_readable(descriptor->connection);
	case DESCRIPTOR_CHANNEL:
		return descriptor->message_count > 0 || descriptor->peer < 0;
	case DESCRIPTOR_SIGNALS:
		return current->signal_count > 0;
	case DESCRIPTOR_FAILURE:
		return descriptor->command == NULL;
	case DESCRIPTOR_LOOKUP:
		return descriptor->is_answered;
	}
	return false;
}

short
descriptor_events(const struct descriptor *descriptor, short wanted)
{
	short events = 0;
	if ((wanted & POLLIN) && is_readable(descriptor))
		events |= POLLIN;
	if (descriptor->kind == DESCRIPTOR_SOCKET) {
		if ((wanted & POLLOUT) && connection_is_writable(descriptor->connection))
			events |= POLLOUT;
		/* Not asked for, and said all the same. */
		if (connection_has_failed(descriptor->connection))
			events |= POLLERR | POLLHUP;
	}
	return events;
}

static void
tell_owner(const struct descriptor *end)
{
	if (end->is_signalling)
		task_signal(end->owner, SIGCONT, POLL_IN, 0);
	task_wake(end->owner);
}

static void
close_one(int index)
{
	struct descriptor *descriptor = &descriptors[index];
	struct descriptor *peer =
	    descriptor->kind == DESCRIPTOR_CHANNEL ? descriptor_get(descriptor->peer) : NULL;
	if (descriptor->kind == DESCRIPTOR_SOCKET && descriptor->connection != NULL)
		connection_close(descriptor->connection);
	descriptor->kind = DESCRIPTOR_FREE;
	if (index < first_free)
		first_free = index;
	if (peer != NULL) {
		peer->peer = -1;
		tell_owner(peer);
	}
}

void
descriptor_close(int fd)
{
	struct descriptor *descriptor = descriptor_get(fd);
	if (descriptor != NULL && descriptor->owner == current)
		close_one(fd - FIRST_DESCRIPTOR);
}

void
descriptors_close_all(struct task *task)
{
	for (int i = 0; i < MOST_DESCRIPTORS; i++) {
		/* The one for signals is OUTER's and RUNNER's, whoever of them is left. */
		if (descriptors[i].kind != DESCRIPTOR_FREE &&
		    descriptors[i].kind != DESCRIPTOR_SIGNALS && descriptors[i].owner == task)
			close_one(i);
	}
}

void
descriptors_pass_on(struct task *from, struct task *to, int kept, int also_kept)
{
	for (int i = 0; i < MOST_DESCRIPTORS; i++) {
		int fd = FIRST_DESCRIPTOR + i;
		if (descriptors[i].kind == DESCRIPTOR_FREE || descriptors[i].owner != from ||
		    fd == kept || fd == also_kept)
			continue;
		descriptors[i].owner = to;
		if (descriptors[i].connection != NULL)
			descriptors[i].connection->owner = to;
	}
}

bool
descriptors_step_clock(const struct host *host)
{
	bool any = false;
	for (int i = 0; i < MOST_DESCRIPTORS; i++) {
		struct descriptor *descriptor = &descriptors[i];
		if (descriptor->kind != DESCRIPTOR_TIMER || !descriptor->is_wall_clock ||
		    descriptor->owner->host != host)
			continue;
		descriptor->has_stepped = true;
		task_wake(descriptor->owner);
		any = true;
	}
	return any;
}

bool
channel_put(struct descriptor *end, const void *message)
{
	struct descriptor *peer = descriptor_get(end->peer);
	if (peer == NULL || peer->message_count == MOST_MESSAGES)
		return false;
	memcpy(peer->messages[peer->message_count++], message, MESSAGE_SIZE);
	tell_owner(peer);
	return true;
}
