/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "run/held.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/values.h"

#define TOKEN_LENGTH (TOKEN_SIZE - 1)
#define ADDRESS_LENGTH (HELD_ADDRESS_SIZE - 1)

static bool
must_be_escaped(unsigned char byte)
{
	return byte <= ' ' || byte > '~' || byte == '%';
}

/* -- reading: each takes its field and the colon or the end behind it -------------------------- */

static bool
read_number(const char **at, int64_t most, int64_t *number)
{
	const char *text = *at;
	int64_t value = 0;
	if (*text < '1' || *text > '9')
		return false;
	for (; *text >= '0' && *text <= '9'; text++) {
		if (value > most / 10 || value * 10 > most - (*text - '0'))
			return false;
		value = value * 10 + (*text - '0');
	}
	if (*text != ':')
		return false;
	*number = value;
	*at = text + 1;
	return true;
}

/* `length` characters, all of the given ones. */
static bool
read_word(const char **at, const char *characters, size_t length, char *out)
{
	if (strspn(*at, characters) != length || (*at)[length] != ':')
		return false;
	memcpy(out, *at, length);
	out[length] = '\0';
	*at += length + 1;
	return true;
}

static bool
read_address(const char **at, char out[HELD_ADDRESS_SIZE])
{
	if (strncmp(*at, "-:", 2) == 0) {
		out[0] = '\0';
		*at += 2;
		return true;
	}
	return read_word(at, "0123456789abcdef", ADDRESS_LENGTH, out);
}

/* To the blank behind it, or to the end. */
static bool
read_key(const char **at, char out[KEY_SIZE])
{
	const char *text = *at;
	size_t length = 0;
	for (; *text != '\0' && *text != ' '; text++) {
		unsigned char byte = (unsigned char)*text;
		if (byte == '%') {
			int high = value_hex_digit(text[1]);
			int low = high < 0 ? -1 : value_hex_digit(text[2]);
			if (low < 0 || high + low == 0) /* no name has a NUL */
				return false;
			byte = (unsigned char)(high * 16 + low);
			text += 2;
		} else if (must_be_escaped(byte)) {
			return false;
		}
		if (length == KEY_SIZE - 1)
			return false;
		out[length++] = (char)byte;
	}
	out[length] = '\0';
	*at = text;
	return length > 0;
}

static bool
read_entry(const char **at, struct held_entry *entry)
{
	int64_t pid;
	if (!read_number(at, INT_MAX, &pid) || !read_number(at, INT64_MAX, &entry->started_cs))
		return false;
	entry->runner = (pid_t)pid;
	return read_address(at, entry->address) &&
	    read_word(at, "0123456789abcdef-", TOKEN_LENGTH, entry->token) &&
	    read_key(at, entry->key);
}

bool
held_parse(struct held *held, const char *text)
{
	held->count = 0;
	for (;;) {
		if (held->count == HELD_DEEPEST || !read_entry(&text, &held->entries[held->count]))
			break;
		held->count++;
		if (*text == '\0')
			return true;
		text++;
	}
	held->count = 0;
	return false;
}

/* -- writing ----------------------------------------------------------------------------------- */

/* Not by printf: COMMAND is not executed before this is done, and in a process that has just been
 * forked each part of the C library that it uses costs a page fault. */
static char *
write_number(int64_t number, char *at)
{
	char digits[20];
	int count = 0;
	do {
		digits[count++] = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0);
	while (count > 0)
		*at++ = digits[--count];
	*at++ = ':';
	return at;
}

static char *
write_word(const char *word, char *at)
{
	while (*word != '\0')
		*at++ = *word++;
	*at++ = ':';
	return at;
}

static char *
write_entry(const struct held_entry *entry, char *at)
{
	at = write_number(entry->runner, at);
	at = write_number(entry->started_cs, at);
	at = write_word(entry->address[0] ? entry->address : "-", at);
	at = write_word(entry->token, at);
	for (const char *key = entry->key; *key != '\0'; key++) {
		unsigned char byte = (unsigned char)*key;
		if (must_be_escaped(byte))
			at += sprintf(at, "%%%02x", byte);
		else
			*at++ = *key;
	}
	*at = '\0';
	return at;
}

bool
held_write(const struct held *held, const struct held_entry *entry, char out[HELD_SIZE])
{
	if (held->count == HELD_DEEPEST)
		return false;
	for (int i = 0; i < held->count; i++) {
		out = write_entry(&held->entries[i], out);
		*out++ = ' ';
	}
	write_entry(entry, out);
	return true;
}

/* -- finding ----------------------------------------------------------------------------------- */

const struct held_entry *
held_innermost(const struct held *held)
{
	return held->count > 0 ? &held->entries[held->count - 1] : NULL;
}

const struct held_entry *
held_find_key(const struct held *held, const char *key)
{
	for (int i = held->count - 1; i >= 0; i--) {
		if (strcmp(held->entries[i].key, key) == 0)
			return &held->entries[i];
	}
	return NULL;
}

const struct held_entry *
held_find_token(const struct held *held, const char *token)
{
	for (int i = held->count - 1; i >= 0; i--) {
		if (strcmp(held->entries[i].token, token) == 0)
			return &held->entries[i];
	}
	return NULL;
}
