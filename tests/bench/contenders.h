/*
 * Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT
 *
 * contenders: what race.c and handoff.c have in common: a FILE with a contender a line, rounds in
 * which each of them has its turn, in an order that is shuffled anew, so that a drift of the
 * machine and the caches that one leaves to the next meet all of them alike, and what came out. The
 * first round warms up and does not count. A line's fields are separated by tabs:
 *
 *     KIND  NAME  EVERY  WORD...
 *
 * One that is slow may run in every EVERYth round only. What WORDs are is the program's business.
 *
 * What is printed is a line for each contender, separated by tabs: KIND and NAME, how many runs,
 * and in microseconds the least, the median and the 99th percentile of the time, and the median of
 * the processor time. Whatever fails ends it all with status 1.
 */
#ifndef DLOCK_BENCH_CONTENDERS_H
#define DLOCK_BENCH_CONTENDERS_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define MAX_CONTENDERS 32
#define MAX_WORDS 32
#define STATUS_INTERRUPTED 143
#define HIGHEST_LEFT_OPEN 1024

struct contender {
	char *kind, *name; /* printed as they are */
	long every;
	char *argv[MAX_WORDS + 1];
	int64_t *taken_ns, *worked_ns;
	size_t runs;
};

static struct contender contenders[MAX_CONTENDERS];
static size_t contender_count;
static posix_spawnattr_t attributes;
static posix_spawn_file_actions_t file_actions;
static sigset_t awaited; /* CHLD, and what ends it all; blocked */

static inline _Noreturn void
give_up(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, why);
	exit(1);
}

static inline int64_t
now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* -- who runs ---------------------------------------------------------------------------------- */

/* Keeps pointers into `line`. */
static inline void
contender_read(struct contender *contender, char *line, size_t least_words, long rounds)
{
	size_t count = 0;
	char *word;
	contender->kind = strsep(&line, "\t");
	contender->name = line == NULL ? contender->kind : strsep(&line, "\t");
	word = strsep(&line, "\t");
	contender->every = word == NULL ? 0 : strtol(word, NULL, 10);
	while ((word = strsep(&line, "\t")) != NULL && count < MAX_WORDS)
		contender->argv[count++] = word;
	if (contender->every < 1 || count < least_words || word != NULL)
		give_up(contender->name, "wants KIND, NAME, EVERY and 1 to 32 words");
	contender->taken_ns = calloc((size_t)rounds, sizeof *contender->taken_ns);
	contender->worked_ns = calloc((size_t)rounds, sizeof *contender->worked_ns);
	if (contender->taken_ns == NULL || contender->worked_ns == NULL)
		give_up(contender->name, strerror(errno));
}

static inline void
contenders_read(const char *path, size_t least_words, long rounds)
{
	char *line = NULL;
	size_t size = 0;
	ssize_t length;
	FILE *file = fopen(path, "re");
	if (file == NULL)
		give_up(path, strerror(errno));
	while ((length = getline(&line, &size, file)) > 0) {
		if (contender_count == MAX_CONTENDERS)
			give_up(path, "too many contenders");
		if (line[length - 1] == '\n')
			line[length - 1] = '\0';
		contender_read(&contenders[contender_count++], line, least_words, rounds);
		line = NULL; /* the contender's now */
		size = 0;
	}
	free(line);
	fclose(file);
	if (contender_count == 0)
		give_up(path, "has no contender");
}

/* -- how they run ------------------------------------------------------------------------------ */

