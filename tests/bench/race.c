/*
 * Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT
 *
 * race ROUNDS FILE: how long commands take from just before they are started until they have been
 * waited for. FILE and what is printed are as in contenders.h; the words are the program, which has
 * a path, and its arguments. The processor time is that of the command and of all that it waited
 * for. The commands get no input, and what they print on stdout is dropped. One that fails, or
 * takes ten seconds, ends it all with status 1; TERM and INT do so with 143 once the command under
 * way has ended.
 */
#include "contenders.h"

#include <sys/wait.h>

#define PATIENCE_S 10

/* Waits for the one child; returns its wait status and what it used. */
static int
wait_for(pid_t pid, const char *name, struct rusage *used)
{
	const struct timespec patience = {.tv_sec = PATIENCE_S};
	int interrupted = 0, status;
	while (wait4(pid, &status, WNOHANG, used) == 0) {
		int number = sigtimedwait(&awaited, NULL, &patience);
		if (number < 0 && errno == EAGAIN) {
			kill(pid, SIGKILL);
			waitpid(pid, NULL, 0);
			give_up(name, "did not end within ten seconds");
		}
		interrupted = interrupted || number == SIGTERM || number == SIGINT;
	}
	if (interrupted)
		exit(STATUS_INTERRUPTED);
	return status;
}

static void
run(struct contender *contender, int counts)
{
	struct rusage used;
	int64_t started = now_ns();
	pid_t pid = contender_spawn(contender->argv);
	int status = wait_for(pid, contender->name, &used);
	int64_t taken = now_ns() - started;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		give_up(contender->name, "its command failed");
	if (counts)
		contender_count_run(contender, taken, ns_used(&used));
}

int
main(int argc, char **argv)
{
	long rounds = argc == 3 ? rounds_from(argv[1]) : 0;
	if (rounds == 0) {
		fprintf(stderr, "usage: race ROUNDS FILE\n");
		return 64;
	}
	contenders_read(argv[2], 1, rounds);
	contenders_prepare();
	contenders_run(rounds, run);
	return contenders_report();
}
