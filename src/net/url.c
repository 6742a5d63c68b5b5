/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "net/url_parts.h"

#include <stdio.h>
#include <string.h>

#include "base/values.h"

#define SCHEMES "redis://, rediss://, unix://"
#define EXAMPLE "redis://localhost:6379"
#define UNIX_EXAMPLE "unix:///path/to.sock"
#define HOST_BYTES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:%"
#define SCHEME_BYTES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-."

bool
url_decode(char *out, size_t size, struct span from, const char *what, struct problem *problem)
{
	size_t used = 0;
	for (size_t i = 0; i < from.length; i++) {
		char byte = from.start[i];
		if (byte == '%') {
			int high = i + 2 < from.length ? value_hex_digit(from.start[i + 1]) : -1;
			int low = high >= 0 ? value_hex_digit(from.start[i + 2]) : -1;
			if (low < 0 || high * 16 + low == 0) {
				problem_set(problem,
				    "bad percent-encoding in the %s of the server URL (%%HH, not "
				    "%%00; write %%25 for %% itself)",
				    what);
				return false;
			}
			byte = (char)(high * 16 + low);
			i += 2;
		}
		if (used + 1 >= size) {
			problem_set(problem,
			    "the %s in the server URL is too long (at most %zu bytes)", what,
			    size - 1);
			return false;
		}
		out[used++] = byte;
	}
	out[used] = '\0';
	return true;
}

bool
url_parse_number(struct span digits, int least, int most, const char *what, int *number,
    struct problem *problem)
{
	char text[64];
	int64_t value;
	struct problem ignored;
	/* Not quoted: it may be a password whose @host was forgotten. */
	bool fits = digits.length < sizeof text;
	if (fits)
		snprintf(text, sizeof text, "%.*s", (int)digits.length, digits.start);
	if (!fits || !value_parse_count(text, least, most, &value, &ignored)) {
		problem_set(problem,
		    "bad %s in the server URL: not a number from %d to %d, as in " EXAMPLE "/0",
		    what, least, most);
		return false;
	}
	*number = (int)value;
	return true;
}

/* user[:password]@ */
static bool
parse_login(struct url *url, struct span login, struct problem *problem)
{
	const char *colon = memchr(login.start, ':', login.length);
	struct span user = {login.start, colon ? (size_t)(colon - login.start) : login.length};
	if (!url_decode(url->user, sizeof url->user, user, "user", problem))
		return false;
	if (colon == NULL)
		return true;
	url->has_password = true;
	return url_decode(url->password, sizeof url->password,
	    (struct span){colon + 1, login.length - user.length - 1}, "password", problem);
}

/* What no name or address can have would be looked up for nothing. Bytes of UTF-8 may be: the
 * resolver knows. */
static bool
check_host(const char *host, struct problem *problem)
{
	for (; *host != '\0'; host++) {
		if ((unsigned char)*host < 0x80 && strchr(HOST_BYTES, *host) == NULL) {
			problem_set(problem,
			    "bad host in the server URL: a name or an address, as in " EXAMPLE);
			return false;
		}
	}
	return true;
}

/* host[:port] or [address][:port] */
static bool
parse_host(struct url *url, struct span place, struct problem *problem)
{
	struct span host = place;
	const char *end = place.start + place.length;
	const char *after;

	if (memchr(place.start, ',', place.length) != NULL) {
		problem_set(problem,
		    "more than one host in the server URL: that is not in this version of dlock");
		return false;
	}
	if (place.length > 0 && place.start[0] == '[') {
		const char *close = memchr(place.start, ']', place.length);
		if (close == NULL) {
			problem_set(problem,
			    "no closing ] after the IPv6 address in the server URL");
			return false;
		}
		host = (struct span){place.start + 1, (size_t)(close - place.start - 1)};
		after = close + 1;
	} else {
		const char *colon = memchr(place.start, ':', place.length);
		after = colon ? colon : end;
		host.length = (size_t)(after - place.start);
		if (colon != NULL && memchr(colon + 1, ':', (size_t)(end - colon - 1)) != NULL) {
			problem_set(problem,
			    "an IPv6 address in the server URL stands in "
			    "brackets: redis://[::1]:6379");
			return false;
		}
	}
	if (host.length == 0) {
		problem_set(problem, "no host in the server URL, as in " EXAMPLE);
		return false;
	}
	if (after < end && *after != ':') {
		problem_set(problem, "only :port may follow the ] in the server URL");
		return false;
	}
	if (!url_decode(url->host, sizeof url->host, host, "host", problem) ||
	    !check_host(url->host, problem))
		return false;
	if (after == end)
		return true;
	return url_parse_number((struct span){after + 1, (size_t)(end - after - 1)}, 1, 65535,
	    "port", &url->port, problem);
}

