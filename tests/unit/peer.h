/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* The other end of a connection, in the same process and the same loop: a server on a Unix socket
 * that notes the commands it gets and answers as the test wants. */
#ifndef DLOCK_TESTS_PEER_H
#define DLOCK_TESTS_PEER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/loop.h"

#define PEER_WORDS 24

struct peer_command {
	int count;
	const char *words[PEER_WORDS]; /* long ones are cut to 40 bytes in `line` only */
	const char *line;              /* "SELECT 2" */
};

struct peer {
	struct loop *loop;
	char directory[64];
	char path[100];
	int listener; /* -1: closed, nobody can connect */
	int fd;       /* of the connection, -1: none */
	struct watch listening, reading;
	/* What to answer to a command, as bytes; NULL: nothing. */
	const char *(*answer)(struct peer *peer, const struct peer_command *command);
	char log[4096]; /* the lines of all commands, "; " between them */
	int connections;
	int ended; /* connections that the other side has closed */
	bool deaf; /* reads nothing */
	char in[65536];
	size_t used;
};

/* Makes the socket in a directory of its own. */
bool
peer_open(struct peer *peer, struct loop *loop);
void
peer_close(struct peer *peer);

/* Sends bytes, at once; with `length` 0 up to the NUL. */
void
peer_say(struct peer *peer, const char *bytes, size_t length);

/* Closes the connection; refuses new ones; accepts them again. */
void
peer_hang_up(struct peer *peer);
void
peer_refuse(struct peer *peer);
void
peer_accept_again(struct peer *peer);

/* Turns the loop until *done is true; at most `ms`. Returns *done. */
bool
peer_run_until(struct loop *loop, const bool *done, int ms);

/* Turns the loop for that long, so many times at least. */
void
peer_run(struct loop *loop, int ms);

#endif
