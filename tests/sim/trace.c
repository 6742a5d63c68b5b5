/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "trace.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lua_scripts.h"
#include "world.h"

#define LONGEST_LINE 600
#define LONGEST_WORD 48

static bool is_on;

void
trace_turn(bool on)
{
	is_on = on;
}

bool
trace_is_on(void)
{
	return is_on;
}

void
trace_line(const char *who, const char *format, ...)
{
	va_list arguments;
	if (!is_on)
		return;
	printf("%14.6fs  %-12s ", (double)(world.now - WORLD_BEGIN) / 1e9, who);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	putchar('\n');
}

/* -- what is said on a connection -------------------------------------------------------------- */

static const char *
name_of_script(const char *word, size_t length)
{
	static const struct {
		const char *name, *text, *hash;
	} scripts[] = {
	    {"acquire.lua", lua_acquire, lua_acquire_sha1},
	    {"confirm.lua", lua_confirm, lua_confirm_sha1},
	    {"release.lua", lua_release, lua_release_sha1},
	    {"renew.lua", lua_renew, lua_renew_sha1},
	    {"renew_member.lua", lua_renew_member, lua_renew_member_sha1},
	    {"node_take.lua", lua_node_take, lua_node_take_sha1},
	    {"node_accept.lua", lua_node_accept, lua_node_accept_sha1},
	    {"node_release.lua", lua_node_release, lua_node_release_sha1},
	    {"break.lua", lua_break, lua_break_sha1},
	};
	for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
		if (length == strlen(scripts[i].text) && memcmp(word, scripts[i].text, length) == 0)
			return scripts[i].name;
		if (length == 40 && memcmp(word, scripts[i].hash, length) == 0)
			return scripts[i].name;
	}
	return length > 200 ? "(a script)" : NULL;
}

struct line {
	char text[LONGEST_LINE];
	size_t used;
};

static void
put(struct line *line, char byte)
{
	if (line->used + 1 < sizeof line->text)
		line->text[line->used++] = byte;
	line->text[line->used] = '\0';
}

static void
put_word(struct line *line, const char *word, size_t length)
{
	const char *name = name_of_script(word, length);
	if (name != NULL) {
		word = name;
		length = strlen(name);
	}
	for (size_t i = 0; i < length && i < LONGEST_WORD; i++)
		put(line, isprint((unsigned char)word[i]) ? word[i] : '.');
	if (length > LONGEST_WORD)
		put(line, '~');
	put(line, ' ');
}

/* Lengths and ends of lines are not shown; the words are. */
void
trace_bytes(const char *who, const char *direction, const char *bytes, size_t length)
{
	struct line line = {.used = 0};
	size_t at = 0;
	if (!is_on)
		return;
	while (at < length) {
		const char *end = memchr(bytes + at, '\n', length - at);
		size_t next = end == NULL ? length : (size_t)(end - bytes) + 1;
		size_t word = next - at > 2 ? next - at - 2 : 0;
		long size = bytes[at] == '$' ? strtol(bytes + at + 1, NULL, 10) : -1;
		if (size >= 0 && next + (size_t)size + 2 <= length) {
			put_word(&line, bytes + next, (size_t)size);
			next += (size_t)size + 2;
		} else if (bytes[at] == '$') {
			put_word(&line, "nil", 3);
		} else if (bytes[at] == '*') {
			put(&line, '|');
			put(&line, ' ');
		} else {
			put_word(&line, bytes + at, word);
		}
		at = next;
	}
	trace_line(who, "%s %s", direction, line.text);
}
