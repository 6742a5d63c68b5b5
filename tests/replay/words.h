/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What the replay sends: commands and scripts at random, plausible ones and odd ones. What they are
 * follows from the random state, and from the schedule alone. */
#ifndef DLOCK_TESTS_REPLAY_WORDS_H
#define DLOCK_TESTS_REPLAY_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLIENTS 4
#define MOST_BYTES 262144

/* What a command may depend on. */
struct schedule {
	uint64_t random;
	bool is_calm;  /* most of what is sent is about one lock, and the time passes slowly */
	int64_t lock;  /* that one */
	int64_t token; /* whose turn it is */
	bool is_woken[CLIENTS]; /* was sent a message since its last burst */
	int64_t now_us;
	int64_t ids[CLIENTS]; /* of the clients, as CLIENT ID says */
	const char *password; /* that is asked for; NULL: none */
};

/* One or more commands for one client, in one write. */
struct burst {
	size_t length; /* of the bytes */
	size_t commands;
	bool any_order; /* the answer has keys in the server's own order: the same bytes must be
			   there */
	bool ends_transaction; /* nothing is queued any more afterwards */
	char bytes[MOST_BYTES];
};

/* The next for client number `which`. */
void
burst_make(struct burst *burst, struct schedule *schedule, int which);

/* A command of those words, NULL behind the last. */
void
burst_of(struct burst *burst, const char *const *texts);

/* The name of the script with that hash; NULL: none of dlock's. */
const char *
script_name(const char *sha1);

/* The names of all scripts, one after the other; NULL: no more. */
const char *
script_name_at(size_t which);

#endif
