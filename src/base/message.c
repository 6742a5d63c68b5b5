/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "base/message.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATIENCE_MS 100

static bool level_quiet;
static int level_verbosity;
static bool never_block;
/* A description of stderr of our own, which may be non-blocking without COMMAND's being it: -1
 * there is none, -2 not looked for yet. */
static int own_stderr = -2;

void
message_set_level(bool quiet, int verbosity)
{
	level_quiet = quiet;
	level_verbosity = verbosity;
}

void
message_never_block(void)
{
	never_block = true;
}

/* Length of the valid UTF-8 character at `text`, 0 if it is none. C1 controls (U+0080 to U+009F)
 * count as none: some terminals obey them. Overlong forms and surrogates too (RFC 3629). */
static size_t
utf8_length(const unsigned char *text)
{
	static const struct {
		unsigned char first_low, first_high, second_low, second_high, length;
	} forms[] = {
	    {0xc2, 0xc2, 0xa0, 0xbf, 2},
	    {0xc3, 0xdf, 0x80, 0xbf, 2},
	    {0xe0, 0xe0, 0xa0, 0xbf, 3},
	    {0xe1, 0xec, 0x80, 0xbf, 3},
	    {0xed, 0xed, 0x80, 0x9f, 3},
	    {0xee, 0xef, 0x80, 0xbf, 3},
	    {0xf0, 0xf0, 0x90, 0xbf, 4},
	    {0xf1, 0xf3, 0x80, 0xbf, 4},
	    {0xf4, 0xf4, 0x80, 0x8f, 4},
	};
	if (text[0] >= 0x20 && text[0] < 0x7f)
		return 1;
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		if (text[0] < forms[i].first_low || text[0] > forms[i].first_high)
			continue;
		if (text[1] < forms[i].second_low || text[1] > forms[i].second_high)
			return 0;
		for (size_t k = 2; k < forms[i].length; k++) {
			if ((text[k] & 0xc0) != 0x80)
				return 0;
		}
		return forms[i].length;
	}
	return 0;
}

/* Characters that reorder the text around them, or break the line: U+061C, U+200E and U+200F,
 * U+2028 to U+202E, U+2066 to U+2069. With them one holder's label could make a message say what
 * dlock did not. */
static bool
drives_layout(const unsigned char *text, size_t length)
{
	if (length == 2)
		return text[0] == 0xd8 && text[1] == 0x9c;
	if (length != 3 || text[0] != 0xe2)
		return false;
	if (text[1] == 0x80)
		return text[2] == 0x8e || text[2] == 0x8f || (text[2] >= 0xa8 && text[2] <= 0xae);
	return text[1] == 0x81 && text[2] >= 0xa6 && text[2] <= 0xa9;
}

size_t
message_character(const char *text)
{
	return utf8_length((const unsigned char *)text);
}

size_t
message_escape(char *out, size_t size, const char *text)
{
	static const char hex[] = "0123456789abcdef";
	size_t used = 0;

	while (*text != '\0') {
		const unsigned char *bytes = (const unsigned char *)text;
		size_t length = utf8_length(bytes);
		if (drives_layout(bytes, length))
			length = 0; /* what follows its first byte is no character either */
		size_t room = length > 0 ? length : 4;
		if (used + room >= size)
			break;
		if (length > 0) {
			memcpy(out + used, text, length);
			text += length;
		} else {
			out[used] = '\\';
			out[used + 1] = 'x';
			out[used + 2] = hex[bytes[0] >> 4];
			out[used + 3] = hex[bytes[0] & 15];
			text++;
		}
		used += room;
	}
	out[used] = '\0';
	return used;
}

/* That poll says there is room does not mean that a write will not block: COMMAND writes to the
 * same pipe. A pipe or a terminal can be opened anew; a file would get an offset of its own. */
static void
open_own_stderr(void)
{
	struct stat status;
	own_stderr = -1;
	if (fstat(STDERR_FILENO, &status) == 0 &&
	    (S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode)))
		own_stderr = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

static void
write_all(int fd, const char *line, size_t length)
{
	while (length > 0) {
		ssize_t written = write(fd, line, length);
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			break;
		line += written;
		length -= (size_t)written;
	}
}

/* A background process that writes to a terminal with `stty tostop` would be stopped by TTOU, and
 * a stopped keeper loses its lock. */
static void
write_line(const char *line, size_t length)
{
	struct pollfd room = {.fd = STDERR_FILENO, .events = POLLOUT};
	sigset_t ttou, before;

	if (never_block && own_stderr == -2)
		open_own_stderr();
	if (poll(&room, 1, never_block ? 0 : PATIENCE_MS) != 1 || !(room.revents & POLLOUT))
		return;
	sigemptyset(&ttou);
	sigaddset(&ttou, SIGTTOU);
	sigprocmask(SIG_BLOCK, &ttou, &before);
	write_all(own_stderr >= 0 ? own_stderr : STDERR_FILENO, line, length);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

static void __attribute__((format(printf, 1, 0))) say(const char *format, va_list arguments)
{
	static const char head[] = "dlock: ";
	char text[MESSAGE_MAX];
	char line[MESSAGE_MAX + sizeof head];

	memcpy(line, head, sizeof head);
	vsnprintf(text, sizeof text, format, arguments);
	size_t length = sizeof head - 1;
	length += message_escape(line + length, sizeof line - length - 1, text);
	line[length++] = '\n';
	write_line(line, length);
}

#define SAY_IF(condition)                                                                          \
	if (condition) {                                                                           \
		va_list arguments;                                                                 \
		va_start(arguments, format);                                                       \
		say(format, arguments);                                                            \
		va_end(arguments);                                                                 \
	}

void
message_error(const char *format, ...)
{
	SAY_IF(true)
}

void
message_notice(const char *format, ...)
{
	SAY_IF(!level_quiet)
}

void
message_verbose(const char *format, ...)
{
	SAY_IF(level_verbosity >= 1)
}

void
message_debug(const char *format, ...)
{
	SAY_IF(level_verbosity >= 2)
}
