/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What the files behind net/tls.h share: tls.c, the steps, and tls_explain.c, why one has failed,
 * in words that help. */
#ifndef DLOCK_NET_TLS_EXPLAIN_H
#define DLOCK_NET_TLS_EXPLAIN_H

#include "net/tls.h"
#include "net/tls_library.h"

struct tls {
	const struct tls_library *lib;
	const struct tls_settings *settings;
	char name[TLS_NAME_SIZE]; /* whose certificate it should be */
	bool is_address;
	SSL_CTX *context;
	SSL *ssl;             /* NULL: not begun */
	bool was_asked;       /* for a certificate that we do not have */
	enum transfer broken; /* DONE: it is not */
	struct problem problem;
};

/* The one that ssl belongs to. */
struct tls *
tls_of(const SSL *ssl);

/* What OpenSSL's error queue says of a step: CLOSED or FAILED, and why. */
enum transfer
tls_explain(const struct tls *tls, struct problem *why);

/* What it says of a file: a setting. */
void
tls_explain_file(const struct tls *tls, const char *option, const char *path, struct problem *why);

#endif
