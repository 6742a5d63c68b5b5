/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* How a server URL is shown to people: without its password. */
#include <stdio.h>
#include <string.h>

#include "net/url_parts.h"

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
url_print_place(const struct url_place *place, char *out, size_t size)
{
	char host[3 * sizeof place->host];
	bool brackets = strchr(place->host, ':') != NULL;
	snprintf(out, size, "%s%s%s:%d", brackets ? "[" : "", encode(host, place->host, "@/?[],"),
	    brackets ? "]" : "", place->port);
}

/* redis+sentinel://user:***@ */
static size_t
print_start(const struct url *url, const char *kind, char *out, size_t size)
{
	char user[3 * sizeof url->user];
	return (size_t)snprintf(out, size, "redis%s%s://%s%s%s", url->tls.on ? "s" : "", kind,
	    encode(user, url->user, BLANKS ":@/?"), url->has_password ? ":***" : "",
	    url->user[0] || url->has_password ? "@" : "");
}

/* host:port,host:port */
static size_t
print_places(const struct url *url, char *out, size_t size)
{
	size_t used = 0;
	for (size_t i = 0; i < url->place_count && used < size; i++) {
		char place[URL_PLACE_TEXT];
		url_print_place(&url->places[i], place, sizeof place);
		used += (size_t)snprintf(out + used, size - used, "%s%s", i > 0 ? "," : "", place);
	}
	return used;
}

/* Of what was printed so much has come in. */
static size_t
within(size_t used, size_t size)
{
	return used < size ? used : size - 1;
}

void
url_print(const struct url *url, char *out, size_t size)
{
	char db[32] = "";
	char place[3 * sizeof url->host];
	size_t used;
	if (url->db != 0)
		snprintf(db, sizeof db, url->scheme == URL_UNIX ? "?db=%d" : "/%d", url->db);
	switch (url->scheme) {
	case URL_REDIS: {
		struct url_place own = {.port = url->port};
		char text[URL_PLACE_TEXT];
		memcpy(own.host, url->host, sizeof own.host);
		url_print_place(&own, text, sizeof text);
		used = within(print_start(url, "", out, size), size);
		snprintf(out + used, size - used, "%s%s", text, db);
		break;
	}
	case URL_SENTINEL:
		used = within(print_start(url, "+sentinel", out, size), size);
		used = within(used + print_places(url, out + used, size - used), size);
		snprintf(out + used, size - used, "/%s%s",
		    encode(place, url->service, BLANKS "/?@"), db);
		break;
	case URL_CLUSTER:
		used = within(print_start(url, "+cluster", out, size), size);
		print_places(url, out + used, size - used);
		break;
	case URL_POSTGRES:
		url_print_postgres(url, out, size);
		break;
	case URL_UNIX:
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

char *
url_find_sentinel_password(char *text, size_t *length)
{
	static const char key[] = "sentinel-password=";
	char *at = strchr(text, '?');
	while (at != NULL) {
		if (strncmp(at + 1, key, sizeof key - 1) == 0) {
			*length = strcspn(at + sizeof key, "&");
			return at + sizeof key;
		}
		at = strchr(at + 1, '&');
	}
	return NULL;
}
