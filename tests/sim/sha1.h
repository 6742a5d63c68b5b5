/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* SHA-1 (RFC 3174), by which a server names a script. For nothing that has to be safe. */
#ifndef DLOCK_TESTS_SHA1_H
#define DLOCK_TESTS_SHA1_H

#include <stddef.h>

/* As 40 hexadecimal digits and a NUL. */
void
sha1_hex(const char *text, size_t length, char out[41]);

#endif
