/*
 * Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT
 *
 * volley SIGNAL COUNT MIN_US MAX_US PID: sends the signal COUNT times to PID (-PID: to the group),
 * with pauses of MIN_US to MAX_US between; all from one sender, in a group and session of its own.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	long least, most;
	int number, count;
	pid_t target;

	if (argc != 6) {
		fprintf(stderr, "usage: volley SIGNAL COUNT MIN_US MAX_US PID\n");
		return 64;
	}
	number = atoi(argv[1]);
	count = atoi(argv[2]);
	least = atol(argv[3]);
	most = atol(argv[4]);
	target = (pid_t)atoi(argv[5]);
	if (most < least || target == 0 || target == -1)
		return 64;
	srandom((unsigned int)(time(NULL) ^ getpid()));
	setsid();
	for (int i = 0; i < count; i++) {
		long us = least + random() % (most - least + 1);
		struct timespec pause = {us / 1000000, us % 1000000 * 1000};

		if (kill(target, number) != 0) {
			perror("volley: kill");
			return 1;
		}
		while (nanosleep(&pause, &pause) != 0 && errno == EINTR)
			;
	}
	return 0;
}
