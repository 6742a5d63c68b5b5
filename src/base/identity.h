/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Who holds or waits: the record that the others are shown, and the token that proves possession.
 *
 * A record is text, a "field=value" line each; bytes that would break a line, and %, are written
 * %HH. Fields unknown to a reader are ignored, missing ones are empty: versions may differ among
 * the hosts of one lock. */
#ifndef DLOCK_BASE_IDENTITY_H
#define DLOCK_BASE_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOKEN_SIZE 37        /* a lower-case UUID and NUL */
#define IDENTITY_RECORD 1536 /* the longest record, NUL included */

struct identity {
	char host[256];
	char boot_id[40]; /* tells a rebooted host's pids from today's */
	int64_t pid;      /* the pid people see: OUTER */
	int64_t started;  /* start time of that pid in clock ticks since boot; 0 unknown */
	char user[64];
	char command[128]; /* base name of argv[0], never arguments: they may hold secrets */
	char label[256];
	char mode[16];    /* how it has the lock, or wants it: exclusive, shared, slots:N */
	int64_t since_us; /* the server's clock at acquisition; set by the server */
	char fence[24];   /* set by the server */
};

/* A token never used before (libuuid, random bytes). */
void
identity_make_token(char token[TOKEN_SIZE]);

/* Fills in who this process is, `command` being argv[0] of COMMAND. What cannot be found out
 * stays empty: a missing /proc is no reason not to run. */
void
identity_gather(struct identity *identity, const char *command, const char *label);

/* The record of an identity, without since and fence. Pure. */
void
identity_write(const struct identity *identity, char record[IDENTITY_RECORD]);

/* Reads a record that a server returned; anything at all may stand in it. Pure. */
void
identity_read(struct identity *identity, const char *record, size_t length);

/* "deploy@web3 pid 4711 rsync, for 3m12s, label nightly", as much of it as is known. Pure.
 * held_ns below 0: since when is not known. */
void
identity_describe(const struct identity *identity, int64_t held_ns, char *out, size_t size);

#endif
