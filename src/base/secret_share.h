/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* One source of a secret for several who ask, maybe at the same time: the servers of a quorum have
 * their password from one file or command, which is read or run once for all who want it then. */
#ifndef DLOCK_BASE_SECRET_SHARE_H
#define DLOCK_BASE_SECRET_SHARE_H

#include <stdbool.h>

#include "base/secret.h"

#define SECRET_SHARES 15

struct secret_share;

/* What one of them asks. */
struct secret_front {
	struct secret_source source; /* first: a source is converted back */
	struct secret_share *share;
	bool waits; /* for being told */
	bool has;   /* been told, and not done with it */
};

struct secret_share {
	struct secret_source *inner; /* borrowed */
	bool asked;
	const char *secret; /* the inner source's, while somebody has it */
	int count;
	struct secret_front fronts[SECRET_SHARES];
};

/* Sets up `count` fronts of that source, which nobody else may ask. */
void
secret_share_init(struct secret_share *share, struct secret_source *inner, int count);

#endif
