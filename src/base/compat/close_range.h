/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Closing descriptors wholesale. */
#ifndef DLOCK_BASE_COMPAT_CLOSE_RANGE_H
#define DLOCK_BASE_COMPAT_CLOSE_RANGE_H

/* Closes every descriptor but `keep`; async-signal-safe. */
void
compat_close_all_but(int keep);

/* Closes `first` and every descriptor above it; async-signal-safe. */
void
compat_close_from(int first);

#endif
