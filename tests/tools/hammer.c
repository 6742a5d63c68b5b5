/*
 * Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT
 *
 * hammer KIND ADDRESS TOKEN SOCKETS SECONDS: sends to the RUNNER that listens at ADDRESS, from that
 * many sockets in turn, as fast as it goes, and reads no answer. KIND: what is sent
 *
 *   junk         bytes of any number, some in the shape of a question
 *   questions    good questions, each a new one
 *   descriptors  questions with ten descriptors attached to each
 *   nameless     questions of sockets that have no name to be answered at
 *
 * Prints how many were taken.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "run/inquiry.h"

#define ATTACHED 10

static int sockets[4096];

static int
open_socket(const char *address, int named)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || (named && bind(fd, (struct sockaddr *)&name, sizeof name.sun_family) != 0))
		return -1;
	int length = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "dlock-%s", address);
	socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
	return connect(fd, (struct sockaddr *)&name, size) == 0 ? fd : -1;
}

static ssize_t
send_with_descriptors(int fd, void *packet, size_t size)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(ATTACHED * sizeof(int))];
	} control = {.bytes = {0}};
	int attached[ATTACHED];
	struct iovec part = {packet, size};
	struct msghdr message = {.msg_iov = &part,
	    .msg_iovlen = 1,
	    .msg_control = &control,
	    .msg_controllen = sizeof control};
	for (int i = 0; i < ATTACHED; i++)
		attached[i] = fd;
	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(sizeof attached);
	memcpy(CMSG_DATA(&control.header), attached, sizeof attached);
	return sendmsg(fd, &message, MSG_NOSIGNAL);
}

int
main(int argc, char **argv)
{
	static char packet[2048];
	struct inquiry_question question = {.magic = INQUIRY_MAGIC, .kind = INQUIRY_HELD};
	unsigned long taken = 0, turn = 0;
	struct timespec now;

	if (argc != 6 || atoi(argv[4]) > (int)(sizeof sockets / sizeof *sockets)) {
		fprintf(stderr, "usage: hammer KIND ADDRESS TOKEN SOCKETS SECONDS\n");
		return 64;
	}
	const char *kind = argv[1];
	int count = atoi(argv[4]);
	snprintf(question.token, sizeof question.token, "%s", argv[3]);
	for (int i = 0; i < count; i++) {
		sockets[i] = open_socket(argv[2], strcmp(kind, "nameless") != 0);
		if (sockets[i] < 0) {
			perror("hammer");
			return 1;
		}
	}
	clock_gettime(CLOCK_MONOTONIC, &now);
	time_t until = now.tv_sec + atoi(argv[5]);
	while (now.tv_sec < until) {
		int fd = sockets[turn++ % (unsigned long)count];
		size_t size = sizeof question;
		ssize_t sent;
		question.nonce = ((uint64_t)getpid() << 32) + turn;
		memcpy(packet, &question, sizeof question);
		if (strcmp(kind, "junk") == 0)
			size = turn % 4 == 0 ? size : turn % sizeof packet;
		if (strcmp(kind, "junk") == 0 && turn % 2 == 0)
			memset(packet, (int)turn, sizeof packet);
		if (strcmp(kind, "descriptors") == 0)
			sent = send_with_descriptors(fd, packet, size);
		else
			sent = send(fd, packet, size, MSG_NOSIGNAL);
		if (sent >= 0)
			taken++;
		else if (errno == ECONNREFUSED)
			break; /* it has ended */
		clock_gettime(CLOCK_MONOTONIC, &now);
	}
	printf("%lu\n", taken);
	return 0;
}
