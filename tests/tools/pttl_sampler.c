/* Copyright (c) 2026 the dlock authors */
/* SPDX-License-Identifier: MIT */

/*
 * pttl_sampler SOCKET KEY STOPFILE: does KEY ever exist without an expiry?
 *
 * Asks a Redis on a Unix socket for the PTTL of KEY, again and again, 16 questions in a batch,
 * until STOPFILE exists (60 s at most). Prints "absent N, expiring N, eternal N" and exits 1 if
 * the key was eternal once, 2 if the samples are worth nothing (no answer).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define BATCH 16

struct counts {
	long absent, expiring, eternal;
};

static int
dial(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(addr.sun_path, sizeof addr.sun_path, "%s", path);
	if (fd < 0 || connect(fd, (struct sockaddr *)&addr, sizeof addr) != 0) {
		perror("pttl_sampler: connect");
		exit(2);
	}
	return fd;
}

/* Reads BATCH answers (":N") and counts them; false when the server went away. */
static int
count_answers(FILE *answers, struct counts *counts)
{
	char line[128];
	int i;

	for (i = 0; i < BATCH; i++) {
		if (fgets(line, sizeof line, answers) == NULL || line[0] != ':')
			return 0;
		if (strncmp(line, ":-2", 3) == 0)
			counts->absent++;
		else if (strncmp(line, ":-1", 3) == 0)
			counts->eternal++;
		else
			counts->expiring++;
	}
	return 1;
}

int
main(int argc, char **argv)
{
	struct counts counts = {0, 0, 0};
	char batch[BATCH * 700];
	size_t len = 0;
	FILE *answers;
	time_t end = time(NULL) + 60;
	int fd, i;

	if (argc != 4 || strlen(argv[2]) > 600) {
		fputs("usage: pttl_sampler SOCKET KEY STOPFILE\n", stderr);
		return 64;
	}
	fd = dial(argv[1]);
	answers = fdopen(fd, "r");
	for (i = 0; i < BATCH; i++)
		len += (size_t)snprintf(batch + len, sizeof batch - len, "PTTL %s\r\n", argv[2]);
	while (access(argv[3], F_OK) != 0 && time(NULL) < end) {
		if (write(fd, batch, len) != (ssize_t)len || !count_answers(answers, &counts))
			return 2;
		usleep(200);
	}
	printf("absent %ld, expiring %ld, eternal %ld\n", counts.absent, counts.expiring,
	    counts.eternal);
	return counts.eternal > 0;
}
