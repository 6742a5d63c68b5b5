/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "net/pq_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

static const struct {
	const char *name;
	size_t offset;
} functions[] = {
#define PQ_LIBRARY_ROW(type, name, parameters) {#name, offsetof(struct pq_library, name)},
    PQ_LIBRARY_FUNCTIONS(PQ_LIBRARY_ROW)
#undef PQ_LIBRARY_ROW
};

const struct pq_library *
pq_library_load(struct problem *why)
{
	static struct pq_library library;
	static bool is_loaded;
	if (is_loaded)
		return &library;
	void *handle = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);
	const char *error = handle == NULL ? dlerror() : NULL;
	problem_set(why,
	    "PostgreSQL needs libpq, and this machine has no libpq.so.5 that can be loaded "
	    "(package libpq5, libpq, postgresql-libs)");
	if (error != NULL && strstr(error, strerror(ENOENT)) == NULL)
		problem_set(why, "PostgreSQL needs libpq: %s", error);
	why->is_system = true;
	if (handle == NULL)
		return NULL;
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
		void *symbol = dlsym(handle, functions[i].name);
		if (symbol == NULL) {
			problem_set(why, "this machine's libpq is of no use: no %s in it",
			    functions[i].name);
			why->is_system = true;
			return NULL;
		}
		memcpy((char *)&library + functions[i].offset, &symbol, sizeof symbol);
	}
	is_loaded = true;
	return &library;
}
