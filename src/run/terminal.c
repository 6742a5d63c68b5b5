/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "run/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static int
open_terminal(void)
{
	return open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
}

void
terminal_note(struct terminal *terminal)
{
	int fd = open_terminal();
	memset(terminal, 0, sizeof *terminal);
	if (fd < 0)
		return;
	if (tcgetpgrp(fd) == getpgrp()) {
		terminal->group = getpgrp();
		terminal->has_modes = tcgetattr(fd, &terminal->modes) == 0;
	}
	close(fd);
}

void
terminal_mend(const struct terminal *terminal, bool killed)
{
	int fd;
	pid_t foreground;

	if (terminal->group == 0 || (fd = open_terminal()) < 0)
		return;
	foreground = tcgetpgrp(fd);
	if (foreground > 0 && foreground != terminal->group && kill(-foreground, 0) != 0 &&
	    errno == ESRCH) {
		tcsetpgrp(fd, terminal->group);
		foreground = terminal->group;
	}
	if (killed && terminal->has_modes && foreground == terminal->group)
		tcsetattr(fd, TCSANOW, &terminal->modes);
	close(fd);
}
