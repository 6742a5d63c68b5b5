/* Copyright (c) 2026 the dlock authors */
/* SPDX-License-Identifier: MIT */

/*
 * chain DEPTH COMMAND [ARG]...: COMMAND at the end of a line of DEPTH processes, each the only
 * child of the one before it, all ignoring TERM.
 *
 * Whoever kills only its own children, again and again, needs DEPTH rounds to get to COMMAND.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	if (argc < 3) {
		fputs("usage: chain DEPTH COMMAND [ARG]...\n", stderr);
		return 64;
	}
	signal(SIGTERM, SIG_IGN);
	for (long left = atol(argv[1]); left > 0; left--) {
		pid_t pid = fork();

		if (pid < 0) {
			perror("chain: fork");
			return 71;
		}
		if (pid > 0) {
			waitpid(pid, NULL, 0);
			return 0;
		}
	}
	execvp(argv[2], argv + 2);
	perror("chain: exec");
	return 127;
}
