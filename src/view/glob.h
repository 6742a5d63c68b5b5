/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Redis's glob patterns. Pure. */
#ifndef DLOCK_VIEW_GLOB_H
#define DLOCK_VIEW_GLOB_H

#include <stdbool.h>
#include <stddef.h>

#include "base/keys.h"

#define GLOB_MAX_BYTES 1024
#define GLOB_PATTERN_SIZE (2 * PREFIX_MAX_BYTES + GLOB_MAX_BYTES + 1)

/* The pattern of the keys whose NAME the glob matches: the prefix stands for itself, whatever bytes
 * it has. NULL: any NAME. False: the glob, or the prefix, is too long. */
bool
glob_make_pattern(char pattern[GLOB_PATTERN_SIZE], const char *prefix, const char *glob);

#endif
