/*
 * Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT
 *
 * The little of RESP that tools need which sample a key every few milliseconds: one command, a
 * number or a short string as its answer, over a Unix socket.
 */
#ifndef TESTS_TOOLS_ASK_REDIS_H
#define TESTS_TOOLS_ASK_REDIS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* A connected socket, or -1. */
static inline int
redis_connect(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || strlen(path) >= sizeof address.sun_path)
		return -1;
	strcpy(address.sun_path, path);
	return connect(fd, (struct sockaddr *)&address, sizeof address) == 0 ? fd : -1;
}

/* Sends `command key` and puts the answer (a number's digits, a string's bytes, nothing for nil)
 * into answer. Ends the program when the server does not answer as expected: without it the test is
 * void. */
static inline void
redis_ask(int fd, const char *command, const char *key, char *answer, size_t size)
{
	char text[2048];
	char *start;
	ssize_t got;
	int len = snprintf(text, sizeof text, "*2\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n", strlen(command),
	    command, strlen(key), key);

	if (write(fd, text, (size_t)len) != len || (got = read(fd, text, sizeof text - 1)) <= 0 ||
	    (text[0] != ':' && text[0] != '$')) {
		fprintf(stderr, "the server does not answer %s %s\n", command, key);
		exit(71);
	}
	text[got] = '\0';
	answer[0] = '\0';
	if (strncmp(text, "$-1", 3) == 0)
		return;
	start = text[0] == ':' ? text + 1 : strchr(text, '\n') + 1;
	start[strcspn(start, "\r")] = '\0';
	if (strlen(start) >= size) {
		fprintf(stderr, "%s %s: a long answer\n", command, key);
		exit(71);
	}
	strcpy(answer, start);
}

static inline long
redis_number(int fd, const char *command, const char *key)
{
	char answer[64];

	redis_ask(fd, command, key, answer, sizeof answer);
	return strtol(answer, NULL, 10);
}

#endif
