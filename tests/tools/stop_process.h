/* Copyright (c) 2026 the dlock authors */
/* SPDX-License-Identifier: MIT */

#ifndef TESTS_TOOLS_STOP_PROCESS_H
#define TESTS_TOOLS_STOP_PROCESS_H

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

/* Returns when it stands still; it takes nothing from a socket any more. */
static inline void
stop_process(pid_t pid)
{
	char path[64], stat[512], *state;
	FILE *file;
	int try;

	kill(pid, SIGSTOP);
	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	for (try = 0; try < 1000; try++) {
		file = fopen(path, "re");
		if (file == NULL)
			return;
		state = fgets(stat, sizeof stat, file) == NULL ? NULL : strrchr(stat, ')');
		fclose(file);
		if (state == NULL || state[2] == 'T')
			return;
		poll(NULL, 0, 1);
	}
}

#endif
