/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "peer.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tap.h"

/* Takes one command off the front of what was received; false: none is complete. */
static bool
take_command(struct peer *peer, struct peer_command *command)
{
	static char words[65536], line[1024];
	char *at = peer->in, *end = peer->in + peer->used;
	size_t word_used = 0, line_used = 0;
	if (peer->used == 0 || memchr(at, '\n', peer->used) == NULL)
		return false;
	long count = strtol(at + 1, &at, 10);
	if (!CHECK(peer->in[0] == '*' && count > 0 && count <= PEER_WORDS))
		return false;
	command->count = (int)count;
	at += 2;
	for (int i = 0; i < command->count; i++) {
		if (at >= end || memchr(at, '\n', (size_t)(end - at)) == NULL)
			return false;
		size_t length = (size_t)strtol(at + 1, &at, 10);
		at += 2;
		if (at + length + 2 > end)
			return false;
		command->words[i] = words + word_used;
		memcpy(words + word_used, at, length);
		words[word_used + length] = '\0';
		line_used += (size_t)snprintf(line + line_used, sizeof line - line_used, "%s%.40s",
		    i > 0 ? " " : "", words + word_used);
		word_used += length + 1;
		at += length + 2;
	}
	command->line = line;
	peer->used = (size_t)(end - at);
	memmove(peer->in, at, peer->used);
	return true;
}

static void
on_bytes(void *context, short revents)
{
	struct peer *peer = context;
	struct peer_command command;
	(void)revents;
	ssize_t got =
	    recv(peer->fd, peer->in + peer->used, sizeof peer->in - peer->used, MSG_DONTWAIT);
	if (got <= 0) {
		peer->ended++;
		peer_hang_up(peer);
		return;
	}
	peer->used += (size_t)got;
	while (peer->fd >= 0 && take_command(peer, &command)) {
		size_t length = strlen(peer->log);
		snprintf(peer->log + length, sizeof peer->log - length, "%s%s", length ? "; " : "",
		    command.line);
		const char *answer = peer->answer ? peer->answer(peer, &command) : NULL;
		if (answer != NULL)
			peer_say(peer, answer, 0);
	}
}

static void
on_connection(void *context, short revents)
{
	struct peer *peer = context;
	(void)revents;
	int fd = accept4(peer->listener, NULL, NULL, SOCK_CLOEXEC);
	if (fd < 0)
		return;
	peer_hang_up(peer);
	peer->fd = fd;
	peer->used = 0;
	peer->connections++;
	peer->reading =
	    (struct watch){.fd = fd, .events = POLLIN, .ready = on_bytes, .context = peer};
	if (!peer->deaf)
		loop_watch(peer->loop, &peer->reading);
}

void
peer_accept_again(struct peer *peer)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	memcpy(address.sun_path, peer->path, strlen(peer->path));
	peer->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	CHECK(bind(peer->listener, (struct sockaddr *)&address, sizeof address) == 0);
	CHECK(listen(peer->listener, 8) == 0);
	peer->listening = (struct watch){.fd = peer->listener,
	    .events = POLLIN,
	    .ready = on_connection,
	    .context = peer};
	loop_watch(peer->loop, &peer->listening);
}

bool
peer_open(struct peer *peer, struct loop *loop)
{
	memset(peer, 0, sizeof *peer);
	peer->loop = loop;
	peer->fd = -1;
	strcpy(peer->directory, "/tmp/dlock-peer-XXXXXX");
	if (mkdtemp(peer->directory) == NULL)
		return false;
	snprintf(peer->path, sizeof peer->path, "%s/socket", peer->directory);
	peer_accept_again(peer);
	return true;
}

void
peer_hang_up(struct peer *peer)
{
	if (peer->fd < 0)
		return;
	loop_unwatch(peer->loop, &peer->reading);
	close(peer->fd);
	peer->fd = -1;
}

void
peer_refuse(struct peer *peer)
{
	if (peer->listener < 0)
		return;
	loop_unwatch(peer->loop, &peer->listening);
	close(peer->listener);
	peer->listener = -1;
	unlink(peer->path);
}

void
peer_close(struct peer *peer)
{
	peer_hang_up(peer);
	peer_refuse(peer);
	rmdir(peer->directory);
}

void
peer_say(struct peer *peer, const char *bytes, size_t length)
{
	if (length == 0)
		length = strlen(bytes);
	CHECK(send(peer->fd, bytes, length, MSG_NOSIGNAL) == (ssize_t)length);
}

static void
set_done(void *context, struct instant now)
{
	bool *over = context;
	(void)now;
	*over = true;
}

bool
peer_run_until(struct loop *loop, const bool *done, int ms)
{
	bool over = false;
	struct timer limit = {.due = set_done, .context = &over};
	loop_set_timer(loop, &limit, instant_plus(clock_now(), ms * NS_PER_MS));
	while (!*done && !over && CHECK(loop_run_once(loop) == 0))
		;
	loop_stop_timer(loop, &limit);
	return *done;
}

void
peer_run(struct loop *loop, int ms)
{
	static const bool never = false;
	/* As many turns as milliseconds, also where the processor is busy elsewhere: what is on its
	 * way takes a few turns, and all of it is in this process. */
	for (int i = 0; i < ms; i++)
		peer_run_until(loop, &never, 1);
}
