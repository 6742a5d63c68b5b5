/* Copyright (c) 2026 the dlock authors */
/* SPDX-License-Identifier: MIT */

/*
 * no_libssl: a machine without OpenSSL and libpq. Preloaded, dlopen(3) finds neither, of whatever
 * version.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

typedef void *
open_library(const char *, int);

void *
dlopen(const char *name, int flags)
{
	open_library *real = NULL;
	if (name != NULL && (strncmp(name, "libssl", 6) == 0 || strncmp(name, "libpq", 5) == 0))
		return NULL;
	*(void **)&real = dlsym(RTLD_NEXT, "dlopen");
	return real != NULL ? real(name, flags) : NULL;
}
