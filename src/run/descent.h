/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Does one process descend from another? Read from /proc, upwards from the lower one: a process
 * cannot leave the tree of a living subreaper, nor can a stranger enter it. */
#ifndef DLOCK_RUN_DESCENT_H
#define DLOCK_RUN_DESCENT_H

#include <stdbool.h>
#include <sys/types.h>

/* The walk takes a bounded time: who stands further below counts as a stranger. */
#define DESCENT_DEEPEST 256

/* Both as this process numbers them; no process descends from itself. After proc_open. Where /proc
 * is that of another pid namespace, `from` must be this process. */
bool
descent_is_below(pid_t pid, pid_t from);

#endif
