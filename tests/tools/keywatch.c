/*
 * Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT
 *
 * keywatch SOCKET KEY PID...: asks the Redis at SOCKET every 2 ms whether KEY exists. When it does
 * not, none of the PIDs may be alive (a zombie is dead): `free after all had ended, N samples` and
 * status 0, or `free while PID was alive` and status 1. Status 2 after 20 s.
 *
 * It prints `watching` once it has seen the key, so that the caller knows when to begin.
 */
#include <time.h>

#include "ask_redis.h"

static int
is_alive(const char *pid)
{
	char path[64];
	char line[512];
	char *after;
	FILE *stat;
	int alive = 0;

	snprintf(path, sizeof path, "/proc/%s/stat", pid);
	stat = fopen(path, "re");
	if (stat == NULL)
		return 0;
	if (fgets(line, sizeof line, stat) != NULL && (after = strrchr(line, ')')) != NULL)
		alive = after[1] == ' ' && strchr("ZX", after[2]) == NULL;
	fclose(stat);
	return alive;
}

int
main(int argc, char **argv)
{
	const struct timespec pause = {0, 2000000};
	int samples = 0;
	int fd;

	if (argc < 4) {
		fprintf(stderr, "usage: keywatch SOCKET KEY PID...\n");
		return 64;
	}
	fd = redis_connect(argv[1]);
	if (fd < 0 || redis_number(fd, "EXISTS", argv[2]) != 1) {
		fprintf(stderr, "keywatch: no server, or no key to watch\n");
		return 71;
	}
	puts("watching");
	fflush(stdout);
	for (; samples < 10000; samples++) {
		if (redis_number(fd, "EXISTS", argv[2]) == 0) {
			for (int i = 3; i < argc; i++) {
				if (is_alive(argv[i])) {
					printf("free while %s was alive\n", argv[i]);
					return 1;
				}
			}
			printf("free after all had ended, %d samples\n", samples);
			return 0;
		}
		nanosleep(&pause, NULL);
	}
	printf("the key is still there\n");
	return 2;
}
