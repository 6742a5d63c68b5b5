/*
 * Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT
 *
 * sigcount FILE QUIET_MS [STATUS]: a command that counts the signals it gets.
 *
 * It appends a line to FILE for each: `ready` first, then `TERM from 1234 code 0`; when QUIET_MS
 * have passed without one after the first, `end`, and it exits with STATUS (0). It takes signals
 * with sigtimedwait, all blocked: each one that is sent while none of its kind is pending counts.
 * Without any signal it gives up after 20 s with status 99.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int out;

__attribute__((format(printf, 1, 2))) static void
say(const char *format, ...)
{
	char line[128];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(line, sizeof line, format, args);
	va_end(args);
	if (write(out, line, (size_t)len) != len) /* one write a line: a reader sees whole ones */
		_exit(71);
}

int
main(int argc, char **argv)
{
	sigset_t all;
	struct timespec patience = {20, 0};
	struct timespec quiet;
	const struct timespec *limit = &patience;
	long quiet_ms;

	if (argc < 3 || argc > 4 || (quiet_ms = atol(argv[2])) <= 0) {
		fprintf(stderr, "usage: sigcount FILE QUIET_MS [STATUS]\n");
		return 64;
	}
	quiet.tv_sec = quiet_ms / 1000;
	quiet.tv_nsec = quiet_ms % 1000 * 1000000;
	out = open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (out < 0) {
		perror(argv[1]);
		return 71;
	}
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	/* An ignored signal does not become pending when it is blocked. */
	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	say("ready\n");
	for (;;) {
		siginfo_t info;
		int number = sigtimedwait(&all, &info, limit);

		if (number > 0) {
			const char *name = sigabbrev_np(number);

			say("%s from %d code %d\n", name != NULL ? name : "?", (int)info.si_pid,
			    info.si_code);
			limit = &quiet;
		} else if (errno == EAGAIN) {
			break;
		} else if (errno != EINTR) {
			perror("sigcount: sigtimedwait");
			return 71;
		}
	}
	say("end\n");
	if (limit == &patience)
		return 99;
	return argc == 4 ? atoi(argv[3]) : 0;
}
