/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What is set of TLS for one server, by options or in its URL. Pure. */
#ifndef DLOCK_NET_TLS_SETTINGS_H
#define DLOCK_NET_TLS_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/problem.h"

#define TLS_PATH_SIZE 512
#define TLS_NAME_SIZE 256

/* As redis-cli(1) calls them. Empty: not given. */
struct tls_settings {
	bool on; /* rediss://, --tls */
	bool insecure;
	char cacert[TLS_PATH_SIZE];
	char cacertdir[TLS_PATH_SIZE];
	char cert[TLS_PATH_SIZE];
	char key[TLS_PATH_SIZE];
	char
	    sni[TLS_NAME_SIZE]; /* the server's name, asked for and verified in place of the host */
};

/* Those of them that are texts: options, and keys of a URL's query, have the same names. */
struct tls_text {
	const char *name;
	size_t offset, size; /* in struct tls_settings */
	const char *what;    /* it names: a file, a directory, a name */
	bool is_path;
};

#define TLS_TEXTS 5
extern const struct tls_text tls_texts[TLS_TEXTS];

/* The one of that name, which need not end; NULL: there is none. */
const struct tls_text *
tls_text_find(const char *name, size_t length);

/* Where it is kept in these settings. */
char *
tls_text_in(struct tls_settings *settings, const struct tls_text *text);
const char *
tls_text_given(const struct tls_settings *settings, const struct tls_text *text);

/* May it have that value? False and a sentence: a path that leads elsewhere at the next connection.
 */
bool
tls_text_check(const struct tls_text *text, const char *value, struct problem *problem);

#endif
