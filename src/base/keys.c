/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "base/keys.h"

#include <stdio.h>
#include <string.h>

/* All siblings that this and coming versions use: a lock must not be called like one of them. */
static const char *const sibling_names[] = {"fence", "rfence", "info", "queue", "members"};

/* Redis hashes only what stands between the first { and the first } after it, if that is not
 * empty (redis.io, cluster specification, "Hash tags"). */
static bool
has_hash_tag(const char *key, size_t length)
{
	const char *open = memchr(key, '{', length);
	if (open == NULL)
		return false;
	const char *close = memchr(open, '}', length - (size_t)(open - key));
	return close != NULL && close > open + 1;
}

static bool
has_brace(const char *key, size_t length)
{
	return memchr(key, '{', length) != NULL || memchr(key, '}', length) != NULL;
}

static void
make_sibling(char *out, size_t size, const char *key, const char *name)
{
	if (has_hash_tag(key, strlen(key)))
		snprintf(out, size, "%s#%s", key, name);
	else
		snprintf(out, size, "%s#%s{%s}", key, name, key);
}

/* Is `key` what make_sibling would give for some other key? */
static bool
is_sibling(const char *key)
{
	for (const char *hash = strchr(key, '#'); hash != NULL; hash = strchr(hash + 1, '#')) {
		size_t base_length = (size_t)(hash - key);
		for (size_t i = 0; i < sizeof sibling_names / sizeof *sibling_names; i++) {
			size_t name_length = strlen(sibling_names[i]);
			const char *rest = hash + 1 + name_length;
			if (strncmp(hash + 1, sibling_names[i], name_length) != 0)
				continue;
			if (*rest == '\0' && has_hash_tag(key, base_length))
				return true;
			if (*rest == '{' && !has_brace(key, base_length) && base_length > 0 &&
			    strlen(rest) == base_length + 2 && rest[base_length + 1] == '}' &&
			    strncmp(rest + 1, key, base_length) == 0)
				return true;
		}
	}
	return false;
}

bool
keys_make(struct keys *keys, const char *prefix, const char *name, struct problem *problem)
{
	size_t name_length = strlen(name);
	if (name_length < 1 || name_length > NAME_MAX_BYTES) {
		problem_set(problem, "NAME must have 1 to %d bytes, not %zu", NAME_MAX_BYTES,
		    name_length);
		return false;
	}
	if (strlen(prefix) > PREFIX_MAX_BYTES) {
		problem_set(problem, "the prefix must have at most %d bytes, not %zu",
		    PREFIX_MAX_BYTES, strlen(prefix));
		return false;
	}
	snprintf(keys->lock, sizeof keys->lock, "%s%s", prefix, name);
	size_t length = strlen(keys->lock);
	if (has_brace(keys->lock, length) && !has_hash_tag(keys->lock, length)) {
		problem_set(problem,
		    "the braces in key '%.200s' are no hash tag: use none, or {...} with something "
		    "in it",
		    keys->lock);
		return false;
	}
	if (is_sibling(keys->lock)) {
		problem_set(problem,
		    "key '%.200s' is where dlock keeps the data of another lock: choose another "
		    "NAME",
		    keys->lock);
		return false;
	}
	make_sibling(keys->fence, sizeof keys->fence, keys->lock, "fence");
	make_sibling(keys->rfence, sizeof keys->rfence, keys->lock, "rfence");
	make_sibling(keys->info, sizeof keys->info, keys->lock, "info");
	make_sibling(keys->queue, sizeof keys->queue, keys->lock, "queue");
	make_sibling(keys->members, sizeof keys->members, keys->lock, "members");
	return true;
}
