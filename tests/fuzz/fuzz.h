/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What the fuzz targets share. A target is one file, NAME_fuzz.c, with one function:
 *
 *   int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
 *
 * that reads the bytes as some input of dlock's and checks what must hold for any: not merely that
 * nothing crashes. corpus/NAME/ has inputs to begin with, each named for what it is; NAME.dict, if
 * there is one, words that occur in them. scripts/fuzz runs it. */
#ifndef DLOCK_TESTS_FUZZ_H
#define DLOCK_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the target, which makes libFuzzer keep the input, and says what did not hold. */
#define FUZZ_CHECK(condition)                                                                      \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__,          \
			    #condition);                                                           \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/* The bytes up to the first NUL as text, in a block of exactly that size, so that ASan sees a read
 * beyond. To be freed. */
static inline char *
fuzz_text(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);
	if (text == NULL)
		abort();
	return text;
}

#endif
