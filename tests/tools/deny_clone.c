/* Copyright (c) 2026 the dlock authors */
/* SPDX-License-Identifier: MIT */

/*
 * deny_clone COMMAND [ARG]...: runs COMMAND where clone(2) fails with EINVAL for a child that
 * shares memory and is neither a thread nor vfork(2)'s, as it does under qemu's user mode.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KINDS (CLONE_VM | CLONE_VFORK | CLONE_THREAD)

static int
run(void *context)
{
	(void)context;
	_exit(0);
}

int
main(int argc, char **argv)
{
	static _Alignas(16) char stack[16384];
	/* The flags are the first argument, but for s390; their lower half comes first, but there.
	 */
	struct sock_filter code[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4),
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
	    BPF_STMT(BPF_ALU | BPF_AND | BPF_K, KINDS),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, CLONE_VM, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {sizeof code / sizeof code[0], code};

	if (argc < 2) {
		fputs("usage: deny_clone COMMAND [ARG]...\n", stderr);
		return 64;
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
		perror("deny_clone: seccomp");
		return 71;
	}
	/* The tool vouches for itself: a filter that did not take would make every test pass. */
	if (clone(run, stack + sizeof stack, CLONE_VM | SIGCHLD, NULL) >= 0 || errno != EINVAL) {
		fputs("deny_clone: clone still works\n", stderr);
		return 71;
	}
	execvp(argv[1], argv + 1);
	perror("deny_clone: exec");
	return 127;
}
