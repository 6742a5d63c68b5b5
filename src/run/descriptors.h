/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Descriptors that dlock was started with. */
#ifndef DLOCK_RUN_DESCRIPTORS_H
#define DLOCK_RUN_DESCRIPTORS_H

/* Fills closed ones among 0, 1 and 2 with placeholders, before anything is opened: or the
 * connection to the server might become COMMAND's stdout. They close on exec, so COMMAND finds
 * closed what was closed. 0, or -1 and errno. */
int
descriptors_fill_gaps(void);

/* In OUTER and RUNNER: lets go of stdin, stdout and all else that was inherited, but stderr. Or
 * COMMAND's peers in a pipeline would not see its end of file, or its EPIPE, while dlock lives. */
void
descriptors_let_go(void);

#endif
