/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* The real server of the replay: connections to its Unix socket, and its clock, which stands still
 * between two commands (tests/tools/server_clock_preload.c). Whatever goes wrong with it ends the
 * program with a line that says so, and status 2. */
#ifndef DLOCK_TESTS_REPLAY_SERVER_H
#define DLOCK_TESTS_REPLAY_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A connected descriptor. */
int
server_connect(const char *path);

void
server_send(int fd, const char *bytes, size_t length);

/* Reads that many bytes; fewer when no more come for two seconds, or the server hangs up. */
size_t
server_read(int fd, char *bytes, size_t length);

/* What has come already, at most that much. */
size_t
server_read_now(int fd, char *bytes, size_t length);

/* Has the server hung up, or does it within two seconds? */
bool
server_hangs_up(int fd);

/* Sends words, and reads the whole answer, which is a line or a bulk string: the text, good until
 * the next call. */
const char *
server_ask(int fd, const char *words);

/* As 70015 for 7.0.15. */
int
server_version(const char *path);

/* The number of the client that asks for this, the last that there was. */
int64_t
server_last_id(const char *path);

/* Makes it a master with memory, without password, keys and scripts, that permits everything, and
 * expires keys only when somebody looks. `fd` is somebody's who may do that. */
void
server_clear(int fd);

/* Prints what was sent or answered: a line of RESP each, readable. */
void
server_print(const char *what, const char *bytes, size_t length);

/* Opens the file that is the server's clock, and sets it. */
int
server_open_clock(const char *path);
void
server_set_clock(int clock, int64_t now_us);

#endif
