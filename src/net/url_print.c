/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* How a server URL is shown to people: without its password. */
#include <stdio.h>
#include <string.h>

#include "net/url.h"

#define BLANKS " \t\r\n\v\f"

/* Encodes the bytes of `text` that would be read as something else, which are % and those of
 * `syntax`. Returns `out`, which has room for three times the text. */
static const char *
encode(char *out, const char *text, const char *syntax)
{
	char *end = out;
	for (; *text != '\0'; text++) {
		if (*text == '%' || strchr(syntax, *text) != NULL)
			end += sprintf(end, "%%%02x", (unsigned int)(unsigned char)*text);
		else
			*end++ = *text;
	}
	*end = '\0';
	return out;
}

void
url_print(const struct url *url, char *out, size_t size)
{
	char db[32] = "";
	char user[3 * sizeof url->user], place[3 * sizeof url->host];
	switch (url->scheme) {
	case URL_REDIS: {
		bool brackets = strchr(url->host, ':') != NULL;
		if (url->db != 0)
			snprintf(db, sizeof db, "/%d", url->db);
		snprintf(out, size, "redis%s://%s%s%s%s%s%s:%d%s", url->tls.on ? "s" : "",
		    encode(user, url->user, BLANKS ":@/?"), url->has_password ? ":***" : "",
		    url->user[0] || url->has_password ? "@" : "", brackets ? "[" : "",
		    encode(place, url->host, "@/?[]"), brackets ? "]" : "", url->port, db);
		break;
	}
	case URL_UNIX:
		if (url->db != 0)
			snprintf(db, sizeof db, "?db=%d", url->db);
		snprintf(out, size, "unix://%s%s", encode(place, url->path, BLANKS "?"), db);
		break;
	}
}

char *
url_find_password(char *text, size_t *length)
{
	char *start = strstr(text, "://");
	if (start == NULL)
		return NULL;
	start += 3;
	size_t authority = strcspn(start, "/?");
	char *colon = memchr(start, ':', authority);
	if (colon == NULL)
		return NULL;
	/* Also behind a / or ?: a password with one of those bare in it is still one. */
	char *at = strrchr(colon, '@');
	if (at == NULL)
		return NULL;
	*length = (size_t)(at - colon - 1);
	return colon + 1;
}
