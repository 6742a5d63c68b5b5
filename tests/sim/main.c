/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* The simulator. docs/verification.md says what it is for.
 *
 *   sim run [-j WORKERS] [-f FLOOR] SCHEDULES [FIRST]   seeds FIRST (1), FIRST + 1, ...: prints
 * what was reached; fails when a promise was broken, and tells that schedule, made small, or when
 * something was reached less often than FLOOR sim seed SEED       one schedule, told step by step
 *   sim seeds SEED...   these, silently, unless one fails
 *   sim find SCHEDULES  succeeds when one of them fails: for a mutant */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "counts.h"
#include "minimise.h"
#include "trace.h"
#include "world.h"

/* No schedule takes so long: something goes round and round, and asks nothing of the kernel. Then
 * ALRM ends the worker, and says in which schedule. */
#define LONGEST_S 30
#define MOST_FINDINGS 5

static bool
run_one(uint64_t seed, struct scenario *scenario)
{
	counts_note_seed(seed);
	alarm(LONGEST_S);
	scenario_make(scenario, seed);
	return scenario_run(scenario);
}

/* Tells what happens in a schedule that fails, as little of it as is needed. */
static void
explain(struct scenario *scenario)
{
	char violation[sizeof world.violation];
	memcpy(violation, world.violation, sizeof violation);
	int runs = minimise(scenario);
	printf("a promise is broken: %s\n", violation);
	printf("what is left of it after %d runs, which is all that is needed:\n", runs);
	scenario_print(scenario);
	trace_turn(true);
	scenario_run(scenario);
	trace_turn(false);
	printf("again, whole: make sim SEED=%" PRIu64 "\n", scenario->seed);
	fflush(stdout);
}

static int
run_seed(uint64_t seed)
{
	static struct scenario scenario;
	scenario_make(&scenario, seed);
	scenario_print(&scenario);
	trace_turn(true);
	bool good = scenario_run(&scenario);
	printf("%s\n", good ? "all that must hold did" : world.violation);
	return good ? 0 : 1;
}

static int
run_seeds(char *const *seeds, int count)
{
	static struct scenario scenario;
	int failed = 0;
	for (int i = 0; i < count; i++) {
		if (run_one(strtoull(seeds[i], NULL, 10), &scenario))
			continue;
		failed++;
		explain(&scenario);
	}
	return failed > 0;
}

static int
find(uint64_t schedules)
{
	static struct scenario scenario;
	for (uint64_t seed = 1; seed <= schedules; seed++) {
		if (run_one(seed, &scenario))
			continue;
		printf("found by schedule %" PRIu64 ": %s\n", seed, world.violation);
		return 0;
	}
	printf("not found in %" PRIu64 " schedules\n", schedules);
	return 1;
}

/* -- many, by several processes -----------------------------------------------------------------
 */

/* What one finds ends no run of hours, but so many do. */
static bool
work(int worker, int workers, uint64_t first, uint64_t schedules)
{
	static struct scenario scenario;
	int found = 0;
	counts_be_worker(worker);
	for (uint64_t i = (uint64_t)worker; i < schedules && found < MOST_FINDINGS;
	     i += (uint64_t)workers) {
		if (run_one(first + i, &scenario))
			continue;
		found++;
		explain(&scenario);
	}
	counts_add_replies();
	return found == 0;
}

/* The number of those that failed. */
static int
run_workers(int workers, uint64_t first, uint64_t schedules)
{
	pid_t pids[MOST_WORKERS];
	int failed = 0;
	fflush(stdout);
	for (int i = 0; i < workers; i++) {
		pids[i] = fork();
		if (pids[i] == 0)
			exit(work(i, workers, first, schedules) ? 0 : 1);
	}
	for (int left = workers; left > 0; left--) {
		int status = 0;
		pid_t pid = wait(&status);
		for (int i = 0; i < workers; i++) {
			if (pids[i] != pid || !WIFSIGNALED(status))
				continue;
			printf("died of signal %d in schedule %" PRIu64 "\n", WTERMSIG(status),
			    counts_seed_of(i));
		}
		failed += status != 0;
	}
	return failed;
}

static int
usage(void)
{
	fprintf(stderr,
	    "usage: sim run [-j WORKERS] [-f FLOOR] SCHEDULES [FIRST]\n"
	    "       sim seed SEED | sim seeds SEED... | sim find SCHEDULES\n");
	return 64;
}

static int
read_run(int argc, char **argv)
{
	int option, workers = 1;
	uint64_t floor = 0, first = 1;
	while ((option = getopt(argc, argv, "j:f:")) != -1) {
		if (option == 'j')
			workers = atoi(optarg);
		else if (option == 'f')
			floor = strtoull(optarg, NULL, 10);
		else
			return usage();
	}
	if (optind >= argc || workers < 1 || workers > MOST_WORKERS)
		return usage();
	if (optind + 1 < argc)
		first = strtoull(argv[optind + 1], NULL, 10);
	int failed = run_workers(workers, first, strtoull(argv[optind], NULL, 10));
	bool enough = counts_print(floor);
	return failed == 0 && enough ? 0 : 1;
}

int
main(int argc, char **argv)
{
	counts_share();
	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	if (argc >= 3 && strcmp(argv[1], "run") == 0)
		return read_run(argc - 1, argv + 1);
	if (argc == 3 && strcmp(argv[1], "seed") == 0)
		return run_seed(strtoull(argv[2], NULL, 10));
	if (argc >= 3 && strcmp(argv[1], "seeds") == 0)
		return run_seeds(argv + 2, argc - 2);
	if (argc == 3 && strcmp(argv[1], "find") == 0)
		return find(strtoull(argv[2], NULL, 10));
	return usage();
}
