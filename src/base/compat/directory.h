/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Reading a directory without opendir(3), which allocates. */
#ifndef DLOCK_BASE_COMPAT_DIRECTORY_H
#define DLOCK_BASE_COMPAT_DIRECTORY_H

/* Calls visit with each name in the directory that is a number, in the directory's order. 0, or -1
 * and errno: it cannot be opened. */
int
compat_each_number(const char *path, void (*visit)(void *context, int number), void *context);

#endif
