/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "base/compat/directory.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What getdents64(2) fills in; the C libraries disagree on how to call it. */
struct entry {
	uint64_t inode;
	int64_t offset;
	unsigned short length;
	unsigned char type;
	char name[];
};

int
compat_each_number(const char *path, void (*visit)(void *context, int number), void *context)
{
	char entries[8192] __attribute__((aligned(8)));
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	for (;;) {
		long length = syscall(SYS_getdents64, fd, entries, sizeof entries);
		if (length <= 0)
			break;
		for (long at = 0; at < length;) {
			const struct entry *entry = (const void *)(entries + at);
			if (entry->name[0] >= '0' && entry->name[0] <= '9')
				visit(context, (int)strtol(entry->name, NULL, 10));
			at += entry->length;
		}
	}
	close(fd);
	return 0;
}
