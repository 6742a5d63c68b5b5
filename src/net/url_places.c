/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* The hosts in a server URL. */
#include <stdio.h>
#include <string.h>

#include "net/url_parts.h"

#define HOST_BYTES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:%"

/* What no name or address can have would be looked up for nothing. Bytes of UTF-8 may be: the
 * resolver knows. */
static bool
check_host(const char *host, struct problem *problem)
{
	for (; *host != '\0'; host++) {
		if ((unsigned char)*host < 0x80 && strchr(HOST_BYTES, *host) == NULL) {
			problem_set(problem,
			    "bad host in the server URL: a name or an address, as in " URL_EXAMPLE);
			return false;
		}
	}
	return true;
}

bool
url_parse_place(struct span text, int default_port, struct url_place *place,
    struct problem *problem)
{
	struct span host = text;
	const char *end = text.start + text.length;
	const char *after;

	if (memchr(text.start, ',', text.length) != NULL) {
		problem_set(problem,
		    "more than one host in the server URL: write redis+sentinel:// for sentinels, redis+cluster:// for a cluster, and a whole URL for each of several servers");
		return false;
	}
	if (text.length > 0 && text.start[0] == '[') {
		const char *close = memchr(text.start, ']', text.length);
		if (close == NULL) {
			problem_set(problem,
			    "no closing ] after the IPv6 address in the server URL");
			return false;
		}
		host = (struct span){text.start + 1, (size_t)(close - text.start - 1)};
		after = close + 1;
	} else {
		const char *colon = memchr(text.start, ':', text.length);
		after = colon ? colon : end;
		host.length = (size_t)(after - text.start);
		if (colon != NULL && memchr(colon + 1, ':', (size_t)(end - colon - 1)) != NULL) {
			problem_set(problem,
			    "an IPv6 address in the server URL stands in "
			    "brackets: redis://[::1]:6379");
			return false;
		}
	}
	if (host.length == 0) {
		problem_set(problem, "no host in the server URL, as in " URL_EXAMPLE);
		return false;
	}
	if (after < end && *after != ':') {
		problem_set(problem, "only :port may follow the ] in the server URL");
		return false;
	}
	if (!url_decode(place->host, sizeof place->host, host, "host", problem) ||
	    !check_host(place->host, problem))
		return false;
	place->port = default_port;
	if (after == end)
		return true;
	return url_parse_number((struct span){after + 1, (size_t)(end - after - 1)}, 1, 65535,
	    "port", &place->port, problem);
}

bool
url_parse_places(struct url *url, struct span text, int default_port, struct problem *problem)
{
	url->place_count = 0;
	for (;;) {
		const char *comma = memchr(text.start, ',', text.length);
		struct span one = {text.start, comma ? (size_t)(comma - text.start) : text.length};
		if (url->place_count == URL_MAX_PLACES) {
			problem_set(problem, "more than %d hosts in the server URL",
			    URL_MAX_PLACES);
			return false;
		}
		if (!url_parse_place(one, default_port, &url->places[url->place_count], problem))
			return false;
		url->place_count++;
		if (comma == NULL)
			return true;
		text.length -= one.length + 1;
		text.start = comma + 1;
	}
}
