/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "store/postgres_sql.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sha256.h"
#include "base/values.h"

#define COMMENT_START "/*dlock\n"
#define COMMENT_END "*/"
#define APPLICATION_START "dlock "
#define ADVISORY "database=(SELECT oid FROM pg_database WHERE datname=current_database())"

/* -- numbers ---------------------------------------------------------------------------------- */

/* The lock's own is of K alone, so that others can work it out. */
static int64_t
hash(const char *key, const char *what)
{
	unsigned char text[KEY_SIZE + 32], digest[SHA256_SIZE];
	uint64_t number = 0;
	size_t length = strlen(key);
	memcpy(text, key, length);
	if (what[0] != '\0') {
		text[length++] = '\0'; /* which no key has */
		memcpy(text + length, what, strlen(what));
		length += strlen(what);
	}
	sha256(text, length, digest);
	for (int i = 0; i < 8; i++)
		number = number << 8 | digest[i];
	return (int64_t)number;
}

void
postgres_numbers_make(struct postgres_numbers *numbers, const struct url *url, const char *key,
    int slots)
{
	char explicit_key[48], count[32];
	if (url->has_lock_number) {
		snprintf(explicit_key, sizeof explicit_key, "dlock_key=%" PRId64, url->lock_number);
		key = explicit_key;
	}
	snprintf(count, sizeof count, "slots:%d", slots);
	numbers->lock = url->has_lock_number ? url->lock_number : hash(key, "");
	numbers->line = hash(key, "line");
	numbers->group = hash(key, "slots");
	numbers->number = hash(key, count);
	numbers->slot = hash(key, "slot") & ~(int64_t)(POSTGRES_SLOTS - 1);
	snprintf(numbers->channel, sizeof numbers->channel, "dlock_%016" PRIx64,
	    (uint64_t)numbers->lock);
}

const char *
postgres_write_condition(char out[POSTGRES_CONDITION], const char *alias, int64_t number)
{
	uint64_t bits = (uint64_t)number;
	snprintf(out, POSTGRES_CONDITION,
	    "%s.locktype='advisory' AND %s.objsubid=1 AND %s.granted AND %s.classid=%" PRIu64
	    " AND %s.objid=%" PRIu64 " AND %s." ADVISORY,
	    alias, alias, alias, alias, bits >> 32, alias, bits & UINT32_MAX, alias);
	return out;
}

bool
postgres_read_number(const char *text, int64_t *number)
{
	char *end;
	errno = 0;
	*number = strtoll(text, &end, 10);
	return end != text && *end == '\0' && errno == 0;
}

/* -- who it is -------------------------------------------------------------------------------- */

/* A byte that stands for itself everywhere: in a comment, in a quoted text, in any encoding. */
static bool
is_plain(unsigned char byte)
{
	return byte > 0x20 && byte < 0x7f && byte != '*' && byte != '%' && byte != '\'' &&
	    byte != '\\';
}

void
postgres_make_application(const struct identity *identity, char out[POSTGRES_APPLICATION])
{
	char host[28];
	size_t used = 0;
	for (const char *at = identity->host; *at != '\0' && used + 1 < sizeof host; at++)
		host[used++] = is_plain((unsigned char)*at) ? *at : '?';
	host[used] = '\0';
	snprintf(out, POSTGRES_APPLICATION, APPLICATION_START "%s:%" PRId64, host, identity->pid);
}

bool
postgres_read_application(const char *application, struct identity *identity)
{
	memset(identity, 0, sizeof *identity);
	if (strncmp(application, APPLICATION_START, strlen(APPLICATION_START)) != 0)
		return false;
	application += strlen(APPLICATION_START);
	size_t length = strcspn(application, " ");
	const char *colon = memchr(application, ':', length);
	/* The last one: an address has several. */
	for (const char *at = colon; at != NULL;
	     at = memchr(at + 1, ':', length - (size_t)(at + 1 - application)))
		colon = at;
	if (colon == NULL)
		return false;
	snprintf(identity->host, sizeof identity->host, "%.*s", (int)(colon - application),
	    application);
	identity->pid = strtoll(colon + 1, NULL, 10);
	const char *fence = strstr(application, " #");
	if (fence != NULL)
		snprintf(identity->fence, sizeof identity->fence, "%.*s",
		    (int)strspn(fence + 2, "0123456789"), fence + 2);
	return true;
}

