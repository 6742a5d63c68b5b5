/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* run/proc: what /proc says of real processes, whatever they are called and wherever they live. */
#include "run/proc.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "forks.h"
#include "tap.h"

static const char *name_to_take;

static void
take_name(void)
{
	prctl(PR_SET_NAME, name_to_take);
}

static void
test_names(void)
{
	/* What a parser that trusts the name would take for fields. */
	static const char *const names[] = {"plain", "a b", ") Z 1 (", "a) T 1 1 1", "((((", "))))",
	    ")", "\n", "\x1b[2J\xff", ""};
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		struct process process;
		tap_case("a process called '%s' is read right", names[i]);
		name_to_take = names[i];
		pid_t child = forks_child(take_name);
		if (CHECK(proc_read(child, &process))) {
			CHECK_INT(process.pid, child);
			CHECK_INT(process.parent, getpid());
			CHECK(!process.zombie);
			CHECK(!process.stopped);
			CHECK(process.started > 0);
		}
		forks_end(child);
	}
}

static void
test_states(void)
{
	struct process process, before;
	tap_case("running, stopped, zombie, gone");
	pid_t child = forks_sleeper();
	CHECK(proc_read(child, &before));
	kill(child, SIGSTOP);
	CHECK(forks_wait_state(child, 'T'));
	CHECK(proc_read(child, &process));
	CHECK(process.stopped && !process.zombie);
	CHECK(process.started == before.started);
	kill(child, SIGKILL);
	CHECK(forks_wait_state(child, 'Z'));
	CHECK(proc_read(child, &process));
	CHECK(process.zombie && !process.stopped);
	CHECK_INT(process.parent, getpid());
	forks_end(child);
	CHECK(!proc_read(child, &process));
	CHECK(!proc_read(0, &process));
	CHECK(!proc_read(-1, &process));

	tap_case("a later process has a later start");
	child = forks_sleeper();
	CHECK(proc_read(getpid(), &before));
	CHECK(proc_read(child, &process));
	CHECK(process.started >= before.started);
	forks_end(child);
}

struct seen {
	int count, children;
	pid_t last, child;
	bool in_order;
};

static void
see(void *context, pid_t listed)
{
	struct seen *seen = context;
	seen->count++;
	seen->in_order = seen->in_order && listed > seen->last;
	seen->last = listed;
	seen->children += listed == seen->child;
}

static void
test_lists(void)
{
	pid_t pids[8], child[3];
	tap_case("every process is visited once, in the order of the numbers");
	child[0] = forks_sleeper();
	struct seen seen = {.in_order = true, .child = child[0]};
	proc_for_each(see, &seen);
	CHECK(seen.count > 2);
	CHECK(seen.in_order);
	CHECK_INT(seen.children, 1);

	tap_case("children are listed, zombies too, grandchildren not");
	child[1] = forks_child(forks_have_sleeper);
	child[2] = forks_sleeper();
	kill(child[2], SIGKILL);
	CHECK(forks_wait_state(child[2], 'Z'));
	CHECK_INT(proc_list_children(pids, COUNT_OF(pids)), 3);
	for (int i = 0; i < 3; i++)
		CHECK(pids[i] == child[0] || pids[i] == child[1] || pids[i] == child[2]);
	CHECK(pids[0] != pids[1] && pids[1] != pids[2] && pids[0] != pids[2]);

	tap_case("no more of them than there is room for");
	pids[2] = -7;
	CHECK_INT(proc_list_children(pids, 2), 2);
	CHECK_INT(pids[2], -7);
	for (int i = 0; i < 3; i++)
		forks_end(child[i]);
	forks_end(forks_notes->grandchild);
	CHECK_INT(proc_list_children(pids, COUNT_OF(pids)), 0);
}

static void
block_two(void)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGRTMAX);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

