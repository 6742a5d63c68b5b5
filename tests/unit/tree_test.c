/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* run/tree: finding, signalling and sweeping real processes. */
#include "run/tree.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "forks.h"
#include "tap.h"

/* -- pidfd_open(2) and pidfd_send_signal(2), as they fail in the field ------------------------ */

static int open_error, send_error;

/* Takes the place of the C library's. It cannot know how many arguments there are: six. */
__attribute__((no_sanitize("address"))) long
syscall(long number, ...) // NOLINT(readability-inconsistent-declaration-parameter-name)
{
	static long (*real)(long, ...);
	va_list list;
	long a[6];
	va_start(list, number);
	for (size_t i = 0; i < COUNT_OF(a); i++)
		a[i] = va_arg(list, long);
	va_end(list);
	int error = number == SYS_pidfd_open  ? open_error
	    : number == SYS_pidfd_send_signal ? send_error
					      : 0;
	if (error != 0) {
		errno = error;
		return -1;
	}
	if (real == NULL)
		*(void **)&real = dlsym(RTLD_NEXT, "syscall");
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* -- reaped ----------------------------------------------------------------------------------- */

static struct {
	int count;
	pid_t pid;
	int code, status;
} reaped;

static void
on_reaped(void *context, pid_t pid, int code, int status)
{
	CHECK(context == &reaped);
	reaped.count++;
	reaped.pid = pid;
	reaped.code = code;
	reaped.status = status;
}

static struct tree
new_tree(void)
{
	struct tree tree;
	memset(&reaped, 0, sizeof reaped);
	tree_init(&tree);
	CHECK_INT(tree.bystander_count, 0);
	CHECK(tree.can_list);
	tree.reaped = on_reaped;
	tree.context = &reaped;
	return tree;
}

/* Sweeps until nobody is left, 20 s at most. */
static bool
sweep_all(struct tree *tree)
{
	for (int i = 0; i < 20000; i++) {
		if (tree_sweep(tree) == 0)
			return true;
		poll(NULL, 0, 1);
	}
	return false;
}

static void
have_both(void)
{
	forks_have_sleeper();
	forks_have_stray();
}

/* -- sweep ------------------------------------------------------------------------------------ */

static void
test_sweep(void)
{
	pid_t example;
	int count;
	tap_case("a process without children has swept all");
	struct tree tree = new_tree();
	CHECK_INT(tree_sweep(&tree), 0);
	CHECK(tree_is_empty(&tree, &example, &count));
	CHECK_INT(count, 0);

	tap_case("S19, S21: a sweep ends children, their children, and who has left the session");
	tree = new_tree();
	pid_t child = forks_child(have_both), sibling = forks_sleeper();
	pid_t grandchild = forks_notes->grandchild, stray = forks_notes->stray;
	CHECK(forks_is_alive(grandchild) && forks_is_alive(stray));
	CHECK(!tree_is_empty(&tree, &example, &count));
	/* The stray became our child when its parent left it: we are a subreaper. */
	CHECK_INT(count, 3);
	CHECK(example == child || example == sibling || example == stray);
	CHECK(sweep_all(&tree));
	CHECK(tree_is_empty(&tree, &example, &count));
	CHECK_INT(count, 0);
	CHECK(forks_wait_gone(child) && forks_wait_gone(sibling));
	CHECK(forks_wait_gone(grandchild) && forks_wait_gone(stray));
	CHECK_INT(reaped.count, 4);
	CHECK_INT(reaped.code, CLD_KILLED);
	CHECK_INT(reaped.status, SIGKILL);

	tap_case("a stopped child is killed as any other");
	tree = new_tree();
	child = forks_sleeper();
	kill(child, SIGSTOP);
	CHECK(forks_wait_state(child, 'T'));
	CHECK(sweep_all(&tree));
	CHECK(forks_wait_gone(child));
}

/* Forks a successor and leaves, again and again. */
static void
refork(void)
{
	for (;;) {
		pid_t next = fork();
		if (next != 0)
			_exit(0);
		setsid();
		alarm(60);
		if (++forks_notes->generations > 200000)
			_exit(0);
	}
}

static void
begin_to_refork(void)
{
	if (fork() == 0)
		refork();
}

static void
test_refork(void)
{
	tap_case("S21: a process that is never the same one twice is swept");
	struct tree tree = new_tree();
	forks_notes->generations = 0;
	pid_t child = forks_child(begin_to_refork);
	for (int i = 0; i < 20000 && forks_notes->generations < 100; i++) {
		tree_reap(&tree);
		poll(NULL, 0, 1);
	}
	CHECK(forks_notes->generations >= 100);
	CHECK(sweep_all(&tree));
	CHECK(forks_wait_gone(child));
	long generations = forks_notes->generations;
	poll(NULL, 0, 50);
	CHECK_INT(forks_notes->generations, generations);
	CHECK_INT(waitpid(-1, NULL, WNOHANG), -1);
	CHECK_INT(errno, ECHILD);
}

/* -- who is not ours -------------------------------------------------------------------------- */

static void
test_bystanders(void)
{
	struct tree tree;
	pid_t example;
	int count;
	tap_case("a child that was there before is never touched");
	pid_t before = forks_sleeper(), zombie = forks_sleeper();
	tree_init(&tree);
	CHECK_INT(tree.bystander_count, 2);
	memset(&reaped, 0, sizeof reaped);
	tree.reaped = on_reaped;
	tree.context = &reaped;
	CHECK(tree_is_empty(&tree, &example, &count));
	pid_t child = forks_sleeper();
	CHECK(!tree_is_empty(&tree, &example, &count));
	CHECK_INT(count, 1);
	CHECK_INT(example, child);
	CHECK(sweep_all(&tree));
	CHECK(forks_wait_gone(child));
	CHECK_INT(reaped.count, 1);
	CHECK(forks_is_alive(before));
	CHECK(tree_is_empty(&tree, &example, &count));

	tap_case("nor reaped: its end is for whoever waits for it");
	kill(zombie, SIGKILL);
	CHECK(forks_wait_state(zombie, 'Z'));
	child = forks_sleeper();
	kill(child, SIGKILL);
	CHECK(forks_wait_state(child, 'Z'));
	memset(&reaped, 0, sizeof reaped);
	tree_reap(&tree);
	CHECK_INT(tree_sweep(&tree), 0);
	CHECK_INT(reaped.count, 1);
	CHECK_INT(reaped.pid, child);
	CHECK_INT(waitpid(zombie, NULL, WNOHANG), zombie);
	forks_end(before);

	tap_case("dlock's own helper is neither counted nor killed");
	tree = new_tree();
	pid_t helper = forks_sleeper();
	tree.helpers[1] = &helper;
	child = forks_sleeper();
	CHECK(!tree_is_empty(&tree, &example, &count));
	CHECK_INT(count, 1);
	CHECK(sweep_all(&tree));
	CHECK(tree_is_empty(&tree, &example, &count));
	CHECK(forks_is_alive(helper));
	CHECK(forks_wait_gone(child));
	forks_end(helper);
}

/* -- reap ------------------------------------------------------------------------------------- */

static void
test_reap(void)
{
	tap_case("reaping tells how each child ended, and kills nobody");
	struct tree tree = new_tree();
	pid_t living = forks_sleeper();
	pid_t child = fork();
	if (child == 0)
		_exit(3);
	tree.known = child;
	CHECK(forks_wait_state(child, 'Z'));
	tree_reap(&tree);
	CHECK_INT(reaped.count, 1);
	CHECK_INT(reaped.pid, child);
	CHECK_INT(reaped.code, CLD_EXITED);
	CHECK_INT(reaped.status, 3);
	CHECK_INT(tree.known, 0);
	CHECK(forks_is_alive(living));
	kill(living, SIGTERM);
	CHECK(forks_wait_state(living, 'Z'));
	tree_reap(&tree);
	CHECK_INT(reaped.count, 2);
	CHECK_INT(reaped.pid, living);
	CHECK_INT(reaped.code, CLD_KILLED);
	CHECK_INT(reaped.status, SIGTERM);
	tree_reap(&tree);
	CHECK_INT(reaped.count, 2);
}

/* -- signal ----------------------------------------------------------------------------------- */

static void
test_signal(void)
{
	tap_case("S18, S22: a signal reaches the whole tree, one that left the session too");
	struct tree tree = new_tree();
	pid_t child = forks_child(have_both);
	pid_t grandchild = forks_notes->grandchild, stray = forks_notes->stray;
	CHECK_INT(tree_signal(&tree, getpid(), SIGTERM), 3);
	CHECK_INT(tree.denied, 0);
	CHECK(forks_wait_state(child, 'Z') && forks_wait_state(stray, 'Z'));
	CHECK(sweep_all(&tree));
	CHECK(forks_wait_gone(grandchild));

	tap_case("it spares the root itself, and what is not below it");
	tree = new_tree();
	child = forks_child(forks_have_sleeper);
	grandchild = forks_notes->grandchild;
	pid_t sibling = forks_sleeper();
	CHECK_INT(tree_signal(&tree, child, SIGTERM), 1);
	CHECK(forks_wait_state(grandchild, 'Z'));
	CHECK(forks_is_alive(child) && forks_is_alive(sibling));

	tap_case("zombies are not counted: the grandchild is one now");
	CHECK_INT(tree_signal(&tree, child, SIGTERM), 0);
	kill(sibling, SIGKILL);
	CHECK(forks_wait_state(sibling, 'Z'));
	CHECK_INT(tree_signal(&tree, getpid(), SIGUSR2), 1);
	CHECK(sweep_all(&tree));

	tap_case("who is stopped gets CONT, or it would sleep through its grace");
	tree = new_tree();
	child = forks_sleeper();
	kill(child, SIGSTOP);
	CHECK(forks_wait_state(child, 'T'));
	CHECK_INT(tree_signal(&tree, getpid(), SIGTERM), 1);
	CHECK(forks_wait_state(child, 'Z'));
	tree_reap(&tree);
	CHECK_INT(reaped.status, SIGTERM);
}

static void
test_pidfd(void)
{
	static const int errors[] = {EPERM, ENOSYS, EMFILE};
	struct tree tree;
	pid_t child;
	for (size_t i = 0; i < COUNT_OF(errors); i++) {
		tap_case("S87: without a pidfd (error %d) the start time has to do", errors[i]);
		tree = new_tree();
		child = forks_sleeper();
		open_error = errors[i];
		CHECK_INT(tree_signal(&tree, getpid(), SIGTERM), 1);
		open_error = 0;
		CHECK(forks_wait_state(child, 'Z'));
		CHECK_INT(tree.denied, 0);
		CHECK(sweep_all(&tree));
	}
	static const int gone[] = {ESRCH, EINVAL};
	for (size_t i = 0; i < COUNT_OF(gone); i++) {
		tap_case(
		    "S88: a pid that has gone (error %d) is gone, not denied, and no stranger is hit",
		    gone[i]);
		tree = new_tree();
		child = forks_sleeper();
		open_error = gone[i];
		tree_signal(&tree, getpid(), SIGTERM);
		open_error = 0;
		CHECK_INT(tree.denied, 0);
		poll(NULL, 0, 20);
		CHECK(forks_is_alive(child));
		forks_end(child);
	}
	tap_case("who may not be signalled is counted and named");
	tree = new_tree();
	child = forks_sleeper();
	send_error = EPERM;
	CHECK_INT(tree_signal(&tree, getpid(), SIGTERM), 0);
	send_error = 0;
	CHECK_INT(tree.denied, 1);
	CHECK_INT(tree.example, child);
	CHECK_INT(tree_signal(&tree, getpid(), SIGTERM), 1);
	CHECK_INT(tree.denied, 0);
	CHECK(sweep_all(&tree));
}

/* A /proc that is not ours: only the child that is known for certain can be acted on. */
static void
test_without_proc(void)
{
	pid_t example;
	int count;
	tap_case("S37: without /proc the known child is signalled and killed, nobody else");
	struct tree tree = new_tree();
	pid_t known = forks_sleeper(), other = forks_sleeper();
	tree.can_list = false;
	tree.known = known;
	CHECK(!tree_is_empty(&tree, &example, &count));
	CHECK_INT(tree_signal(&tree, getpid(), SIGUSR2), 1);
	CHECK(forks_wait_state(known, 'Z'));
	CHECK(forks_is_alive(other));
	tree_reap(&tree);
	CHECK_INT(tree.known, 0);
	CHECK_INT(tree_signal(&tree, getpid(), SIGTERM), 0);
	CHECK(forks_is_alive(other));

	tap_case("and a sweep does not claim that all is over while a child lives");
	CHECK(tree_sweep(&tree) > 0);
	CHECK(!tree_is_empty(&tree, &example, &count));
	CHECK(forks_is_alive(other));
	forks_end(other);
	CHECK_INT(tree_sweep(&tree), 0);
	CHECK(tree_is_empty(&tree, &example, &count));
}

int
main(void)
{
	if (!forks_open() || tree_become_subreaper() != 0)
		return 1;
	test_sweep();
	test_refork();
	test_bystanders();
	test_reap();
	test_signal();
	test_pidfd();
	test_without_proc();
	return tap_end();
}
