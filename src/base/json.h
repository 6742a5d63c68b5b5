/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Writing one JSON object (RFC 8259) into a buffer of the caller's. Pure; nothing allocates and
 * nothing of stdio is used, so that it works in a process that must not. Objects and arrays may be
 * members of it: what is written between json_open and json_close is theirs.
 *
 * Text comes as bytes that may be no UTF-8: a byte that is part of no valid character becomes the
 * four characters \xHH, as in dlock's messages. A control character is escaped as JSON has it. */
#ifndef DLOCK_BASE_JSON_H
#define DLOCK_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json {
	char *out;
	size_t size;
	size_t used;
	bool full; /* something did not fit */
};

/* Begins an object in `out`. */
void
json_begin(struct json *json, char *out, size_t size);

/* Adds a member; a value of NULL is written as null. */
void
json_text(struct json *json, const char *key, const char *value);
void
json_number(struct json *json, const char *key, int64_t value);
void
json_bool(struct json *json, const char *key, bool value);
void
json_null(struct json *json, const char *key);

/* Begins a member that is an object ('{') or an array ('['), and ends it. In an array the key of
 * whatever is added is NULL. */
void
json_open(struct json *json, const char *key, char bracket);
void
json_close(struct json *json, char bracket);

/* Ends the object, and adds a newline but no NUL. How long it is; 0: it did not fit. */
size_t
json_end(struct json *json);

#endif
