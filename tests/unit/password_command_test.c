/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* run/password: real commands. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "forks.h"
#include "password_bench.h"
#include "peer.h"
#include "tap.h"

static void
test_commands(void)
{
	static const struct {
		const char *command, *secret, *problem;
	} rows[] = {
	    {"echo hush", "hush", NULL},
	    {"printf hush", "hush", NULL},
	    {"printf 'hush\\r\\nmore\\n'", "hush", NULL},
	    {"echo 'a b  c'", "a b  c", NULL},
	    {"echo hush; head -c 3000000 /dev/zero", "hush", NULL},
	    {"echo hush; exec >&-; sleep 0.05", "hush", NULL},
	    {"printf hu; sleep 0.05; echo sh", "hush", NULL},
	    {"exec echo hush", "hush", NULL},
	    {"cat; echo hush", "hush", NULL},
	    {"echo $$ | grep -q . && echo hush", "hush", NULL},
	    {"echo hush; exit 3", NULL, "failed with exit status 3"},
	    {"echo hush; kill -TERM $$", NULL, "killed by signal 15 (Terminated)"},
	    {"no-such-command-hush 2>/dev/null", NULL, "failed with exit status 127"},
	    {"true", NULL, "printed is empty"},
	    {"echo; echo hush", NULL, "printed is empty"},
	    {"printf 'hu\\0sh\\n'", NULL, "has a NUL byte"},
	    {"head -c 8193 /dev/zero | tr '\\0' x", NULL, "longer than 8192"},
	    {"exec head -c 3000000 /dev/zero", NULL, "longer than 8192"},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		tap_case("a command: %s", rows[i].command);
		asker_begin(NULL, rows[i].command);
		asker_ask();
		if (rows[i].secret != NULL)
			asker_check_told(rows[i].secret);
		else
			asker_check_refused(rows[i].problem);
		CHECK_HAS_NOT(asker.problem.text, "hush");
		asker_cancel();
		asker_run_until_idle();
	}

	tap_case(
	    "it has three descriptors, /dev/null for stdin, the caller's mask and dispositions");
	int extra = open("/", O_RDONLY); /* not even CLOEXEC */
	asker_begin(NULL,
	    "{ readlink /proc/$$/fd/0; for n in 3 4 5 6 7 8 9 10; do readlink /proc/$$/fd/$n; done; "
	    /* Less 32 and up: whoever started this test may have the C library's own ignored. */
	    "for n in Blk Ign; do v=$(sed -n \"s/^Sig$n:.//p\" /proc/$$/status); "
	    "echo $n $((0x$v & 0x7fffffff)); done; } | tr -s '\\n\\t' '  '");
	asker_ask();
	asker_check_told("/dev/null Blk 0 Ign 0 ");
	close(extra);

	tap_case("who holds its output open is not waited for");
	asker_begin(NULL, "sleep 60 & echo hush");
	asker_ask();
	asker_check_told("hush");
}

/* The helper of a process that is no subreaper has left it to init, or whoever takes orphans here:
 * that is the test, as forks_open has it. So it is asked first whether the process lives. */
static void
test_leftovers(void)
{
	char command[256];
	snprintf(command, sizeof command,
	    "setsid sleep 60 >/dev/null & echo $! >%s/x; mv %s/x %s/left; echo hush",
	    asker.directory, asker.directory, asker.directory);

	tap_case("beside a COMMAND nothing of it is left running");
	asker_begin(NULL, command);
	asker_ask();
	asker_check_told("hush");
	CHECK(!forks_is_alive(asker_read_pid("left")));

	tap_case(
	    "before that, what it has started (an agent) is left alone when it was successful");
	prctl(PR_SET_CHILD_SUBREAPER, 0);
	asker_begin(NULL, command);
	asker_ask();
	asker_check_told("hush");
	pid_t left = asker_read_pid("left");
	CHECK(forks_is_alive(left));
	kill(left, SIGKILL);
	forks_wait_gone(left);

	tap_case("but not when it failed");
	strcat(command, "; exit 1");
	asker_begin(NULL, command);
	asker_ask();
	asker_check_refused("exit status 1");
	CHECK(!forks_is_alive(asker_read_pid("left")));
	prctl(PR_SET_CHILD_SUBREAPER, 1);
}

