/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "run/descriptors.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/compat/directory.h"

/* Where there is no /proc, inherited descriptors above this stay open. */
#define GUESSED_HIGHEST 256

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

/* All of dlock's own are CLOEXEC, and what came through exec cannot be. */
static void
close_if_inherited(void *context, int fd)
{
	(void)context;
	int flags = fcntl(fd, F_GETFD);
	if (fd > STDERR_FILENO && flags >= 0 && !(flags & FD_CLOEXEC))
		close(fd);
}

static void
close_inherited(void)
{
	if (compat_each_number("/proc/self/fd", close_if_inherited, NULL) == 0)
		return;
	for (int fd = 0; fd < GUESSED_HIGHEST; fd++)
		close_if_inherited(NULL, fd);
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
	close_inherited();
}