/* One "name=value" line, in which no byte means anything. What does not fit is left out whole. */
static void
put_line(char *out, size_t *used, const char *line, size_t length)
{
	size_t at = *used;
	for (size_t i = 0; i < length && at + 8 < POSTGRES_COMMENT; i++) {
		unsigned char byte = (unsigned char)line[i];
		/* A % begins an escape of the record's own; a blank does no harm. */
		if (is_plain(byte) || byte == ' ' || byte == '%')
			out[at++] = line[i];
		else
			at += (size_t)snprintf(out + at, 4, "%%%02x", byte);
	}
	if (at + 8 >= POSTGRES_COMMENT)
		return;
	out[at++] = '\n';
	*used = at;
}

static void
put_field(char *out, size_t *used, const char *name, const char *value)
{
	char line[3 * KEY_SIZE + 64];
	size_t length = (size_t)snprintf(line, sizeof line, "%s=", name);
	if (value[0] == '\0')
		return;
	for (; *value != '\0' && length + 4 < sizeof line; value++) {
		if (is_plain((unsigned char)*value))
			line[length++] = *value;
		else
			length += (size_t)snprintf(line + length, 4, "%%%02x",
			    (unsigned int)(unsigned char)*value);
	}
	put_line(out, used, line, length);
}

/* What matters most comes first: the last ones may not fit. */
void
postgres_write_comment(char out[POSTGRES_COMMENT], const struct postgres_record *record)
{
	char since[24] = "";
	size_t used = (size_t)snprintf(out, POSTGRES_COMMENT, "%s", COMMENT_START);
	if (record->since_us > 0)
		snprintf(since, sizeof since, "%" PRId64, record->since_us);
	put_field(out, &used, "token", record->token);
	put_field(out, &used, "since", since);
	put_field(out, &used, "fence", record->fence);
	put_field(out, &used, "key", record->key);
	for (const char *line = record->record; *line != '\0';) {
		size_t length = strcspn(line, "\n");
		put_line(out, &used, line, length);
		line += length + (line[length] == '\n');
	}
	memcpy(out + used, COMMENT_END, sizeof COMMENT_END);
}

/* Undoes put_field's escapes. */
static void
read_field(const char *record, size_t length, const char *name, char *out, size_t size)
{
	size_t name_length = strlen(name), used = 0;
	const char *end = record + length;
	out[0] = '\0';
	while (record < end) {
		const char *line_end = memchr(record, '\n', (size_t)(end - record));
		if (line_end == NULL)
			return; /* cut, and it may be a part */
		if ((size_t)(line_end - record) > name_length && record[name_length] == '=' &&
		    memcmp(record, name, name_length) == 0)
			break;
		record = line_end + 1;
	}
	if (record >= end)
		return;
	for (record += name_length + 1; *record != '\n' && used + 1 < size; record++) {
		char byte = *record;
		if (byte == '%' && value_hex_digit(record[1]) >= 0 &&
		    value_hex_digit(record[2]) >= 0) {
			byte = (char)(value_hex_digit(record[1]) * 16 + value_hex_digit(record[2]));
			record += 2;
		}
		out[used++] = byte;
	}
	out[used] = '\0';
}

bool
postgres_read_comment(const char *statement, struct identity *identity, char token[TOKEN_SIZE],
    char key[KEY_SIZE])
{
	if (strncmp(statement, COMMENT_START, strlen(COMMENT_START)) != 0)
		return false;
	const char *record = statement + strlen(COMMENT_START);
	const char *end = strstr(record, COMMENT_END);
	size_t length = end != NULL ? (size_t)(end - record) : strlen(record);
	read_field(record, length, "token", token, TOKEN_SIZE);
	read_field(record, length, "key", key, KEY_SIZE);
	identity_read(identity, record, length);
	return token[0] != '\0';
}
