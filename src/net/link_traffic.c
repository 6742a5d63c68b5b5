/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What goes to and fro on a link that is open. */
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "net/link_parts.h"
#include "net/reader.h"

#define CLOSED "the server closed the connection"

/* What was sent may have been a password. */
void
link_drop_output(struct link *link)
{
	explicit_bzero(link->out, link->out_used);
	link->out_used = link->out_sent = link->out_flushed = 0;
}

/* Waits for what the next read needs, and the next write if there is something to write. */
void
link_await(struct link *link)
{
	bool has_output = link->out_sent < link->out_used;
	link->watch.events =
	    (short)(link->transport.read_event | (has_output ? link->transport.write_event : 0));
}

/* Gives the kernel what it takes. 0, or -1 and the reason in link->problem. */
static int
flush(struct link *link)
{
	while (link->out_sent < link->out_used) {
		size_t sent = 0;
		enum transfer result =
		    transport_write(&link->transport, link->watch.fd, link->out + link->out_sent,
			link->out_used - link->out_sent, &sent, &link->problem);
		if (result == TRANSFER_CLOSED)
			problem_set(&link->problem, CLOSED);
		if (result == TRANSFER_CLOSED || result == TRANSFER_FAILED)
			return -1;
		if (result != TRANSFER_DONE) {
			link_await(link);
			return 0;
		}
		link->out_sent += sent;
	}
	link_drop_output(link);
	link_await(link);
	return 0;
}

void
link_append(struct link *link, int argc, const char *const *argv)
{
	size_t room = sizeof link->out - link->out_used;
	long length = reader_format(link->out + link->out_used, room, argc, argv);
	if (length < 0)
		link->append_failed = true;
	else
		link->out_used += (size_t)length;
}

bool
link_flush(struct link *link)
{
	if (link->append_failed) {
		/* A pipeline is sent whole or not at all; what was flushed before it stays. */
		link->append_failed = false;
		explicit_bzero(link->out + link->out_flushed, link->out_used - link->out_flushed);
		link->out_used = link->out_flushed;
		return false;
	}
	if (link->state == LINK_OPEN && flush(link) != 0) {
		/* Told from the loop: the socket is readable now, with the error or the end. */
		link_drop_output(link);
		link->watch.events = POLLIN;
		shutdown(link->watch.fd, SHUT_RDWR);
	}
	link->out_flushed = link->out_used;
	return true;
}

void
link_pause(struct link *link)
{
	link->watch.events = 0;
}

bool
link_has_unread(struct link *link)
{
	return reader_has_more(link->reader) ||
	    transport_has_unread(&link->transport, link->watch.fd);
}

/* Tells the answers in what was received. False: the link is not what it was, closed or worse. */
static bool
tell_answers(struct link *link, const char *bytes, size_t length)
{
	unsigned int generation = link->generation;
	link->spoke = true;
	if (reader_feed(link->reader, bytes, length, &link->problem) != 0) {
		link_fail(link);
		return false;
	}
	for (;;) {
		const struct reply *reply;
		int status = reader_next(link->reader, &reply, &link->problem);
		if (status < 0)
			link_fail(link);
		if (status <= 0)
			return status == 0;
		link->events->answered(link->context, reply);
		if (link->generation != generation)
			return false;
	}
}

static void
on_data(struct link *link)
{
	char bytes[4096];
	do {
		size_t got = 0;
		enum transfer result = transport_read(&link->transport, link->watch.fd, bytes,
		    sizeof bytes, &got, &link->problem);
		if (result == TRANSFER_CLOSED)
			problem_set(&link->problem, CLOSED);
		if (result == TRANSFER_CLOSED || result == TRANSFER_FAILED) {
			link_fail(link);
			return;
		}
		if (result == TRANSFER_DONE && !tell_answers(link, bytes, got))
			return;
		/* A rest of what has been decrypted, poll(2) knows nothing of. */
	} while (transport_has_pending(&link->transport));
	if (link->watch.events != 0) /* else it is paused */
		link_await(link);
}

void
link_on_ready(struct link *link, short revents)
{
	if (link->out_sent < link->out_used && (revents & link->transport.write_event) != 0 &&
	    flush(link) != 0) {
		link_fail(link);
		return;
	}
	if (revents & (link->transport.read_event | POLLHUP | POLLERR))
		on_data(link);
}
