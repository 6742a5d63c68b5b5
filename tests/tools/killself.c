/*
 * Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT
 *
 * killself NUMBER: dies of that signal, whatever mask and disposition it was started with, also of
 * 32 and 33, which libc keeps from its callers. Exits with 99 if it lives on.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	const uint64_t none = 0;
	/* The kernel's struct sigaction: handler, flags, restorer, mask; all zero is the default.
	 */
	unsigned long action[4];
	int number;

	if (argc != 2 || (number = atoi(argv[1])) < 1 || number > 64) {
		fprintf(stderr, "usage: killself NUMBER\n");
		return 64;
	}
	memset(action, 0, sizeof action);
	if (number != SIGKILL && number != SIGSTOP &&
	    syscall(SYS_rt_sigaction, number, action, NULL, sizeof none) != 0) {
		perror("killself: rt_sigaction");
		return 71;
	}
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof none);
	syscall(SYS_kill, getpid(), number);
	return 99;
}
