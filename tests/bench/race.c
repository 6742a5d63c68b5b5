/*
 * Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT
 *
 * race ROUNDS FILE: how long commands take from just before they are started until they have been
 * waited for. FILE has a contender a line, its fields separated by tabs:
 *
 *     KIND  NAME  EVERY  PROGRAM  [ARGUMENT...]
 *
 * In each round the contenders run one after another, in an order that is shuffled anew, so that a
 * drift of the machine and the caches that one leaves to the next meet all of them alike. One that
 * is slow may run in every EVERYth round only. A first round warms up and does not count. PROGRAM
 * has a path; the commands get no input, and what they print on stdout is dropped.
 *
 * Prints a line for each contender, separated by tabs: KIND and NAME, how many runs, and in
 * microseconds the least, the median and the 99th percentile of the time, and the median of the
 * processor time of the command and of all that it waited for. A command that fails, or takes ten
 * seconds, ends it all with status 1; TERM and INT do so with 143 once the command under way has
 * ended.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_CONTENDERS 32
#define MAX_WORDS 32
#define PATIENCE_S 10
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
static sigset_t awaited; /* CHLD, and what ends the race */

static _Noreturn void
give_up(const char *what, const char *why)
{
	fprintf(stderr, "race: %s: %s\n", what, why);
	exit(1);
}

static int64_t
now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* -- what runs --------------------------------------------------------------------------------- */

/* Keeps pointers into `line`. */
static void
read_contender(struct contender *contender, char *line, long rounds)
{
	size_t count = 0;
	char *word;
	contender->kind = strsep(&line, "\t");
	contender->name = line == NULL ? contender->kind : strsep(&line, "\t");
	word = strsep(&line, "\t");
	contender->every = word == NULL ? 0 : strtol(word, NULL, 10);
	while ((word = strsep(&line, "\t")) != NULL && count < MAX_WORDS)
		contender->argv[count++] = word;
	if (contender->every < 1 || count == 0 || word != NULL)
		give_up(contender->name, "wants KIND, NAME, EVERY and 1 to 32 words");
	contender->taken_ns = calloc((size_t)rounds, sizeof *contender->taken_ns);
	contender->worked_ns = calloc((size_t)rounds, sizeof *contender->worked_ns);
	if (contender->taken_ns == NULL || contender->worked_ns == NULL)
		give_up(contender->name, strerror(errno));
}

static void
read_contenders(const char *path, long rounds)
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
		read_contender(&contenders[contender_count++], line, rounds);
		line = NULL; /* the contender's now */
		size = 0;
	}
	free(line);
	fclose(file);
	if (contender_count == 0)
		give_up(path, "has no contender");
}

/* -- running it -------------------------------------------------------------------------------- */

/* What is common to all starts: signals as a login shell would have them, no input, no output. */
static void
prepare(void)
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

static int64_t
ns_from_timeval(struct timeval time)
{
	return (int64_t)time.tv_sec * 1000000000 + (int64_t)time.tv_usec * 1000;
}

static void
run(struct contender *contender, int counts)
{
	struct rusage used;
	pid_t pid;
	int64_t started = now_ns();
	int error = posix_spawn(&pid, contender->argv[0], &file_actions, &attributes,
	    contender->argv, environ);
	if (error != 0)
		give_up(contender->argv[0], strerror(error));
	int status = wait_for(pid, contender->name, &used);
	int64_t taken = now_ns() - started;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		give_up(contender->name, "its command failed");
	if (!counts)
		return;
	contender->taken_ns[contender->runs] = taken;
	contender->worked_ns[contender->runs++] =
	    ns_from_timeval(used.ru_utime) + ns_from_timeval(used.ru_stime);
}

/* The same order in every race: xorshift with a fixed seed. */
static size_t
random_below(size_t limit)
{
	static uint64_t state = UINT64_C(88172645463325252);
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (size_t)(state % limit);
}

static void
run_round(long round)
{
	size_t order[MAX_CONTENDERS];
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

/* -- what came out ----------------------------------------------------------------------------- */

static int
compare(const void *left, const void *right)
{
	const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
	return (a > b) - (a < b);
}

static double
to_us(int64_t ns)
{
	return (double)ns / 1000;
}

static void
report(struct contender *contender)
{
	size_t runs = contender->runs;
	size_t late = (runs * 99 + 99) / 100 - 1;
	if (runs == 0)
		give_up(contender->name, "too few rounds for it to run once");
	qsort(contender->taken_ns, runs, sizeof *contender->taken_ns, compare);
	qsort(contender->worked_ns, runs, sizeof *contender->worked_ns, compare);
	printf("%s\t%s\t%zu\t%.1f\t%.1f\t%.1f\t%.1f\n", contender->kind, contender->name, runs,
	    to_us(contender->taken_ns[0]), to_us(contender->taken_ns[runs / 2]),
	    to_us(contender->taken_ns[late]), to_us(contender->worked_ns[runs / 2]));
}

int
main(int argc, char **argv)
{
	long rounds = argc == 3 ? strtol(argv[1], NULL, 10) : 0;
	if (rounds < 1 || rounds > 1000000) {
		fprintf(stderr, "usage: race ROUNDS FILE\n");
		return 64;
	}
	read_contenders(argv[2], rounds);
	prepare();
	for (long round = 0; round <= rounds; round++)
		run_round(round);
	for (size_t i = 0; i < contender_count; i++)
		report(&contenders[i]);
	return fflush(stdout) != 0;
}
