/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* postgres:// and postgresql:// URLs. They are libpq's: what stands in them is libpq's business
 * (PostgreSQL's documentation, Connection URIs), and goes to it as it is, but for passwords, which
 * are kept apart, and for the keys that are dlock's own. */
#include <stdio.h>
#include <string.h>

#include "base/values.h"
#include "net/url_parts.h"

#define START "postgresql://"
/* As much as --min-fence may ask for. */
#define FENCE_BASE_MOST (INT64_C(1) << 62)

static bool
is_key(struct span key, const char *name)
{
	return key.length == strlen(name) && strncmp(key.start, name, key.length) == 0;
}

/* To what libpq is given. */
static bool
add(struct url *url, const char *text, size_t length, struct problem *problem)
{
	size_t used = strlen(url->libpq);
	if (used + length >= sizeof url->libpq) {
		problem_set(problem, "the server URL is too long (at most %zu bytes)",
		    sizeof url->libpq - 1);
		return false;
	}
	memcpy(url->libpq + used, text, length);
	url->libpq[used + length] = '\0';
	return true;
}

/* A whole number with a sign or without. */
static bool
parse_key(const char *text, int64_t *key, struct problem *problem)
{
	struct problem unused;
	bool is_negative = text[0] == '-';
	if (is_negative && strcmp(text, "-9223372036854775808") == 0) {
		*key = INT64_MIN;
		return true;
	}
	if (!value_parse_count(text + is_negative, 0, INT64_MAX, key, &unused)) {
		problem_set(problem,
		    "bad dlock_key in the server URL: not a number that pg_advisory_lock(bigint) "
		    "takes, as in ?dlock_key=4821");
		return false;
	}
	*key = is_negative ? -*key : *key;
	return true;
}

static bool
parse_fence_base(const char *text, int64_t *base, struct problem *problem)
{
	struct problem unused;
	if (value_parse_count(text, 0, FENCE_BASE_MOST, base, &unused))
		return true;
	problem_set(problem,
	    "bad fence_base in the server URL: not a number from 0 to %lld, which is added to every "
	    "fencing number",
	    (long long)FENCE_BASE_MOST);
	return false;
}

/* libpq's in whole seconds, where 0 means no limit; or dlock's own. */
static bool
parse_timeout(struct url *url, struct span key, const char *text, struct problem *problem)
{
	struct problem why;
	if (strcmp(text, "0") == 0 && is_key(key, "connect_timeout"))
		return true;
	if (value_parse_timeout(text, &url->connect_timeout_ns, &why))
		return true;
	problem_set(problem, "bad %.*s in the server URL: %s", (int)key.length, key.start,
	    why.text);
	return false;
}

/* A lock is taken where it can be written to. */
static bool
check_target(const char *text, struct problem *problem)
{
	if (strcmp(text, "any") == 0 || strcmp(text, "read-write") == 0 ||
	    strcmp(text, "primary") == 0)
		return true;
	problem_set(problem,
	    "target_session_attrs=%.40s in the server URL: a lock needs a primary (read-write)",
	    text);
	return false;
}

/* *own: it is not for libpq. */
static bool
parse_item(struct url *url, struct span key, struct span value, bool *own, struct problem *problem)
{
	char text[64];
	*own = true;
	if (is_key(key, "password")) {
		url->has_password = true;
		return url_decode(url->password, sizeof url->password, value, "password", problem);
	}
	bool is_timeout = is_key(key, "connect_timeout") || is_key(key, "connect-timeout");
	bool is_number = is_key(key, "dlock_key") || is_key(key, "fence_base");
	*own = is_timeout || is_number || is_key(key, "target_session_attrs");
	if (!*own)
		return true;
	if (!url_decode(text, sizeof text, value, "query", problem))
		return false;
	if (is_timeout)
		return parse_timeout(url, key, text, problem);
	if (is_key(key, "target_session_attrs"))
		return check_target(text, problem);
	if (is_key(key, "fence_base"))
		return parse_fence_base(text, &url->fence_base, problem);
	url->has_lock_number = true;
	return parse_key(text, &url->lock_number, problem);
}

static bool
parse_query(struct url *url, const char *query, struct problem *problem)
{
	const char *separator = "?";
	while (*query != '\0') {
		bool own = false;
		size_t length = strcspn(query, "&");
		const char *equals = memchr(query, '=', length);
		struct span key = {query, equals ? (size_t)(equals - query) : length};
		struct span value = {equals ? equals + 1 : query + length,
		    equals ? length - key.length - 1 : 0};
		if (length > 0 && !parse_item(url, key, value, &own, problem))
			return false;
		if (length > 0 && !own) {
			if (!add(url, separator, 1, problem) || !add(url, query, length, problem))
				return false;
			separator = "&";
		}
		query += length + (query[length] == '&');
	}
	return true;
}

/* What stands behind a host's colon. Not quoted: it may be a password whose @host was forgotten. */
static bool
check_ports(const char *hosts, size_t length, struct problem *problem)
{
	int port;
	for (const char *at = hosts, *end = hosts + length; at < end;) {
		const char *bracket = *at == '[' ? memchr(at, ']', (size_t)(end - at)) : NULL;
		at = bracket != NULL ? bracket : at;
		const char *comma = memchr(at, ',', (size_t)(end - at));
		const char *part_end = comma != NULL ? comma : end;
		const char *colon = memchr(at, ':', (size_t)(part_end - at));
		if (colon != NULL && colon + 1 < part_end) {
			struct span digits = {colon + 1, (size_t)(part_end - colon - 1)};
			if (!url_parse_number(digits, 1, 65535, "port", &port, problem))
				return false;
		}
		at = part_end + 1;
	}
	return true;
}

/* To libpq the first @ ends the login. */
static bool
add_user(struct url *url, const char *user, size_t length, struct problem *problem)
{
	for (size_t i = 0; i < length; i++) {
		bool is_at = user[i] == '@';
		if (!add(url, is_at ? "%40" : user + i, is_at ? 3 : 1, problem))
			return false;
	}
	return add(url, "@", 1, problem);
}

/* user[:password]@ */
static bool
parse_login(struct url *url, const char *text, size_t length, struct problem *problem)
{
	const char *colon = memchr(text, ':', length);
	size_t user = colon != NULL ? (size_t)(colon - text) : length;
	url->has_password = colon != NULL;
	return url_decode(url->user, sizeof url->user, (struct span){text, user}, "user",
		   problem) &&
	    (colon == NULL ||
		url_decode(url->password, sizeof url->password,
		    (struct span){colon + 1, length - user - 1}, "password", problem)) &&
	    add_user(url, text, user, problem);
}

bool
url_parse_postgres(struct url *url, const char *rest, enum url_unknown_keys unknown,
    struct problem *problem)
{
	(void)unknown; /* what libpq does not know it refuses */
	size_t authority = strcspn(rest, "/?"), login = authority;
	url->libpq[0] = '\0';
	if (strchr(rest + authority, '@') != NULL) {
		problem_set(problem,
		    "an @ after a / or ? in the server URL: in user and password write / as %%2F "
		    "and ? as %%3F, elsewhere @ as %%40");
		return false;
	}
	/* The last @: a password with an unescaped one in it still works. */
	while (login > 0 && rest[login - 1] != '@')
		login--;
	if (!add(url, START, strlen(START), problem) ||
	    (login > 0 && !parse_login(url, rest, login - 1, problem)) ||
	    !check_ports(rest + login, authority - login, problem))
		return false;
	rest += login;
	size_t length = strcspn(rest, "?");
	if (!add(url, rest, length, problem))
		return false;
	rest += length;
	return *rest != '?' || parse_query(url, rest + 1, problem);
}

/* One of the keys of a query whose value is a secret. */
static bool
is_secret(const char *item)
{
	return strncmp(item, "password=", 9) == 0 || strncmp(item, "sslpassword=", 12) == 0;
}

void
url_print_postgres(const struct url *url, char *out, size_t size)
{
	const char *text = url->libpq + strlen(START), *query = strchr(text, '?');
	size_t authority = strcspn(text, "/?");
	const char *at = memchr(text, '@', authority);
	size_t used = 0;
	if (at != NULL || url->has_password)
		used = (size_t)snprintf(out, size, START "%.*s%s@",
		    at != NULL ? (int)(at - text) : 0, text, url->has_password ? ":***" : "");
	else
		used = (size_t)snprintf(out, size, START);
	if (used >= size)
		return;
	text = at != NULL ? at + 1 : text;
	size_t length = query != NULL ? (size_t)(query - text) : strlen(text);
	used += (size_t)snprintf(out + used, size - used, "%.*s", (int)length, text);
	while (query != NULL && used < size) {
		size_t item = strcspn(query + 1, "&");
		bool secret = is_secret(query + 1);
		used += (size_t)snprintf(out + used, size - used, "%c%.*s%s", *query,
		    (int)(secret ? strcspn(query + 1, "=") + 1 : item), query + 1,
		    secret ? "***" : "");
		query = query[1 + item] == '&' ? query + 1 + item : NULL;
	}
}

void
url_scrub_postgres(char *text)
{
	if (strncmp(text, "postgres", 8) != 0)
		return;
	for (char *at = strchr(text, '?'); at != NULL; at = strchr(at + 1, '&')) {
		if (!is_secret(at + 1))
			continue;
		char *value = strchr(at, '=') + 1;
		memset(value, '*', strcspn(value, "&"));
	}
}
