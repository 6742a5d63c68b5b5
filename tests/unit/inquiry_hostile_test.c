/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* run/inquiry, RUNNER's end: what is no question, and askers that want to use it up. */
#include "run/inquiry.h"

#include <dirent.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "inquiry_bench.h"
#include "run/proc.h"
#include "tap.h"

/* -- bad askers ------------------------------------------------------------------------------- */

static int
count_descriptors(void)
{
	int count = 0;
	DIR *directory = opendir("/proc/self/fd");
	while (directory != NULL && readdir(directory) != NULL)
		count++;
	if (directory != NULL)
		closedir(directory);
	return count;
}

/* A socket that can send to the listener. named: it has a name to be answered at; path:
 * that of a file. */
static int
open_asker(bool named, const char *path)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	if (path != NULL) {
		unlink(path);
		strcpy(name.sun_path, path);
		CHECK_INT(bind(fd, (struct sockaddr *)&name, sizeof name), 0);
	} else if (named) {
		CHECK_INT(bind(fd, (struct sockaddr *)&name, sizeof name.sun_family), 0);
	}
	memset(&name, 0, sizeof name);
	name.sun_family = AF_UNIX;
	int length = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "dlock-%s",
	    inquiry.entry.address);
	socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
	CHECK_INT(connect(fd, (struct sockaddr *)&name, size), 0);
	return fd;
}

static const struct inquiry_question good = {.magic = INQUIRY_MAGIC,
    .nonce = 7,
    .kind = INQUIRY_HELD,
    .token = RUNNER_TOKEN};

static void
send_bytes(int fd, const void *bytes, size_t size)
{
	CHECK_INT(send(fd, bytes, size, 0), (int64_t)size);
}

static void
test_bad_askers(void)
{
	struct inquiry_question question;
	struct inquiry_peer peer;
	static char bytes[3 * sizeof good];
	static const size_t sizes[] = {0, 1, sizeof good - 1, sizeof good + 1, sizeof bytes};
	runner_listen();
	int fd = open_asker(true, NULL);

	tap_case("nothing is there");
	CHECK_INT(inquiry_hear(inquiry.listener, &question, &peer), -1);

	tap_case("a good question");
	send_bytes(fd, &good, sizeof good);
	CHECK_INT(inquiry_hear(inquiry.listener, &question, &peer), 1);
	CHECK_INT((int64_t)question.nonce, 7);
	CHECK_INT(peer.pid, getpid());
	CHECK_INT(peer.uid, (int64_t)getuid());
	CHECK_INT(inquiry_hear(inquiry.listener, &question, &peer), -1);

	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		tap_case("%zu bytes are no question", sizes[i]);
		memcpy(bytes, &good, sizeof good);
		send_bytes(fd, bytes, sizes[i]);
		CHECK_INT(inquiry_hear(inquiry.listener, &question, &peer), 0);
		CHECK_INT(inquiry_hear(inquiry.listener, &question, &peer), -1);
	}

	tap_case("one of another version is none");
	struct inquiry_question other = good;
	other.magic[6] = '1';
	send_bytes(fd, &other, sizeof other);
	CHECK_INT(inquiry_hear(inquiry.listener, &question, &peer), 0);

	tap_case("a token without an end is given one");
	other = good;
	memset(other.token, 'x', sizeof other.token);
	send_bytes(fd, &other, sizeof other);
	CHECK_INT(inquiry_hear(inquiry.listener, &question, &peer), 1);
	CHECK(strlen(question.token) < sizeof question.token);
	close(fd);

	tap_case("who cannot be answered has not asked: no name, or a file's");
	fd = open_asker(false, NULL);
	send_bytes(fd, &good, sizeof good);
	CHECK_INT(inquiry_hear(inquiry.listener, &question, &peer), 0);
	close(fd);
	char path[64];
	snprintf(path, sizeof path, "/tmp/dlock-inquiry-%d", (int)getpid());
	fd = open_asker(true, path);
	send_bytes(fd, &good, sizeof good);
	CHECK_INT(inquiry_hear(inquiry.listener, &question, &peer), 0);
	close(fd);
	unlink(path);
}

static void
test_attached(void)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(50 * sizeof(int))];
	} control = {.bytes = {0}};
	struct inquiry_question question = good;
	struct inquiry_peer peer;
	int attached[50];
	struct iovec part = {&question, sizeof question};
	struct msghdr message = {.msg_iov = &part,
	    .msg_iovlen = 1,
	    .msg_control = &control,
	    .msg_controllen = sizeof control};
	tap_case("descriptors that come with a question are not taken");
	runner_listen();
	int fd = open_asker(true, NULL);
	for (size_t i = 0; i < COUNT_OF(attached); i++)
		attached[i] = fd;
	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(sizeof attached);
	memcpy(CMSG_DATA(&control.header), attached, sizeof attached);
	int before = count_descriptors();
	CHECK_INT(sendmsg(fd, &message, 0), (int64_t)sizeof question);
	CHECK_INT(inquiry_hear(inquiry.listener, &question, &peer), 1);
	CHECK_INT(peer.pid, getpid());
	CHECK_INT(count_descriptors(), before);
	close(fd);
}

/* More answers to those who do not read than a socket may have on its way. */
static void
answer_the_deaf(void)
{
	struct inquiry_question question;
	struct inquiry_peer peer;
	for (int i = 0; i < 60; i++) {
		struct inquiry_peer deaf = {.pid = 1};
		struct sockaddr_un name;
		socklen_t size = sizeof name;
		int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
		memset(&name, 0, sizeof name);
		name.sun_family = AF_UNIX;
		if (bind(fd, (struct sockaddr *)&name, sizeof name.sun_family) != 0 ||
		    getsockname(fd, (struct sockaddr *)&name, &size) != 0)
			_exit(1);
		deaf.address_length = size;
		memcpy(deaf.address, &name, size);
		for (int k = 0; k < 12; k++)
			runner_say(&deaf, &good, VERDICT_YES);
	}
	for (;;) {
		runner_hear(&question, &peer);
		runner_say(&peer, &question, VERDICT_YES);
	}
}

static void
test_deaf(void)
{
	tap_case("those who ask and do not read keep nobody else from an answer");
	runner_start(answer_the_deaf);
	CHECK_INT(runner_ask(INQUIRY_HELD), INQUIRY_ANSWERED);
	runner_end();
}

int
main(void)
{
	signal(SIGPIPE, SIG_IGN);
	if (!proc_open())
		return 1;
	test_bad_askers();
	test_attached();
	test_deaf();
	return tap_end();
}
