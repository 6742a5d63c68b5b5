/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What follows the ? of a server URL. */
#include <stdio.h>
#include <string.h>

#include "base/values.h"
#include "net/url_parts.h"

#define QUERY_KEYS "db, connect-timeout, tls, cacert, cacertdir, cert, key, sni, insecure"
#define SENTINEL_KEYS "sentinel-user, sentinel-password, sentinel-password-file"
#define KEY_BYTES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."

/* Only what a key is made of is kept: the rest may be a secret. */
static void
note_ignored(struct url *url, struct span key)
{
	size_t used = strlen(url->ignored);
	bool shown = key.length > 0 && key.length <= 40;
	for (size_t i = 0; i < key.length && shown; i++)
		shown = strchr(KEY_BYTES, key.start[i]) != NULL;
	if (shown)
		snprintf(url->ignored + used, sizeof url->ignored - used, "%s%.*s",
		    used ? ", " : "", (int)key.length, key.start);
}

static bool
is_key(struct span key, const char *name)
{
	return key.length == strlen(name) && strncmp(key.start, name, key.length) == 0;
}

/* yes, no, or the key alone, as in a config file. */
static bool
parse_switch(struct span value, const char *what, bool *on, struct problem *problem)
{
	if (value.length == 0 || is_key(value, "yes")) {
		*on = true; /* "no" turns nothing off: rediss:// stays what it is */
	} else if (!is_key(value, "no")) {
		problem_set(problem, "bad %s in the server URL: neither 'yes' nor 'no'", what);
		return false;
	}
	return true;
}

/* A key whose value is kept as it is. */
struct text_key {
	const char *name;
	char *text;
	size_t size;
};

/* NULL: none of them. */
static const struct text_key *
find_text(const struct text_key *texts, size_t count, struct span key)
{
	for (size_t i = 0; i < count; i++) {
		if (is_key(key, texts[i].name))
			return &texts[i];
	}
	return NULL;
}

/* *taken: it is a key of TLS. */
static bool
parse_tls_item(struct tls_settings *tls, struct span key, struct span value, bool *taken,
    struct problem *problem)
{
	struct problem why;
	*taken = true;
	if (is_key(key, "tls"))
		return parse_switch(value, "tls", &tls->on, problem);
	if (is_key(key, "insecure"))
		return parse_switch(value, "insecure", &tls->insecure, problem);
	const struct tls_text *text = tls_text_find(key.start, key.length);
	*taken = text != NULL;
	if (text == NULL)
		return true;
	if (!url_decode(tls_text_in(tls, text), text->size, value, text->name, problem))
		return false;
	if (tls_text_check(text, tls_text_in(tls, text), &why))
		return true;
	problem_set(problem, "bad %s in the server URL: %s", text->name, why.text);
	return false;
}

/* *taken: it is one of the sentinels' login. */
static bool
parse_sentinel_item(struct url *url, struct span key, struct span value, bool *taken,
    struct problem *problem)
{
	const struct text_key texts[] = {
	    {"sentinel-user", url->sentinel_user, sizeof url->sentinel_user},
	    {"sentinel-password", url->sentinel_password, sizeof url->sentinel_password},
	    {"sentinel-password-file", url->sentinel_password_file,
		sizeof url->sentinel_password_file},
	};
	*taken = false;
	if (url->scheme != URL_SENTINEL)
		return true;
	const struct text_key *text = find_text(texts, sizeof texts / sizeof *texts, key);
	*taken = text != NULL;
	if (text == NULL)
		return true;
	if (text->text == url->sentinel_password)
		url->has_sentinel_password = true;
	if (!url_decode(text->text, text->size, value, text->name, problem))
		return false;
	if (url->has_sentinel_password && url->sentinel_password_file[0] != '\0') {
		problem_set(problem,
		    "of sentinel-password and sentinel-password-file in the server URL give one");
		return false;
	}
	return true;
}

static bool
parse_query_item(struct url *url, struct span key, struct span value, enum url_unknown_keys unknown,
    struct problem *problem)
{
	char text[64];
	struct problem why;
	bool taken;
	if (!parse_tls_item(&url->tls, key, value, &taken, problem))
		return false;
	if (!taken && !parse_sentinel_item(url, key, value, &taken, problem))
		return false;
	if (taken)
		return true;
	if (is_key(key, "db"))
		return url_parse_number(value, 0, INT32_MAX, "db", &url->db, problem);
	if (is_key(key, "connect-timeout")) {
		if (!url_decode(text, sizeof text, value, "connect-timeout", problem))
			return false;
		if (!value_parse_timeout(text, &url->connect_timeout_ns, &why)) {
			problem_set(problem, "bad connect-timeout in the server URL: %s", why.text);
			return false;
		}
		return true;
	}
	if (unknown == URL_IGNORE_UNKNOWN_KEYS) {
		note_ignored(url, key);
		return true;
	}
	problem_set(problem, "unknown key '%.*s' in the server URL (there are: " QUERY_KEYS "%s)",
	    (int)(key.length < 40 ? key.length : 40), key.start,
	    url->scheme == URL_SENTINEL ? ", " SENTINEL_KEYS : "");
	return false;
}

bool
url_parse_query(struct url *url, const char *query, enum url_unknown_keys unknown,
    struct problem *problem)
{
	while (*query != '\0') {
		size_t length = strcspn(query, "&");
		const char *equals = memchr(query, '=', length);
		struct span key = {query, equals ? (size_t)(equals - query) : length};
		struct span value = {equals ? equals + 1 : query + length,
		    equals ? length - key.length - 1 : 0};
		if (length > 0 && !parse_query_item(url, key, value, unknown, problem))
			return false;
		query += length + (query[length] == '&');
	}
	return true;
}
