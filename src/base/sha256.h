/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* SHA-256 (FIPS 180-4), for the numbers of PostgreSQL's locks. Pure. No secret goes through it, and
 * a run has one short text to hash, so that it is not worth a library that every start would pay
 * for. */
#ifndef DLOCK_BASE_SHA256_H
#define DLOCK_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_SIZE 32

void
sha256(const void *bytes, size_t length, unsigned char digest[SHA256_SIZE]);

#endif
