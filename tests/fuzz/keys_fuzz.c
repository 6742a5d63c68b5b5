/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* base/keys: any NAME and prefix, a newline between them. */
#include "base/keys.h"

#include "fuzz.h"

/* What Redis hashes of a key (cluster specification, "Hash tags"). */
static void
hashed_part(const char *key, const char **start, size_t *length)
{
	const char *open = strchr(key, '{');
	const char *close = open != NULL ? strchr(open, '}') : NULL;
	bool tag = close != NULL && close - open > 1;
	*start = tag ? open + 1 : key;
	*length = tag ? (size_t)(close - open - 1) : strlen(key);
}

static void
check_sibling(const struct keys *keys, const char *sibling)
{
	const char *key_part, *sibling_part;
	size_t key_length, sibling_length;
	struct keys other;
	struct problem problem;
	hashed_part(keys->lock, &key_part, &key_length);
	hashed_part(sibling, &sibling_part, &sibling_length);
	FUZZ_CHECK(key_length == sibling_length && memcmp(key_part, sibling_part, key_length) == 0);
	/* What a pattern such as lock:* covers, it covers too. */
	FUZZ_CHECK(strncmp(sibling, keys->lock, strlen(keys->lock)) == 0);
	FUZZ_CHECK(sibling[strlen(keys->lock)] == '#');
	/* No lock is called so. */
	if (strlen(sibling) <= NAME_MAX_BYTES)
		FUZZ_CHECK(!keys_make(&other, "", sibling, &problem));
	else if (strlen(sibling) <= NAME_MAX_BYTES + PREFIX_MAX_BYTES) {
		char prefix[PREFIX_MAX_BYTES + 1];
		snprintf(prefix, sizeof prefix, "%s", sibling);
		FUZZ_CHECK(!keys_make(&other, prefix, sibling + strlen(prefix), &problem));
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	char *newline = strchr(text, '\n');
	const char *prefix = newline != NULL ? text : "lock:";
	const char *name = newline != NULL ? newline + 1 : text;
	struct keys keys;
	struct problem problem = {.text = ""};
	if (newline != NULL)
		*newline = '\0';

	if (keys_make(&keys, prefix, name, &problem)) {
		FUZZ_CHECK(strlen(keys.lock) == strlen(prefix) + strlen(name));
		FUZZ_CHECK(strncmp(keys.lock, prefix, strlen(prefix)) == 0);
		FUZZ_CHECK(strcmp(keys.lock + strlen(prefix), name) == 0);
		FUZZ_CHECK(strcmp(keys.fence, keys.info) != 0);
		check_sibling(&keys, keys.fence);
		check_sibling(&keys, keys.info);
	} else {
		FUZZ_CHECK(problem.text[0] != '\0');
		/* Nothing else is refused than these. */
		FUZZ_CHECK(name[0] == '\0' || strlen(name) > NAME_MAX_BYTES ||
		    strlen(prefix) > PREFIX_MAX_BYTES || strpbrk(prefix, "{}#") != NULL ||
		    strpbrk(name, "{}#") != NULL);
	}
	free(text);
	return 0;
}
