/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* A child that shares its parent's memory until it executes something else: nothing is copied,
 * which is a third of what a hand-off of a lock takes beside the command's own start. clone(2) with
 * CLONE_VM, but not vfork(2), which would stop the parent: COMMAND waits for it at a gate.
 *
 * Who shares memory shares errno. So the child does nothing that fails before it executes, and the
 * parent waits for that (birth_await). Under the sanitizers, elsewhere than on Linux, where such a
 * child is refused, and for tests under valgrind, which knows none, it is fork(2). */
#ifndef DLOCK_RUN_BIRTH_H
#define DLOCK_RUN_BIRTH_H

#include <stdbool.h>
#include <sys/types.h>

/* Does it share memory, here? After a birth: did it? */
bool
birth_shares_memory(void);

/* The child runs child(context), which does not return, on a stack of its own: async-signal-safe
 * calls only. What it looks at stays as it is until it has executed. One at a time, and only from a
 * process with one thread. The pid, or -1 and errno. */
pid_t
birth_give(void (*child)(void *context), void *context);

/* Waits until `fd`, the end of a pipe that closes when the child executes, is closed or says why
 * not. Not for long: a file system may hang, and the parent has other duties. */
void
birth_await(int fd);

#endif
