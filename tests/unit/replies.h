/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* A server's answers, written as text, for tests that read answers:
 *
 *   [ ... ]   an array          'x'   a string; ~ in it is a NUL byte
 *   :12       an integer        +x;   a status
 *   _         nil               -x;   an error
 *
 * Blanks between items mean nothing. */
#ifndef DLOCK_TESTS_REPLIES_H
#define DLOCK_TESTS_REPLIES_H

#include "net/link.h"

/* The answer, good until the next call. Text that is not of that form ends the test. */
const struct reply *
reply_from(const char *text);

#endif
