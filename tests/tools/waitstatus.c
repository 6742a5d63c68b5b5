/*
 * Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT
 *
 * waitstatus [-r] FILE COMMAND [ARG...]: runs COMMAND and writes to FILE how it ended, as wait(2)
 * has it: `exit 3`, `signal 15` or `signal 11 core`. A shell cannot tell `exit 143` from a death by
 * TERM. -r: with an unlimited core file size.
 *
 * While COMMAND runs, waitstatus ignores the signals of a terminal and TERM, so that one sent to
 * the whole group leaves it there to report; COMMAND gets the dispositions that waitstatus was
 * given.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const int ignored[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM};
#define IGNORED (sizeof ignored / sizeof ignored[0])

int
main(int argc, char **argv)
{
	struct sigaction before[IGNORED];
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	FILE *out;
	pid_t child;
	int status;
	int core = argc > 1 && strcmp(argv[1], "-r") == 0;

	argc -= core;
	argv += core;
	if (argc < 3) {
		fprintf(stderr, "usage: waitstatus [-r] FILE COMMAND [ARG...]\n");
		return 64;
	}
	signal(SIGCHLD, SIG_DFL);
	for (size_t i = 0; i < IGNORED; i++)
		sigaction(ignored[i], &ignore, &before[i]);
	child = fork();
	if (child == 0) {
		const struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};

		for (size_t i = 0; i < IGNORED; i++)
			sigaction(ignored[i], &before[i], NULL);
		if (core && setrlimit(RLIMIT_CORE, &unlimited) != 0)
			_exit(71);
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	if (child < 0) {
		perror("waitstatus: fork");
		return 71;
	}
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return 71;
	out = fopen(argv[1], "we");
	if (out == NULL) {
		perror(argv[1]);
		return 71;
	}
	if (WIFSIGNALED(status))
		fprintf(out, "signal %d%s\n", WTERMSIG(status), WCOREDUMP(status) ? " core" : "");
	else
		fprintf(out, "exit %d\n", WEXITSTATUS(status));
	return fclose(out) != 0;
}
