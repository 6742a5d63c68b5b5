/*
 * Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT
 *
 * strike SOCKET NAME SIGNAL RUNS MAX_US WORD COMMAND [ARG...]
 *
 * RUNS times: starts COMMAND (a dlock that takes the lock NAME and runs something, with WORD among
 * the arguments of both), sends it SIGNAL after 0 to MAX_US microseconds, and waits until it has
 * died of it. Then, at once, the lock's key must be gone; after KILL it may be left, but with an
 * expiry, and it is deleted here. Within 2 s no process with the argument WORD may be alive.
 *
 * Prints `N started, N not`: how many runs had drawn a fencing number when they were hit. Status 1
 * and a line on stderr at the first run that went wrong.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "ask_redis.h"

static const char *word;

static void
pause_us(long us)
{
	struct timespec time = {us / 1000000, us % 1000000 * 1000};

	while (nanosleep(&time, &time) != 0 && errno == EINTR)
		;
}

/* Is WORD one of its arguments? A zombie has none. */
static int
carries_word(const char *pid)
{
	char path[300];
	char text[4096];
	size_t len;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%s/cmdline", pid);
	file = fopen(path, "re");
	if (file == NULL)
		return 0;
	len = fread(text, 1, sizeof text - 1, file);
	fclose(file);
	text[len] = '\0';
	for (size_t at = 0; at < len; at += strlen(text + at) + 1)
		if (strcmp(text + at, word) == 0)
			return 1;
	return 0;
}

/* The pid of one that carries WORD, besides this process; 0: none. */
static int
find_survivor(void)
{
	DIR *directory = opendir("/proc");
	struct dirent *entry;
	int pid = 0;

	if (directory == NULL)
		return 0;
	while (pid == 0 && (entry = readdir(directory)) != NULL) {
		long number = strtol(entry->d_name, NULL, 10);

		if (number > 0 && number != getpid() && carries_word(entry->d_name))
			pid = (int)number;
	}
	closedir(directory);
	return pid;
}

static int
run_once(char **command, int number, long delay_us)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		for (int i = 1; i < NSIG; i++)
			signal(i, SIG_DFL);
		/* dlock takes longer over a signal from its own group. */
		setsid();
		execv(command[0], command);
		_exit(127);
	}
	pause_us(delay_us);
	kill(child, number);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

int
main(int argc, char **argv)
{
	char key[600], fence[1200], before[64] = "", now[64];
	int number, runs, socket_fd, started = 0;
	long max_us;

	if (argc < 8) {
		fprintf(stderr, "usage: strike SOCKET NAME SIGNAL RUNS MAX_US WORD COMMAND...\n");
		return 64;
	}
	number = atoi(argv[3]);
	runs = atoi(argv[4]);
	max_us = atol(argv[5]);
	word = argv[6];
	socket_fd = redis_connect(argv[1]);
	if (socket_fd < 0) {
		fprintf(stderr, "strike: no server at %s\n", argv[1]);
		return 71;
	}
	snprintf(key, sizeof key, "lock:%s", argv[2]);
	snprintf(fence, sizeof fence, "lock:%s#fence{lock:%s}", argv[2], argv[2]);
	srandom((unsigned int)(time(NULL) ^ getpid()));
	for (int run = 1; run <= runs; run++) {
		long delay_us = random() % (max_us + 1);
		int status = run_once(argv + 7, number, delay_us);
		long pttl = redis_number(socket_fd, "PTTL", key);
		int survivor = 0;

		if (!WIFSIGNALED(status) || WTERMSIG(status) != number) {
			fprintf(stderr, "run %d, %ld us: wait status %#x\n", run, delay_us,
			    (unsigned int)status);
			return 1;
		}
		if (pttl == -1 || (pttl != -2 && number != SIGKILL)) {
			fprintf(stderr, "run %d, %ld us: the key is left, PTTL %ld\n", run,
			    delay_us, pttl);
			return 1;
		}
		for (int i = 0; i < 2000 && (survivor = find_survivor()) != 0; i++)
			pause_us(1000);
		if (survivor != 0) {
			fprintf(stderr, "run %d, %ld us: process %d survives\n", run, delay_us,
			    survivor);
			return 1;
		}
		redis_ask(socket_fd, "GET", fence, now, sizeof now);
		started += strcmp(now, before) != 0;
		strcpy(before, now);
		redis_number(socket_fd, "DEL", key);
	}
	printf("%d started, %d not\n", started, runs - started);
	return 0;
}
