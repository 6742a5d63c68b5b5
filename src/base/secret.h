/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* A secret that is asked for anew each time it is needed: the server's password, as whoever logs in
 * sees it. Where it comes from is its source's business: it was given once and is kept here, or a
 * file or a command is asked (run/password.h).
 *
 * Secrets live in pages of their own that no core dump has, and are wiped as soon as they have been
 * used. What dlock cannot do: keep them from root, or from a debugger of the same user. */
#ifndef DLOCK_BASE_SECRET_H
#define DLOCK_BASE_SECRET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/problem.h"

/* In bytes, the final NUL not counted. The tokens that cloud services take for passwords have two
 * or three thousand; a server takes up to 16384 bytes of somebody who has not logged in. */
#define SECRET_MAX 8192

struct secret_source;

struct secret_operations {
	/* Asks for it. `told` is called once, later from the loop or before this returns. */
	void (*ask)(struct secret_source *source);
	/* Ends the asking, and wipes what was told; `told` is not called any more. */
	void (*cancel)(struct secret_source *source);
	/* In a process that only inherited the source and will not ask: wipes all of it. */
	void (*forget)(struct secret_source *source);
};

/* The head of every source's own struct. */
struct secret_source {
	const struct secret_operations *operations;
	/* Set by who asks: the secret, to be used until cancel is called; or NULL, and why there is
	 * none. Such a problem is a setting's, or the system's. */
	void (*told)(void *context, const char *secret, const struct problem *why);
	void *context;
	const char *origin; /* for people: "DLOCK_PASSWORD"; NULL: what names the server says it */
	/* A process that the source runs for itself, 0 for none; may be NULL. */
	const pid_t *helper;
};

/* Pages of their own for `size` bytes, all zero; NULL and errno. Never given back: the process ends
 * with them. */
void *
secret_open_pages(size_t size);

/* A secret that was given once. */
struct kept_secret {
	struct secret_source source; /* first: a source is converted back */
	char *text;
};

/* Copies `text`, of SECRET_MAX bytes at most. 0, or -1 and errno: no memory. */
int
secret_keep(struct kept_secret *kept, const char *text, const char *origin);

#endif
