/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "store/cluster_redirect.h"

#include <stdio.h>
#include <string.h>

#include "base/values.h"
#include "store/cluster_slot.h"

#define HOST_BYTES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:%"

/* A whole number in those bytes. */
static bool
read_number(const char *digits, size_t length, int64_t least, int64_t most, int64_t *number)
{
	char text[8];
	struct problem ignored;
	if (length == 0 || length >= sizeof text)
		return false;
	snprintf(text, sizeof text, "%.*s", (int)length, digits);
	return value_parse_count(text, least, most, number, &ignored);
}

bool
cluster_place_read(const char *text, size_t length, struct url_place *place)
{
	/* The last colon: those of an IPv6 address, which stands there without brackets, are before
	 * it. */
	const char *colon = memrchr(text, ':', length);
	if (colon == NULL)
		return false;
	size_t host = (size_t)(colon - text);
	int64_t port;
	if (host >= sizeof place->host ||
	    !read_number(colon + 1, length - host - 1, 1, 65535, &port))
		return false;
	for (size_t i = 0; i < host; i++) {
		if (text[i] == '\0' || strchr(HOST_BYTES, text[i]) == NULL)
			return false;
	}
	memcpy(place->host, text, host);
	place->host[host] = '\0';
	place->port = (int)port;
	return true;
}

static enum redirect_kind
read_target(const char *rest, enum redirect_kind kind, int slot, struct url_place *place,
    struct problem *why)
{
	size_t digits = strcspn(rest, " ");
	const char *target = rest + digits + (rest[digits] == ' ');
	/* Redis 7 tells more behind it only of what it was asked for; there may be blanks. */
	size_t length = strcspn(target, " \r\n");
	int64_t number;
	if (!read_number(rest, digits, 0, CLUSTER_SLOTS - 1, &number)) {
		problem_set(why, "the node's redirection makes no sense");
		return REDIRECT_BROKEN;
	}
	if (number != slot) {
		problem_set(why, "the node redirects slot %d, and was asked for slot %d",
		    (int)number, slot);
		return REDIRECT_BROKEN;
	}
	if (length > 1 && target[0] == '?' && target[1] == ':') {
		problem_set(why,
		    "the owner of slot %d announces no host name (cluster-announce-hostname)",
		    slot);
		return REDIRECT_BROKEN;
	}
	if (!cluster_place_read(target, length, place)) {
		problem_set(why, "the node redirects slot %d to what is no address", slot);
		return REDIRECT_BROKEN;
	}
	return kind;
}

enum redirect_kind
cluster_redirect_read(const char *text, int slot, struct url_place *place, struct problem *why)
{
	if (strncmp(text, "MOVED ", 6) == 0)
		return read_target(text + 6, REDIRECT_MOVED, slot, place, why);
	if (strncmp(text, "ASK ", 4) == 0)
		return read_target(text + 4, REDIRECT_ASK, slot, place, why);
	if (strncmp(text, "TRYAGAIN", 8) == 0)
		return REDIRECT_LATER;
	if (strncmp(text, "CLUSTERDOWN", 11) == 0)
		return REDIRECT_DOWN;
	return REDIRECT_NONE;
}
