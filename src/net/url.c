/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "net/url_parts.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/values.h"

#define SCHEMES                                                                                    \
	"redis://, rediss://, unix://, redis+sentinel://, rediss+sentinel://, redis+cluster://, "  \
	"rediss+cluster://, postgres://, postgresql://"
#define EXAMPLE URL_EXAMPLE
#define UNIX_EXAMPLE "unix:///path/to.sock"
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

/* What stands between the scheme and the first / or ?: a login, if there is one, and *places. */
static bool
parse_authority(struct url *url, const char *rest, size_t length, struct span *places,
    struct problem *problem)
{
	*places = (struct span){rest, length};
	if (strchr(rest + length, '@') != NULL) {
		/* What follows would be quoted as a bad port or db, and is half a password. */
		problem_set(problem,
		    "an @ after a / or ? in the server URL: in user and password write / as %%2F and ? as %%3F");
		return false;
	}
	/* The last @: a password with an unescaped one in it still works. */
	for (size_t i = length; i-- > 0;) {
		if (rest[i] == '@') {
			*places = (struct span){rest + i + 1, length - i - 1};
			return parse_login(url, (struct span){rest, i}, problem);
		}
	}
	return true;
}

/* A number, or nothing. */
static bool
parse_db(struct url *url, struct span digits, struct problem *problem)
{
	return digits.length == 0 ||
	    url_parse_number(digits, 0, INT32_MAX, "db", &url->db, problem);
}

/* [/db][?query] */
static bool
parse_rest(struct url *url, const char *rest, enum url_unknown_keys unknown,
    struct problem *problem)
{
	if (*rest == '/') {
		size_t length = strcspn(++rest, "?");
		if (!parse_db(url, (struct span){rest, length}, problem))
			return false;
		rest += length;
	}
	return *rest != '?' || url_parse_query(url, rest + 1, unknown, problem);
}

static bool
parse_redis(struct url *url, const char *rest, enum url_unknown_keys unknown,
    struct problem *problem)
{
	struct span text;
	struct url_place place;
	size_t length = strcspn(rest, "/?");
	if (!parse_authority(url, rest, length, &text, problem) ||
	    !url_parse_place(text, 6379, &place, problem))
		return false;
	memcpy(url->host, place.host, sizeof url->host);
	url->port = place.port;
	rest += length;
	return parse_rest(url, rest, unknown, problem);
}

/* hosts/service[/db] */
static bool
parse_sentinel(struct url *url, const char *rest, enum url_unknown_keys unknown,
    struct problem *problem)
{
	struct span text;
	size_t length = strcspn(rest, "/?");
	if (!parse_authority(url, rest, length, &text, problem) ||
	    !url_parse_places(url, text, 26379, problem))
		return false;
	rest += length;
	length = *rest == '/' ? strcspn(++rest, "/?") : 0;
	if (length == 0) {
		problem_set(problem,
		    "no service in the server URL: what the sentinels call the master, as in " URL_SENTINEL_EXAMPLE);
		return false;
	}
	if (!url_decode(url->service, sizeof url->service, (struct span){rest, length}, "service",
		problem))
		return false;
	rest += length;
	return parse_rest(url, rest, unknown, problem);
}

/* hosts, and no db: a cluster has but one. */
static bool
parse_cluster(struct url *url, const char *rest, enum url_unknown_keys unknown,
    struct problem *problem)
{
	struct span text;
	size_t length = strcspn(rest, "/?");
	if (!parse_authority(url, rest, length, &text, problem) ||
	    !url_parse_places(url, text, 6379, problem))
		return false;
	rest += length;
	if (!parse_rest(url, rest, unknown, problem))
		return false;
	if (url->db != 0) {
		problem_set(problem, "a cluster has no db but 0: leave it out of the server URL");
		return false;
	}
	return true;
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
    {"pg", "PostgreSQL is named by postgresql://"},
    {"pgsql", "PostgreSQL is named by postgresql://"},
    {"postgresql+psycopg2", "PostgreSQL is named by postgresql://"},
    {"redis-sentinel", "sentinels are named by redis+sentinel://"},
    {"sentinel", "sentinels are named by redis+sentinel://"},
    {"redis-cluster", "a cluster is named by redis+cluster://"},
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

static const struct {
	const char *start;
	enum url_scheme scheme;
	bool tls;
	bool (*parse)(struct url *url, const char *rest, enum url_unknown_keys unknown,
	    struct problem *problem);
} schemes[] = {
    {"redis://", URL_REDIS, false, parse_redis},
    {"rediss://", URL_REDIS, true, parse_redis},
    {"unix://", URL_UNIX, false, parse_unix},
    {"redis+sentinel://", URL_SENTINEL, false, parse_sentinel},
    {"rediss+sentinel://", URL_SENTINEL, true, parse_sentinel},
    {"redis+cluster://", URL_CLUSTER, false, parse_cluster},
    {"rediss+cluster://", URL_CLUSTER, true, parse_cluster},
    {"postgresql://", URL_POSTGRES, false, url_parse_postgres},
    {"postgres://", URL_POSTGRES, false, url_parse_postgres},
};

bool
url_parse(struct url *url, const char *text, enum url_unknown_keys unknown, struct problem *problem)
{
	const char *blank = strpbrk(text, " \t\r\n\v\f");
	memset(url, 0, offsetof(struct url, places));
	if (blank != NULL) {
		const char *scheme = strstr(text, "://");
		if (scheme != NULL && scheme < blank && strstr(blank, "://") != NULL)
			problem_set(problem, "%s", URL_SEVERAL_SERVERS);
		else
			problem_set(problem,
			    "a blank in the server URL: write %%20 for it (of several servers each is a whole URL)");
		return false;
	}
	for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
		size_t length = strlen(schemes[i].start);
		if (strncmp(text, schemes[i].start, length) == 0) {
			url->scheme = schemes[i].scheme;
			url->tls.on = schemes[i].tls;
			return schemes[i].parse(url, text + length, unknown, problem);
		}
	}
	refuse_scheme(text, problem);
	return false;
}
