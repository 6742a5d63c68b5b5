/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* run/descent: who descends from whom, among real processes. */
#include "run/descent.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "forks.h"
#include "run/proc.h"
#include "tap.h"

static void
test_relations(void)
{
	tap_case("a child and a grandchild descend from this process, and from each other");
	pid_t child = forks_child(forks_have_sleeper);
	pid_t grandchild = forks_notes->grandchild;
	CHECK(descent_is_below(child, getpid()));
	CHECK(descent_is_below(grandchild, getpid()));
	CHECK(descent_is_below(grandchild, child));

	tap_case("nobody descends from himself, from a child or from a stranger");
	CHECK(!descent_is_below(getpid(), getpid()));
	CHECK(!descent_is_below(child, child));
	CHECK(!descent_is_below(getpid(), child));
	CHECK(!descent_is_below(child, grandchild));
	CHECK(!descent_is_below(getppid(), getpid()));
	CHECK(!descent_is_below(1, getpid()));
	pid_t other = forks_sleeper();
	CHECK(!descent_is_below(grandchild, other));
	CHECK(!descent_is_below(other, child));
	forks_end(other);

	tap_case("this process descends from its parent and from the first of all");
	CHECK(descent_is_below(getpid(), getppid()));
	CHECK(descent_is_below(child, getppid()));

	tap_case("numbers that no process has descend from nobody");
	CHECK(!descent_is_below(0, getpid()));
	CHECK(!descent_is_below(-1, getpid()));
	CHECK(!descent_is_below(getpid(), 0));
	CHECK(!descent_is_below(getpid(), -1));
	forks_end(child);
	CHECK_INT(waitpid(grandchild, NULL, 0), grandchild); /* it died of that */
	CHECK(!descent_is_below(child, getpid()));
	CHECK(!descent_is_below(grandchild, getpid()));
}

static void
test_stray(void)
{
	tap_case(
	    "who left session and parent still descends from the subreaper, not from his parent");
	pid_t child = forks_child(forks_have_stray);
	pid_t stray = forks_notes->stray;
	CHECK(descent_is_below(stray, getpid()));
	CHECK(!descent_is_below(stray, child));
	forks_end(child);
	CHECK(descent_is_below(stray, getpid()));
	forks_end(stray);
}

/* Forks a chain of `left` more, whose last notes its pid. */
static void
grow(int left)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(60);
	while (left-- > 0 && fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(60);
		if (left == 0)
			forks_notes->stray = getpid();
	}
	for (;;)
		pause();
}

static void
test_depth(void)
{
	tap_case("thirty levels below"); /* held.bats has hundreds: they are slow with sanitizers */
	forks_notes->stray = 0;
	pid_t top = fork();
	if (top == 0)
		grow(30);
	for (int wait = 0; wait < 20000 && forks_notes->stray == 0; wait++)
		usleep(1000);
	pid_t last = forks_notes->stray;
	CHECK(last != 0);
	CHECK(descent_is_below(last, getpid()));
	CHECK(descent_is_below(last, top));
	forks_end(top);
	/* Each dies of the one above, and is ours then. */
	while (waitpid(-1, NULL, 0) > 0)
		;
}

/* In a child, whose own children are then in a namespace of theirs; /proc stays the old one. */
static void
act_in_namespace(const void *unused)
{
	(void)unused;
	if (unshare(CLONE_NEWPID) != 0)
		_exit(77);
	pid_t inside = fork();
	if (inside == 0) {
		if (!proc_open() || !proc_is_foreign() || getpid() != 1)
			_exit(1);
		pid_t child = forks_child(forks_have_sleeper);
		pid_t grandchild = forks_notes->grandchild;
		bool good = descent_is_below(child, 1) && descent_is_below(grandchild, 1) &&
		    !descent_is_below(1, 1) && !descent_is_below(grandchild + 100, 1);
		_exit(good ? 0 : 2);
	}
	int status;
	waitpid(inside, &status, 0);
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 3);
}

static void
test_namespace(void)
{
	tap_case("in a pid namespace whose /proc is another's");
	pid_t pid = fork();
	if (pid == 0)
		act_in_namespace(NULL);
	int status = 0;
	CHECK_INT(waitpid(pid, &status, 0), pid);
	/* 77: this user may not make one; root may. */
	CHECK(WIFEXITED(status) &&
	    (WEXITSTATUS(status) == 0 || (WEXITSTATUS(status) == 77 && getuid() != 0)));
}

int
main(void)
{
	if (!forks_open() || !proc_open())
		return 1;
	test_relations();
	test_stray();
	test_depth();
	test_namespace();
	return tap_end();
}
