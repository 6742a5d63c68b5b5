/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "base/json.h"

#include <string.h>

#include "base/message.h"

static const char hex[] = "0123456789abcdef";

static void
add(struct json *json, const char *bytes, size_t length)
{
	if (json->full || length > json->size - json->used) {
		json->full = true;
		return;
	}
	memcpy(json->out + json->used, bytes, length);
	json->used += length;
}

static void
add_word(struct json *json, const char *word)
{
	add(json, word, strlen(word));
}

/* C0, DEL and the C1 controls, as one UTF-16 unit. */
static void
add_control(struct json *json, unsigned char code)
{
	const char escape[] = {'\\', 'u', '0', '0', hex[code >> 4], hex[code & 15]};
	add(json, escape, sizeof escape);
}

static void
add_string(struct json *json, const char *text)
{
	add_word(json, "\"");
	while (*text != '\0' && !json->full) {
		const unsigned char *bytes = (const unsigned char *)text;
		size_t length = message_character(text);
		if (*text == '"' || *text == '\\') {
			const char escape[] = {'\\', *text};
			add(json, escape, sizeof escape);
			text++;
		} else if (length > 0) {
			add(json, text, length);
			text += length;
		} else if (bytes[0] < 0x80) {
			add_control(json, bytes[0]);
			text++;
		} else if (bytes[0] == 0xc2 && bytes[1] >= 0x80 && bytes[1] < 0xa0) {
			add_control(json, bytes[1]);
			text += 2;
		} else {
			const char escape[] = {'\\', '\\', 'x', hex[bytes[0] >> 4],
			    hex[bytes[0] & 15]};
			add(json, escape, sizeof escape);
			text++;
		}
	}
	add_word(json, "\"");
}

static void
add_key(struct json *json, const char *key)
{
	char before = json->used > 0 ? json->out[json->used - 1] : '{';
	if (before != '{' && before != '[')
		add_word(json, ",");
	if (key == NULL)
		return;
	add_string(json, key);
	add_word(json, ":");
}

void
json_begin(struct json *json, char *out, size_t size)
{
	*json = (struct json){.out = out, .size = size};
	add_word(json, "{");
}

void
json_text(struct json *json, const char *key, const char *value)
{
	if (value == NULL) {
		json_null(json, key);
		return;
	}
	add_key(json, key);
	add_string(json, value);
}

void
json_number(struct json *json, const char *key, int64_t value)
{
	char digits[20];
	size_t at = sizeof digits;
	uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
	do {
		digits[--at] = (char)('0' + rest % 10);
		rest /= 10;
	} while (rest > 0);
	add_key(json, key);
	if (value < 0)
		add_word(json, "-");
	add(json, digits + at, sizeof digits - at);
}

void
json_bool(struct json *json, const char *key, bool value)
{
	add_key(json, key);
	add_word(json, value ? "true" : "false");
}

void
json_null(struct json *json, const char *key)
{
	add_key(json, key);
	add_word(json, "null");
}

void
json_open(struct json *json, const char *key, char bracket)
{
	add_key(json, key);
	add(json, &bracket, 1);
}

void
json_close(struct json *json, char bracket)
{
	add(json, &bracket, 1);
}

size_t
json_end(struct json *json)
{
	add_word(json, "}\n");
	return json->full ? 0 : json->used;
}
