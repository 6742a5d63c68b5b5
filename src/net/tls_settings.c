/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "net/tls_settings.h"

#include <string.h>

#define TEXT(member)                                                                               \
#member, offsetof(struct tls_settings, member),                                            \
	    sizeof(((struct tls_settings *)NULL)->member)

const struct tls_text tls_texts[TLS_TEXTS] = {
    {TEXT(cacert), "file", true},
    {TEXT(cacertdir), "directory", true},
    {TEXT(cert), "file", true},
    {TEXT(key), "file", true},
    {TEXT(sni), "name", false},
};

const struct tls_text *
tls_text_find(const char *name, size_t length)
{
	for (size_t i = 0; i < TLS_TEXTS; i++) {
		if (strlen(tls_texts[i].name) == length &&
		    strncmp(tls_texts[i].name, name, length) == 0)
			return &tls_texts[i];
	}
	return NULL;
}

char *
tls_text_in(struct tls_settings *settings, const struct tls_text *text)
{
	return (char *)settings + text->offset;
}

const char *
tls_text_given(const struct tls_settings *settings, const struct tls_text *text)
{
	return (const char *)settings + text->offset;
}

bool
tls_text_check(const struct tls_text *text, const char *value, struct problem *problem)
{
	/* It would be there for one connection, and cost the lock at the next. */
	if (!text->is_path ||
	    (strncmp(value, "/dev/fd/", 8) != 0 && strncmp(value, "/proc/self/fd/", 14) != 0 &&
		strcmp(value, "/dev/stdin") != 0))
		return true;
	problem_set(problem, "'%.40s' cannot be read again for the next connection: name a file",
	    value);
	return false;
}
