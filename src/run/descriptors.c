/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "run/descriptors.h"

#include <fcntl.h>
#include <unistd.h>

/* Inherited descriptors above this stay open; scanning all of a limit of a million would take
 * longer than most commands. */
#define HIGHEST_SCANNED 255

/* Good for nothing, and for nothing to go wrong with. */
static int
open_placeholder(void)
{
	return open("/", O_PATH | O_CLOEXEC);
}

int
descriptors_fill_gaps(void)
{
	for (int fd = 0; fd <= 2; fd++) {
		/* open gives the lowest free number, which is fd. */
		if (fcntl(fd, F_GETFD) < 0 && open_placeholder() < 0)
			return -1;
	}
	return 0;
}

void
descriptors_let_go(void)
{
	int placeholder = open_placeholder();
	if (placeholder >= 0) {
		dup3(placeholder, STDIN_FILENO, O_CLOEXEC);
		dup3(placeholder, STDOUT_FILENO, O_CLOEXEC);
		close(placeholder);
	}
	/* All of dlock's own are CLOEXEC, and what came through exec cannot be. */
	for (int fd = 3; fd <= HIGHEST_SCANNED; fd++) {
		int flags = fcntl(fd, F_GETFD);
		if (flags >= 0 && !(flags & FD_CLOEXEC))
			close(fd);
	}
}