static void
make_stubborn(char *command, size_t size)
{
	snprintf(command, size,
	    "trap '' TERM; setsid sh -c 'trap \"\" TERM; echo $$ >%s/x; mv %s/x %s/stray; "
	    "while :; do sleep 1; done' & echo $$ >%s/y; mv %s/y %s/shell; "
	    "while :; do sleep 1; done",
	    asker.directory, asker.directory, asker.directory, asker.directory, asker.directory,
	    asker.directory);
}

static void
test_cancelled_commands(void)
{
	char command[512];
	make_stubborn(command, sizeof command);

	tap_case("a command that nobody waits for any more is ended, with all below it");
	asker_begin(NULL, command);
	asker_ask();
	pid_t stray = asker_read_pid("stray"), shell = asker_read_pid("shell"),
	      helper = asker.password.helper;
	CHECK(forks_is_alive(stray) && forks_is_alive(shell));
	asker_cancel();
	/* It is the helper still, that is no part of COMMAND's tree, until all is over. */
	CHECK_INT(asker.password.helper, helper);
	asker_run_until_idle();
	CHECK(!forks_is_alive(stray) && !forks_is_alive(shell));
	CHECK(forks_wait_gone(helper));
	CHECK_INT(asker.count, 0);

	tap_case("one that listens to TERM has a moment");
	char gentle[256];
	snprintf(gentle, sizeof gentle,
	    "trap 'echo >%s/gentle; exit' TERM; echo $$ >%s/y; mv %s/y %s/shell; "
	    "while :; do sleep 0.01; done",
	    asker.directory, asker.directory, asker.directory, asker.directory);
	asker_begin(NULL, gentle);
	asker_ask();
	asker_read_pid("shell");
	asker_cancel();
	asker_run_until_idle();
	char mark[160];
	snprintf(mark, sizeof mark, "%s/gentle", asker.directory);
	CHECK(unlink(mark) == 0);

	tap_case("asked again while the last one is still ending: then anew, and told once");
	asker_begin(NULL, command);
	asker_ask();
	stray = asker_read_pid("stray");
	asker_read_pid("shell");
	asker_cancel();
	asker.password.errand.command = "echo hush";
	asker_ask();
	CHECK_INT(asker.password.state, PASSWORD_QUEUED);
	asker_check_told("hush");
	CHECK(!forks_is_alive(stray));
	CHECK_INT(asker.count, 1);
	asker_cancel();
	asker_run_until_idle();

	tap_case("a helper that was stopped is continued");
	asker_begin(NULL, command);
	asker_ask();
	stray = asker_read_pid("stray");
	asker_read_pid("shell");
	kill(asker.password.helper, SIGSTOP);
	CHECK(forks_wait_state(asker.password.helper, 'T'));
	asker_cancel();
	asker_run_until_idle();
	CHECK(!forks_is_alive(stray));

	tap_case("a helper that was killed is no answer");
	asker_begin(NULL, "sleep 60");
	asker_ask();
	kill(asker.password.helper, SIGKILL);
	CHECK(peer_run_until(&asker.loop, &asker.over, ASKER_LIMIT_MS));
	CHECK_TEXT(asker.secret, "");
	CHECK_HAS(asker.problem.text, "ended without an answer");
	asker_cancel();
	asker_run_until_idle();
}

/* In a child: asks, and dies without a word. */
static void
ask_and_die(const void *command)
{
	asker_begin(NULL, command);
	asker_ask();
	asker_read_pid("shell");
	_exit(0);
}

static void
test_dead_asker(void)
{
	char command[512];
	make_stubborn(command, sizeof command);
	tap_case("when the one who asked dies, the command ends, and all below it");
	CHECK(tap_survives(ask_and_die, command));
	pid_t stray = asker_read_pid("stray");
	for (int i = 0; i < ASKER_LIMIT_MS && forks_is_alive(stray); i++)
		peer_run(&asker.loop, 1);
	CHECK(!forks_is_alive(stray));
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

int
main(void)
{
	if (!asker_open())
		return 1;
	test_commands();
	test_leftovers();
	test_cancelled_commands();
	test_dead_asker();
	asker_close();
	return tap_end();
}