/* What is common to all starts: signals as a login shell would have them, no input, no output. */
static inline void
contenders_prepare(void)
{
	sigset_t none, by_default;
	/* What make and the shell have left open is nobody's business. */
	for (int fd = STDERR_FILENO + 1; fd < HIGHEST_LEFT_OPEN; fd++)
		close(fd);
	sigemptyset(&none);
	sigemptyset(&by_default);
	sigaddset(&by_default, SIGINT);
	sigaddset(&by_default, SIGQUIT);
	sigemptyset(&awaited);
	sigaddset(&awaited, SIGCHLD);
	sigaddset(&awaited, SIGTERM);
	sigaddset(&awaited, SIGINT);
	signal(SIGCHLD, SIG_DFL);
	sigprocmask(SIG_BLOCK, &awaited, NULL);
	if (posix_spawnattr_init(&attributes) != 0 ||
	    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF) !=
		0 ||
	    posix_spawnattr_setsigmask(&attributes, &none) != 0 ||
	    posix_spawnattr_setsigdefault(&attributes, &by_default) != 0 ||
	    posix_spawn_file_actions_init(&file_actions) != 0 ||
	    posix_spawn_file_actions_addopen(&file_actions, 0, "/dev/null", O_RDONLY, 0) != 0 ||
	    posix_spawn_file_actions_addopen(&file_actions, 1, "/dev/null", O_WRONLY, 0) != 0)
		give_up("posix_spawn", strerror(errno));
}

static inline pid_t
contender_spawn(char *const argv[])
{
	pid_t pid;
	int error = posix_spawn(&pid, argv[0], &file_actions, &attributes, argv, environ);
	if (error != 0)
		give_up(argv[0], strerror(error));
	return pid;
}

/* The same order in every run: xorshift with a fixed seed. */
static inline size_t
random_below(size_t limit)
{
	static uint64_t state = UINT64_C(88172645463325252);
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (size_t)(state % limit);
}

/* Calls run for each whose turn it is; counts is 0 in the round that warms up. */
static inline void
contenders_run(long rounds, void (*run)(struct contender *contender, int counts))
{
	size_t order[MAX_CONTENDERS];
	for (long round = 0; round <= rounds; round++) {
		for (size_t i = 0; i < contender_count; i++) {
			size_t other = random_below(i + 1);
			order[i] = order[other];
			order[other] = i;
		}
		for (size_t i = 0; i < contender_count; i++) {
			struct contender *contender = &contenders[order[i]];
			if (round % contender->every == 0)
				run(contender, round > 0);
		}
	}
}

/* -- what came out ----------------------------------------------------------------------------- */

static inline int64_t
ns_used(const struct rusage *used)
{
	return ((int64_t)used->ru_utime.tv_sec + used->ru_stime.tv_sec) * 1000000000 +
	    ((int64_t)used->ru_utime.tv_usec + used->ru_stime.tv_usec) * 1000;
}

static inline void
contender_count_run(struct contender *contender, int64_t taken_ns, int64_t worked_ns)
{
	contender->taken_ns[contender->runs] = taken_ns;
	contender->worked_ns[contender->runs++] = worked_ns;
}

static inline int
compare_ns(const void *left, const void *right)
{
	const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
	return (a > b) - (a < b);
}

static inline double
us_from_ns(int64_t ns)
{
	return (double)ns / 1000;
}

/* Returns the exit status. */
static inline int
contenders_report(void)
{
	for (size_t i = 0; i < contender_count; i++) {
		struct contender *contender = &contenders[i];
		size_t runs = contender->runs;
		size_t late = (runs * 99 + 99) / 100 - 1;
		if (runs == 0)
			give_up(contender->name, "too few rounds for it to run once");
		qsort(contender->taken_ns, runs, sizeof *contender->taken_ns, compare_ns);
		qsort(contender->worked_ns, runs, sizeof *contender->worked_ns, compare_ns);
		printf("%s\t%s\t%zu\t%.1f\t%.1f\t%.1f\t%.1f\n", contender->kind, contender->name,
		    runs, us_from_ns(contender->taken_ns[0]),
		    us_from_ns(contender->taken_ns[runs / 2]),
		    us_from_ns(contender->taken_ns[late]),
		    us_from_ns(contender->worked_ns[runs / 2]));
	}
	return fflush(stdout) != 0;
}

static inline long
rounds_from(const char *text)
{
	long rounds = strtol(text, NULL, 10);
	return rounds < 1 || rounds > 1000000 ? 0 : rounds;
}

#endif