static bool
parse_redis(struct url *url, const char *rest, enum url_unknown_keys unknown,
    struct problem *problem)
{
	size_t length = strcspn(rest, "/?");
	struct span place = {rest, length};
	if (strchr(rest + length, '@') != NULL) {
		/* What follows would be quoted as a bad port or db, and is half a password. */
		problem_set(problem,
		    "an @ after a / or ? in the server URL: in user and password write / as %%2F and ? as %%3F");
		return false;
	}
	/* The last @: a password with an unescaped one in it still works. */
	for (size_t i = length; i-- > 0;) {
		if (rest[i] == '@') {
			if (!parse_login(url, (struct span){rest, i}, problem))
				return false;
			place = (struct span){rest + i + 1, length - i - 1};
			break;
		}
	}
	url->port = 6379;
	if (!parse_host(url, place, problem))
		return false;
	rest += length;
	if (*rest == '/') {
		size_t digits = strcspn(++rest, "?");
		if (digits > 0 &&
		    !url_parse_number((struct span){rest, digits}, 0, INT32_MAX, "db", &url->db,
			problem))
			return false;
		rest += digits;
	}
	return *rest != '?' || url_parse_query(url, rest + 1, unknown, problem);
}

static bool
parse_unix(struct url *url, const char *rest, enum url_unknown_keys unknown,
    struct problem *problem)
{
	size_t length = strcspn(rest, "?");
	if (memchr(rest, '@', strcspn(rest, "/")) != NULL) {
		problem_set(problem,
		    "a unix:// URL has no user or password: " UNIX_EXAMPLE ", and the password in "
		    "--password-file, --password-command or DLOCK_PASSWORD");
		return false;
	}
	if (rest[0] != '/') {
		problem_set(problem,
		    "the socket's path must be absolute, with three slashes: " UNIX_EXAMPLE);
		return false;
	}
	if (!url_decode(url->path, sizeof url->path, (struct span){rest, length}, "path", problem))
		return false;
	rest += length;
	return *rest != '?' || url_parse_query(url, rest + 1, unknown, problem);
}

/* Engines and spellings that people come with. */
static const struct {
	const char *scheme, *advice;
} other_schemes[] = {
    {"redis+sentinel", "redis+sentinel:// is not in this version of dlock"},
    {"rediss+sentinel", "rediss+sentinel:// is not in this version of dlock"},
    {"redis+cluster", "redis+cluster:// is not in this version of dlock"},
    {"rediss+cluster", "rediss+cluster:// is not in this version of dlock"},
    {"postgres", "postgres:// is not in this version of dlock"},
    {"postgresql", "postgresql:// is not in this version of dlock"},
    {"valkey", "a Valkey server is named by redis:// too"},
    {"valkeys", "a Valkey server with TLS is named by rediss:// too"},
    {"redis+socket", "a Unix socket is named by " UNIX_EXAMPLE},
    {"redis-socket", "a Unix socket is named by " UNIX_EXAMPLE},
    {"redis+unix", "a Unix socket is named by " UNIX_EXAMPLE},
};

static void
refuse_scheme(const char *text, struct problem *problem)
{
	size_t length = strspn(text, SCHEME_BYTES);
	bool has_slashes = strncmp(text + length, "://", 3) == 0;
	if (!has_slashes && strncmp(text, "unix:", 5) == 0) {
		problem_set(problem,
		    "slashes are missing behind unix: in the server URL, as in " UNIX_EXAMPLE);
		return;
	}
	if (!has_slashes && (strncmp(text, "redis:", 6) == 0 || strncmp(text, "rediss:", 7) == 0)) {
		problem_set(problem,
		    "slashes are missing behind %.*s: in the server URL, as in " EXAMPLE,
		    (int)strcspn(text, ":"), text);
		return;
	}
	if (!has_slashes) {
		problem_set(problem,
		    "no scheme in front of the server URL, as in " EXAMPLE " or " UNIX_EXAMPLE);
		return;
	}
	for (size_t i = 0; i < sizeof other_schemes / sizeof *other_schemes; i++) {
		if (strlen(other_schemes[i].scheme) == length &&
		    strncmp(other_schemes[i].scheme, text, length) == 0) {
			problem_set(problem, "%s (schemes: " SCHEMES ")", other_schemes[i].advice);
			return;
		}
	}
	problem_set(problem, "unknown scheme '%.*s' in the server URL (schemes: " SCHEMES ")",
	    (int)(length < 40 ? length : 40), text);
}

bool
url_parse(struct url *url, const char *text, enum url_unknown_keys unknown, struct problem *problem)
{
	const char *blank = strpbrk(text, " \t\r\n\v\f");
	memset(url, 0, sizeof *url);
	if (blank != NULL) {
		const char *scheme = strstr(text, "://");
		if (scheme != NULL && scheme < blank && strstr(blank, "://") != NULL)
			problem_set(problem, "%s", URL_SEVERAL_SERVERS);
		else
			problem_set(problem, "a blank in the server URL: write %%20 for it");
		return false;
	}
	if (strncmp(text, "redis://", 8) == 0) {
		url->scheme = URL_REDIS;
		return parse_redis(url, text + 8, unknown, problem);
	}
	if (strncmp(text, "rediss://", 9) == 0) {
		url->scheme = URL_REDIS;
		url->tls.on = true;
		return parse_redis(url, text + 9, unknown, problem);
	}
	if (strncmp(text, "unix://", 7) == 0) {
		url->scheme = URL_UNIX;
		return parse_unix(url, text + 7, unknown, problem);
	}
	refuse_scheme(text, problem);
	return false;
}
