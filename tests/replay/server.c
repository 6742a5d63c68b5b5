/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define PATIENCE_MS 2000

static void
fail(const char *what)
{
	fprintf(stderr, "replay: %s: %s\n", what, strerror(errno));
	exit(2);
}

int
server_connect(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || strlen(path) >= sizeof address.sun_path)
		fail(path);
	strcpy(address.sun_path, path);
	if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
		fail(path);
	return fd;
}

void
server_send(int fd, const char *bytes, size_t length)
{
	while (length > 0) {
		ssize_t sent = send(fd, bytes, length, MSG_NOSIGNAL);
		if (sent < 0 && errno == EPIPE)
			return; /* it has hung up: that is seen when its answer is read */
		if (sent < 0)
			fail("cannot write to the server");
		bytes += sent;
		length -= (size_t)sent;
	}
}

static bool
wait_for(int fd, int limit_ms)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
	return poll(&poll_fd, 1, limit_ms) > 0;
}

static size_t
read_for(int fd, char *bytes, size_t length, int limit_ms)
{
	size_t used = 0;
	while (used < length && wait_for(fd, limit_ms)) {
		ssize_t got = read(fd, bytes + used, length - used);
		if (got <= 0)
			break;
		used += (size_t)got;
	}
	return used;
}

size_t
server_read(int fd, char *bytes, size_t length)
{
	return read_for(fd, bytes, length, PATIENCE_MS);
}

size_t
server_read_now(int fd, char *bytes, size_t length)
{
	return read_for(fd, bytes, length, 0);
}

bool
server_hangs_up(int fd)
{
	char byte;
	return wait_for(fd, PATIENCE_MS) && read(fd, &byte, 1) <= 0;
}

const char *
server_ask(int fd, const char *words)
{
	static char text[65536];
	size_t used = 0, wanted = 0;
	char line[512];
	int length = snprintf(line, sizeof line, "%s\r\n", words);
	server_send(fd, line, (size_t)length);
	do {
		if (read_for(fd, text + used, 1, PATIENCE_MS) != 1 || ++used == sizeof text - 1)
			fail(words);
		text[used] = '\0';
		if (wanted == 0 && text[used - 1] == '\n')
			wanted = text[0] == '$' ? used + strtoul(text + 1, NULL, 10) + 2 : used;
	} while (wanted == 0 || used < wanted);
	return text;
}

int
server_version(const char *path)
{
	int fd = server_connect(path);
	const char *text = strstr(server_ask(fd, "INFO server"), "redis_version:");
	int major = 0, minor = 0, patch = 0;
	if (text == NULL || sscanf(text, "redis_version:%d.%d.%d", &major, &minor, &patch) != 3)
		fail("the server does not tell its version");
	close(fd);
	return major * 10000 + minor * 100 + patch;
}

int64_t
server_last_id(const char *path)
{
	int fd = server_connect(path);
	int64_t id = strtoll(server_ask(fd, "CLIENT ID") + 1, NULL, 10);
	close(fd);
	return id;
}

void
server_clear(int fd)
{
	static const char *const commands[] = {"CONFIG SET maxmemory 0",
	    "CONFIG SET requirepass \"\"", "REPLICAOF NO ONE", "ACL SETUSER default +@all",
	    "SELECT 0", "FLUSHALL", "SCRIPT FLUSH", "DEBUG SET-ACTIVE-EXPIRE 0"};
	char unread[4096];
	while (server_read_now(fd, unread, sizeof unread) > 0)
		;
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
		const char *answer = server_ask(fd, commands[i]);
		if (answer[0] == '-') {
			errno = EPERM;
			fail(commands[i]);
		}
	}
}

void
server_print(const char *what, const char *bytes, size_t length)
{
	printf("%s: ", what);
	for (size_t i = 0; i < length && i < 20000; i++) {
		if (bytes[i] == '\r' && i + 1 < length && bytes[i + 1] == '\n')
			continue;
		if (bytes[i] == '\n')
			fputs("\n\t", stdout);
		else if (bytes[i] < ' ' || bytes[i] > '~')
			printf("\\%03o", (unsigned char)bytes[i]);
		else
			putchar(bytes[i]);
	}
	putchar('\n');
}

int
server_open_clock(const char *path)
{
	int clock = open(path, O_WRONLY | O_CLOEXEC);
	if (clock < 0)
		fail(path);
	return clock;
}

void
server_set_clock(int clock, int64_t now_us)
{
	char text[40];
	int length = snprintf(text, sizeof text, "at %-20" PRId64 "\n", now_us);
	if (pwrite(clock, text, (size_t)length, 0) != length)
		fail("cannot set the server's clock");
}
