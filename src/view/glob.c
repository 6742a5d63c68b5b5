/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "view/glob.h"

#include <string.h>

bool
glob_make_pattern(char pattern[GLOB_PATTERN_SIZE], const char *prefix, const char *glob)
{
	char *at = pattern;
	if (glob == NULL)
		glob = "*";
	if (strlen(prefix) > PREFIX_MAX_BYTES || strlen(glob) > GLOB_MAX_BYTES)
		return false;
	for (; *prefix != '\0'; prefix++) {
		if (strchr("*?[\\", *prefix) != NULL)
			*at++ = '\\';
		*at++ = *prefix;
	}
	strcpy(at, glob);
	return true;
}
