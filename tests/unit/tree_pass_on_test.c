/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* run/tree: signals that are passed on to real processes. */
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "forks.h"
#include "run/tree.h"
#include "tap.h"

static struct tree tree;

/* A child with a child of its own, and one that has left the session. */
static void
have_both(void)
{
	forks_have_sleeper();
	forks_have_stray();
}

static pid_t
begin(void)
{
	tree_init(&tree);
	CHECK_INT(tree.bystander_count, 0);
	return forks_child(have_both);
}

static void
end(void)
{
	for (int i = 0; i < 20000 && tree_sweep(&tree) > 0; i++)
		poll(NULL, 0, 1);
	CHECK_INT(tree_sweep(&tree), 0);
}

int
main(void)
{
	if (!forks_open() || tree_become_subreaper() != 0)
		return 1;

	tap_case("what is passed on reaches all once, and who is stopped stays so");
	pid_t child = begin();
	pid_t stray = forks_notes->stray;
	CHECK_INT(tree_pass_on(&tree, getpid(), SIGSTOP, false), 3);
	CHECK(forks_wait_state(child, 'T') && forks_wait_state(stray, 'T'));
	CHECK_INT(tree_pass_on(&tree, getpid(), SIGUSR1, false), 3);
	poll(NULL, 0, 20);
	CHECK(forks_wait_state(child, 'T') && forks_wait_state(stray, 'T'));
	end();

	tap_case("what the group has is passed on only to who has left it");
	child = begin();
	stray = forks_notes->stray;
	CHECK_INT(tree_pass_on(&tree, getpid(), SIGTERM, true), 1);
	CHECK(forks_wait_state(stray, 'Z'));
	CHECK(forks_is_alive(child) && forks_is_alive(forks_notes->grandchild));
	end();

	tap_case("0 is sent to nobody, and tells who may be signalled");
	child = begin();
	CHECK_INT(tree_pass_on(&tree, getpid(), 0, false), 3);
	CHECK_INT(tree.denied, 0);
	poll(NULL, 0, 20);
	CHECK(forks_is_alive(child));
	end();
	return tap_end();
}
