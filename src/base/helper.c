/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "base/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

pid_t
helper_fork(int *end)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) != 0)
		return -1;
	pid_t helper = fork();
	if (helper < 0) {
		int error = errno;
		close(ends[0]);
		close(ends[1]);
		errno = error;
		return -1;
	}
	bool is_parent = helper > 0;
	close(ends[is_parent ? 1 : 0]);
	*end = ends[is_parent ? 0 : 1];
	if (is_parent)
		fcntl(*end, F_SETFL, O_NONBLOCK);
	return helper;
}

void
helper_die_with(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
}

void
helper_signal(pid_t helper, int number)
{
	siginfo_t info;
	if (waitid(P_PID, (id_t)helper, &info, WEXITED | WNOHANG | WNOWAIT) == 0)
		kill(helper, number);
}

bool
helper_reap(pid_t helper)
{
	siginfo_t info = {0};
	int status = waitid(P_PID, (id_t)helper, &info, WEXITED | WNOHANG);
	return status != 0 || info.si_pid != 0;
}
