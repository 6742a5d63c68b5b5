/* Copyright (c) 2026 the dlock authors */
/* SPDX-License-Identifier: MIT */

/*
 * deny_pidfd EPERM|EINVAL COMMAND [ARG]...: runs COMMAND where pidfd_open(2) fails so.
 *
 * EPERM is what old container run-times' seccomp profiles do to a call they do not know, EINVAL
 * what the kernel says of a process whose leader is just exiting.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	int error = argc > 1 && strcmp(argv[1], "EINVAL") == 0 ? EINVAL : EPERM;
	struct sock_filter code[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {sizeof code / sizeof code[0], code};

	if (argc < 3) {
		fputs("usage: deny_pidfd EPERM|EINVAL COMMAND [ARG]...\n", stderr);
		return 64;
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
		perror("deny_pidfd: seccomp");
		return 71;
	}
	/* The tool vouches for itself: a filter that did not take would make every test pass. */
	if (syscall(SYS_pidfd_open, getpid(), 0) >= 0 || errno != error) {
		fputs("deny_pidfd: pidfd_open still works\n", stderr);
		return 71;
	}
	execvp(argv[2], argv + 2);
	perror("deny_pidfd: exec");
	return 127;
}
