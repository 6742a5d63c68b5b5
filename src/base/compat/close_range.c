/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "base/compat/close_range.h"

#include <limits.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* 0 when the kernel did it (close_range(2) came with Linux 5.9). */
static int
close_from_to(unsigned int first, unsigned int last)
{
	if (first > last)
		return 0;
#ifdef SYS_close_range
	return (int)syscall(SYS_close_range, first, last, 0);
#else
	return -1;
#endif
}

/* One by one, where the kernel does not do it. */
static void
close_each(int first, int keep)
{
	struct rlimit limit = {.rlim_cur = 1024};
	getrlimit(RLIMIT_NOFILE, &limit);
	/* A limit of millions would take seconds; nobody has that many open here. */
	int end = limit.rlim_cur < 65536 ? (int)limit.rlim_cur : 65536;
	for (int fd = first; fd < end; fd++) {
		if (fd != keep)
			close(fd);
	}
}

void
compat_close_all_but(int keep)
{
	if (close_from_to((unsigned int)keep + 1, UINT_MAX) != 0 ||
	    (keep > 0 && close_from_to(0, (unsigned int)keep - 1) != 0))
		close_each(0, keep);
}

void
compat_close_from(int first)
{
	if (close_from_to((unsigned int)first, UINT_MAX) != 0)
		close_each(first, -1);
}