static void
test_pending(void)
{
	tap_case("a blocked signal is pending when it was sent, no other is");
	pid_t child = forks_child(block_two);
	CHECK(!proc_has_pending(child, SIGUSR1));
	kill(child, SIGUSR1);
	CHECK(proc_has_pending(child, SIGUSR1));
	for (int number = 1; number <= SIGRTMAX; number++) {
		tap_note("signal %d", number);
		CHECK(proc_has_pending(child, number) == (number == SIGUSR1));
	}
	kill(child, SIGRTMAX);
	CHECK(proc_has_pending(child, SIGRTMAX));
	forks_end(child);
	CHECK(!proc_has_pending(child, SIGUSR1));

	tap_case("and when it was sent to its thread");
	child = forks_child(block_two);
	CHECK_INT(tgkill(child, child, SIGUSR1), 0);
	CHECK(proc_has_pending(child, SIGUSR1));
	forks_end(child);

	tap_case("for a stopped process that does not block it, too");
	child = forks_sleeper();
	kill(child, SIGSTOP);
	CHECK(forks_wait_state(child, 'T'));
	kill(child, SIGTERM);
	CHECK(proc_has_pending(child, SIGTERM));
	forks_end(child);
}

/* -- pid namespaces --------------------------------------------------------------------------- */

/* In process 1 of a new pid namespace that still sees the old /proc (`unshare -pf dlock`): 0 if all
 * numbers are its own, else the line that is wrong. */
static int
look_from_within(void)
{
	pid_t pids[4];
	struct process process;
	if (getpid() != 1)
		return __LINE__;
	if (!proc_open())
		return __LINE__;
	pid_t child = fork();
	if (child == 0) {
		pause();
		_exit(0);
	}
	int count = proc_list_children(pids, COUNT_OF(pids));
	if (count != 1 || pids[0] != child)
		return __LINE__;
	pid_t listed = proc_listed(child);
	if (listed <= 0 || listed == child)
		return __LINE__;
	if (!proc_read(listed, &process) || process.pid != child || process.listed != listed)
		return __LINE__;
	if (process.parent != proc_listed(1))
		return __LINE__;
	/* Who is outside has no number here: a signal by its number would hit a stranger. */
	if (!proc_read(1, &process) || process.pid != 0)
		return __LINE__;
	kill(child, SIGSTOP);
	waitpid(child, NULL, WSTOPPED);
	kill(child, SIGTERM);
	if (!proc_has_pending(child, SIGTERM) || proc_has_pending(child, SIGINT))
		return __LINE__;
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return 0;
}

/* Begins a pid namespace, calls `act` in its process 1, and exits with what that returned. Process
 * 1 is not ended by an alarm of its own: it dies with the process that is returned here. */
static pid_t
start_namespace(int (*act)(void))
{
	pid_t middle = fork();
	if (middle != 0)
		return middle;
	int status = -1;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(60);
	if (unshare(CLONE_NEWPID) != 0)
		_exit(errno == EPERM ? 200 : 201);
	pid_t first = fork();
	if (first == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(act() % 199);
	}
	waitpid(first, &status, 0);
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 202);
}

/* A stranger, as on a host with containers: its processes have the numbers that ours have, too. */
static int
be_stranger(void)
{
	for (int i = 0; i < 3; i++) {
		if (fork() == 0)
			pause();
	}
	forks_notes->stray = 1;
	pause();
	return 0;
}

static void
test_namespace(void)
{
	int status = -1;
	tap_case("S37: in a pid namespace with an outer /proc the numbers are translated");
	forks_notes->stray = 0;
	pid_t stranger = start_namespace(be_stranger);
	for (int i = 0; i < 5000 && forks_notes->stray == 0 && geteuid() == 0; i++)
		poll(NULL, 0, 1);
	pid_t middle = start_namespace(look_from_within);
	CHECK_INT(waitpid(middle, &status, 0), middle);
	forks_end(stranger);
	while (waitpid(-1, NULL, 0) > 0)
		; /* process 1 of the stranger's, now ours */
	if (WIFEXITED(status) && WEXITSTATUS(status) == 200) {
		tap_note("needs root");
		CHECK(geteuid() != 0);
		return;
	}
	tap_note("status %d: the line in look_from_within modulo 199", status);
	CHECK(WIFEXITED(status));
	CHECK_INT(WEXITSTATUS(status), 0);
}

int
main(void)
{
	if (!forks_open() || !proc_open())
		return 1;
	test_names();
	test_states();
	test_lists();
	test_pending();
	test_namespace();
	return tap_end();
}
