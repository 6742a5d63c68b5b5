/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Where a lock lives: the server URLs of SPEC section 6, taken apart. Pure.
 *
 *   redis://[user[:password]@]host[:port][/db]      rediss:// the same in TLS
 *   unix:///path/to.sock[?db=N]
 *   redis+sentinel://[user[:password]@]host[:port],host[:port].../service[/db] rediss+sentinel://
 *   redis+cluster://[user[:password]@]host[:port],host[:port]...                  rediss+cluster://
 *   postgresql://[user[:password]@][host[:port],...][/database][?key=value&...]   postgres://
 *
 * User, password and path may be percent-encoded (RFC 3986, section 2.1), IPv6 literals stand in
 * brackets. */
#ifndef DLOCK_NET_URL_H
#define DLOCK_NET_URL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/problem.h"
#include "net/tls.h"

enum url_scheme {
	URL_REDIS,
	URL_UNIX,
	URL_SENTINEL, /* the places are those of sentinels */
	URL_CLUSTER,  /* those of some of its nodes */
	URL_POSTGRES, /* libpq's */
};

/* What libpq is given, NUL included. */
#define URL_LIBPQ_SIZE 2048

/* So many may be named in one URL. */
#define URL_MAX_PLACES 16

struct url_place {
	char host[256]; /* name or literal address without brackets */
	int port;
};

struct url {
	enum url_scheme scheme;
	char user[256];
	char password[512];
	bool has_password; /* an empty one is still a password */
	char host[256];    /* as in struct url_place; URL_REDIS */
	int port;
	char path[108];    /* of the socket: what sockaddr_un holds */
	char service[256]; /* URL_SENTINEL: what the sentinels call the master */
	int db;
	int64_t connect_timeout_ns; /* from ?connect-timeout=; 0: not given */
	struct tls_settings tls;    /* rediss://, and from the query: ?cacert= and so on */
	char ignored[128];          /* names of the query's keys that were ignored, for people */
	/* URL_SENTINEL: how to log in to the sentinels, whose users are not the server's. From
	 * ?sentinel-user=, ?sentinel-password= or ?sentinel-password-file=. */
	char sentinel_user[256];
	char sentinel_password[512];
	bool has_sentinel_password;
	char sentinel_password_file[TLS_PATH_SIZE];
	/* URL_POSTGRES: ?dlock_key=, the lock's number, in place of one made of its name; and what
	 * is added to fencing numbers. */
	bool has_lock_number;
	int64_t lock_number;
	int64_t fence_base;
	size_t place_count;
	/* Last: url_parse clears none of it. */
	struct url_place places[URL_MAX_PLACES];
	char
	    libpq[URL_LIBPQ_SIZE]; /* URL_POSTGRES: the URL without passwords and keys of dlock's */
};

/* How strictly a query string is read: REDIS_URL is shared with other programs and may carry
 * their keys, -S is ours. */
enum url_unknown_keys {
	URL_REFUSE_UNKNOWN_KEYS,
	URL_IGNORE_UNKNOWN_KEYS,
};

#define URL_SEVERAL_SERVERS                                                                        \
	"several servers in one URL: give each an -S of its own, or a blank between whole URLs"

/* False and a sentence, in which no password is quoted. */
bool
url_parse(struct url *url, const char *text, enum url_unknown_keys unknown,
    struct problem *problem);

/* The URL for people, its password as ***: otherwise what url_parse reads is the same again. */
void
url_print(const struct url *url, char *out, size_t size);

/* Where the password stands in the text of a URL: its first byte, and its length in *length;
 * NULL if there is none. For scrubbing argv. */
char *
url_find_password(char *text, size_t *length);

/* Overwrites the secrets in the query of a PostgreSQL URL; others are left as they are. */
void
url_scrub_postgres(char *text);

/* As url_find_password for that of the sentinels, in the query. */
char *
url_find_sentinel_password(char *text, size_t *length);

/* host:port for people, the host of an IPv6 address in brackets; at most URL_PLACE_TEXT bytes. */
#define URL_PLACE_TEXT (3 * 256 + 16)
void
url_print_place(const struct url_place *place, char *out, size_t size);

#endif
