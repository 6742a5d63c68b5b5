/*
 * Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT
 *
 * handoff ROUNDS FILE DIRECTORY STAMP: how long a lock takes from the end of its old holder's
 * command to the start of the new one's, when somebody waits for it. FILE and what is printed are
 * as in contenders.h; the words are a line for `sh -c` that succeeds when a waiter is in line, then
 * the contender's program, which has a path, and its arguments. STAMP (stamp.c) is both commands:
 *
 *     holder's STAMP starts   waiter in line   20 to 120 ms   go: its last act          |
 *     waiter's STAMP                                          reads the clock ... first act does
 *                                                             |<---- what is measured --->|
 *
 * The pause is random, so that a waiter that polls is met at any instant of its period, and while
 * the lock changes hands this program sleeps. The processor time is that of holder and waiter
 * together, from their start to their end. A waiter that is let in too early, a contender that
 * fails, and one that takes ten seconds for a step, end it all with status 1; TERM and INT do so
 * with 143. DIRECTORY is for the file and the FIFO of the two.
 */
#include "contenders.h"

#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define NS_PER_MS INT64_C(1000000)
#define STEP_NS (2 * NS_PER_MS)
#define PATIENCE_NS (10000 * NS_PER_MS)
#define PAUSE_LEAST_NS (20 * NS_PER_MS)
#define PAUSE_RANGE_NS (100 * NS_PER_MS)

struct stamps {
	int64_t started_ns, ended_ns;
};

struct child {
	pid_t pid; /* 0: there is none */
	int status;
	struct rusage used;
};

static struct stamps *stamps; /* of the holder, of the waiter */
static char *stamp_program, stamps_path[4096], fifo_path[4096];
static int fifo;
static struct child holder, waiter;

/* -- their ends -------------------------------------------------------------------------------- */

static bool
has_ended(struct child *child)
{
	if (child->pid != 0 && wait4(child->pid, &child->status, WNOHANG, &child->used) != 0)
		child->pid = 0;
	return child->pid == 0;
}

static void
sleep_ns(int64_t ns)
{
	const struct timespec time = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
	nanosleep(&time, NULL);
}

/* For whatever goes wrong: TERM, and KILL for who does not end of it. */
static void
end_both(void)
{
	for (int64_t limit = now_ns() + PATIENCE_NS / 5;
	     !has_ended(&waiter) || !has_ended(&holder);) {
		int number = now_ns() < limit ? SIGTERM : SIGKILL;
		if (waiter.pid != 0)
			kill(waiter.pid, number);
		if (holder.pid != 0)
			kill(holder.pid, number);
		sleep_ns(20 * NS_PER_MS);
	}
}

static _Noreturn void
break_off(const char *name, const char *why)
{
	end_both();
	give_up(name, why);
}

/* Sleeps; does not return when somebody wants an end. Nothing else wakes it, no child's end either.
 */
static void
rest(int64_t ns)
{
	const struct timespec time = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
	sigset_t enders = awaited;
	sigdelset(&enders, SIGCHLD);
	if (sigtimedwait(&enders, NULL, &time) > 0) {
		end_both();
		exit(STATUS_INTERRUPTED);
	}
}

/* -- one hand-off ------------------------------------------------------------------------------ */

/* The contender's words after the first, then STAMP and its arguments. */
static void
start(struct child *child, struct contender *contender, char *place, char *with_fifo)
{
	char *argv[MAX_WORDS + 5];
	size_t count = 0;
	for (char **word = contender->argv + 1; *word != NULL; word++)
		argv[count++] = *word;
	argv[count++] = stamp_program;
	argv[count++] = stamps_path;
	argv[count++] = place;
	argv[count++] = with_fifo;
	argv[count] = NULL;
	child->pid = contender_spawn(argv);
}

static int64_t
read_stamp(const int64_t *stamp)
{
	return __atomic_load_n(stamp, __ATOMIC_ACQUIRE);
}

static void
await_holder(const struct contender *contender)
{
	int64_t limit = now_ns() + PATIENCE_NS;
	while (read_stamp(&stamps[0].started_ns) == 0) {
		if (has_ended(&holder) || now_ns() > limit)
			break_off(contender->name, "its holder does not run the command");
		rest(STEP_NS);
	}
}

static void
await_line(struct contender *contender)
{
	static char shell[] = "/bin/sh", option[] = "-c";
	char *check[] = {shell, option, contender->argv[0], NULL};
	int64_t limit = now_ns() + PATIENCE_NS;
	int status;
	do {
		rest(STEP_NS);
		if (has_ended(&waiter) || now_ns() > limit)
			break_off(contender->name, "its waiter is not in line");
		pid_t pid = contender_spawn(check);
		waitpid(pid, &status, 0);
	} while (status != 0);
}

static void
await_ends(const struct contender *contender)
{
	int64_t limit = now_ns() + PATIENCE_NS;
	do {
		rest(10 * STEP_NS);
		if (now_ns() > limit)
			break_off(contender->name, "the lock does not change hands");
	} while (!has_ended(&holder) || !has_ended(&waiter));
	if (holder.status != 0 || waiter.status != 0)
		give_up(contender->name, "its command failed");
}

static void
run(struct contender *contender, int counts)
{
	static char first[] = "0", second[] = "1";
	memset(stamps, 0, 2 * sizeof *stamps);
	start(&holder, contender, first, fifo_path);
	await_holder(contender);
	start(&waiter, contender, second, NULL);
	await_line(contender);
	rest(PAUSE_LEAST_NS + (int64_t)random_below((size_t)PAUSE_RANGE_NS));
	if (read_stamp(&stamps[1].started_ns) != 0)
		break_off(contender->name, "its waiter was let in while the lock was held");
	if (write(fifo, "", 1) != 1)
		break_off(contender->name, strerror(errno));
	await_ends(contender);
	if (read_stamp(&stamps[1].started_ns) == 0)
		give_up(contender->name, "its waiter did not run the command");
	int64_t taken = read_stamp(&stamps[1].started_ns) - read_stamp(&stamps[0].ended_ns);
	if (taken <= 0)
		give_up(contender->name, "its commands overlapped");
	if (counts)
		contender_count_run(contender, taken,
		    ns_used(&holder.used) + ns_used(&waiter.used));
}

static void
prepare(const char *directory)
{
	snprintf(stamps_path, sizeof stamps_path, "%s/stamps", directory);
	snprintf(fifo_path, sizeof fifo_path, "%s/go", directory);
	int fd = open(stamps_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, 2 * sizeof *stamps) != 0)
		give_up(stamps_path, strerror(errno));
	stamps = mmap(NULL, 2 * sizeof *stamps, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (stamps == MAP_FAILED)
		give_up(stamps_path, strerror(errno));
	close(fd);
	/* Both ends: it stays open from one holder to the next, and closes with this program. */
	if (mkfifo(fifo_path, 0600) != 0 || (fifo = open(fifo_path, O_RDWR | O_CLOEXEC)) < 0)
		give_up(fifo_path, strerror(errno));
}

int
main(int argc, char **argv)
{
	long rounds = argc == 5 ? rounds_from(argv[1]) : 0;
	if (rounds == 0) {
		fprintf(stderr, "usage: handoff ROUNDS FILE DIRECTORY STAMP\n");
		return 64;
	}
	contenders_read(argv[2], 2, rounds);
	contenders_prepare();
	stamp_program = argv[4];
	prepare(argv[3]);
	contenders_run(rounds, run);
	return contenders_report();
}
