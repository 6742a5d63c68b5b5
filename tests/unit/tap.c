/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "tap.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char name[256];
static char note[256];
static int number;
static int checks;   /* of this case */
static int failures; /* of this case */
static int failed_cases;

/* In a name a # would begin a directive, and a newline would end the line. */
static void
make_printable(char *text, bool is_name)
{
	for (; *text != '\0'; text++) {
		if ((unsigned char)*text < 0x20 || (unsigned char)*text > 0x7e ||
		    (is_name && *text == '#'))
			*text = '?';
	}
}

static void
say_failed(void)
{
	if (failures++ > 0)
		return;
	failed_cases++;
	printf("not ok %d - %s\n", number, name);
}

static void
end_case(void)
{
	if (number == 0)
		return;
	if (checks == 0) {
		say_failed();
		printf("#   nothing was checked\n");
	}
	if (failures == 0)
		printf("ok %d - %s\n", number, name);
	fflush(stdout);
}

void
tap_case(const char *format, ...)
{
	va_list arguments;
	end_case();
	number++;
	checks = failures = 0;
	note[0] = '\0';
	va_start(arguments, format);
	vsnprintf(name, sizeof name, format, arguments);
	va_end(arguments);
	make_printable(name, true);
}

void
tap_note(const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(note, sizeof note, format, arguments);
	va_end(arguments);
	make_printable(note, false);
}

int
tap_end(void)
{
	end_case();
	printf("1..%d\n", number);
	fflush(stdout);
	return failed_cases > 0 || number == 0 ? 1 : 0;
}

bool
tap_failed(void)
{
	return failures > 0;
}

bool
tap_survives(void (*act)(const void *context), const void *context)
{
	int status = -1;
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		alarm(60);
		act(context);
		_exit(0);
	}
	if (child > 0)
		waitpid(child, &status, 0);
	return tap_check(status == 0, "the child process", 0, "it ended well");
}

bool
tap_check(bool holds, const char *file, int line, const char *text)
{
	checks++;
	if (holds)
		return true;
	say_failed();
	printf("#   %s:%d: %s\n", file, line, text);
	if (note[0] != '\0')
		printf("#     at: %s\n", note);
	return false;
}

bool
tap_check_int(int64_t found, int64_t wanted, const char *file, int line, const char *text)
{
	if (tap_check(found == wanted, file, line, text))
		return true;
	printf("#     found %" PRId64 ", wanted %" PRId64 "\n", found, wanted);
	return false;
}

static void
print_text(const char *what, const char *text)
{
	char shown[512];
	snprintf(shown, sizeof shown, "%s", text);
	make_printable(shown, false);
	printf("#     %s '%s'\n", what, shown);
}

bool
tap_check_text(const char *found, const char *wanted, const char *file, int line, const char *text)
{
	if (tap_check(strcmp(found, wanted) == 0, file, line, text))
		return true;
	print_text("found", found);
	print_text("wanted", wanted);
	return false;
}

bool
tap_check_has(const char *found, const char *part, bool wanted, const char *file, int line,
    const char *text)
{
	if (tap_check((strstr(found, part) != NULL) == wanted, file, line, text))
		return true;
	print_text("found", found);
	print_text(wanted ? "wanted in it" : "not wanted in it", part);
	return false;
}

uint64_t
tap_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

int64_t
tap_random_below(uint64_t *state, int64_t below)
{
	return below > 0 ? (int64_t)(tap_random(state) % (uint64_t)below) : 0;
}
