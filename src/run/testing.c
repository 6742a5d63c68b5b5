/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "run/testing.h"

#ifdef DLOCK_TESTING

#include <stdlib.h>
#include <string.h>

static const char *
find(const char *name)
{
	const char *hooks = getenv("DLOCK_TEST_HOOKS");
	size_t length = strlen(name);
	while (hooks != NULL && *hooks != '\0') {
		size_t item = strcspn(hooks, ",");
		if (strncmp(hooks, name, length) == 0 && (item == length || hooks[length] == '='))
			return hooks + length;
		hooks += item;
		hooks += *hooks == ',';
	}
	return NULL;
}

bool
testing_hook(const char *name)
{
	return find(name) != NULL;
}

int
testing_number(const char *name)
{
	const char *value = find(name);
	return value != NULL && *value == '=' ? atoi(value + 1) : 0;
}

#else
/* ISO C forbids an empty translation unit. */
typedef int testing_is_off;
#endif
