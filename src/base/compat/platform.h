/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* How far the promises reach on the system that this is built for. `dlock --version` says it.
 *
 * Tier 1 has all that they rest on: a subreaper, so that no descendant of COMMAND escapes; timers
 * on a clock that goes on while the machine sleeps; a signal to the child when its parent dies.
 * Without a subreaper (macOS, the BSDs) descendants that left COMMAND's process group may survive a
 * lost lock: that is tier 2. */
#ifndef DLOCK_BASE_COMPAT_PLATFORM_H
#define DLOCK_BASE_COMPAT_PLATFORM_H

#ifdef __linux__
#define COMPAT_PLATFORM "Linux, tier 1: a lost lock ends all descendants of COMMAND"
#else
#define COMPAT_PLATFORM "not Linux, tier 2: descendants that left the process group may live on"
#endif

#endif
