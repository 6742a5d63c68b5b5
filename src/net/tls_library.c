/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "net/tls_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

static const struct {
	const char *name;
	size_t offset;
} functions[] = {
#define TLS_LIBRARY_ROW(name) {#name, offsetof(struct tls_library, name)},
    TLS_LIBRARY_FUNCTIONS(TLS_LIBRARY_ROW)
#undef TLS_LIBRARY_ROW
};

/* The newest first. (libcrypto comes with it, and is searched for symbols too.) One that is there
 * and cannot be loaded says more than the other, which is not there. */
static void *
open_library(struct problem *why)
{
	static const char *const names[] = {"libssl.so.3", "libssl.so.1.1"};
	problem_set(why,
	    "TLS needs OpenSSL, and this machine has no libssl.so.3 or libssl.so.1.1 that can be "
	    "loaded (package libssl3, openssl-libs)");
	void *handle = NULL;
	bool is_told = false;
	for (size_t i = 0; i < sizeof names / sizeof *names && handle == NULL; i++) {
		handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
		const char *error = handle == NULL ? dlerror() : NULL;
		if (is_told || error == NULL || strstr(error, strerror(ENOENT)) != NULL)
			continue;
		problem_set(why, "TLS needs OpenSSL: %s", error);
		is_told = true;
	}
	return handle;
}

static bool
fill(struct tls_library *library, void *handle, struct problem *why)
{
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
		void *symbol = dlsym(handle, functions[i].name);
		if (symbol == NULL) {
			problem_set(why, "this machine's OpenSSL is of no use for TLS: no %s in it",
			    functions[i].name);
			return false;
		}
		memcpy((char *)library + functions[i].offset, &symbol, sizeof symbol);
	}
	return true;
}

const struct tls_library *
tls_library_load(struct problem *why)
{
	static struct tls_library library;
	static bool is_loaded;
	if (is_loaded)
		return &library;
	void *handle = open_library(why);
	if (handle != NULL && fill(&library, handle, why)) {
		/* Without a clean-up at exit: OUTER, which only inherits this, must not run it. */
		is_loaded = library.OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, NULL) == 1;
		if (!is_loaded)
			problem_set(why, "OpenSSL cannot be set up: is openssl.cnf in order?");
	}
	why->is_system = !is_loaded;
	return is_loaded ? &library : NULL;
}
