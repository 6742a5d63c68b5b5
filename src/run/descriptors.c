/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "run/descriptors.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compat/directory.h"

/* Where there is no /proc, inherited descriptors above this stay open. */
#define GUESSED_HIGHEST 256

/* Nothing but 0, 1 and 2 was inherited: most often so, and then nobody needs to look again. */
static bool none_above;

/* Good for nothing, and for nothing to go wrong with. */
static int
open_placeholder(void)
{
	return open("/", O_PATH | O_CLOEXEC);
}

/* Since Linux 6.2 the size of that directory is the number of open descriptors; before, it is 0. */
static bool
only_three_are_open(void)
{
	struct stat status;
	return stat("/proc/self/fd", &status) == 0 && status.st_size == STDERR_FILENO + 1;
}

int
descriptors_fill_gaps(void)
{
	for (int fd = 0; fd <= 2; fd++) {
		/* open gives the lowest free number, which is fd. */
		if (fcntl(fd, F_GETFD) < 0 && open_placeholder() < 0)
			return -1;
	}
	none_above = only_three_are_open();
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
	if (!none_above)
		close_inherited();
}
