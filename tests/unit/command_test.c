/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* run/command: the life of a real COMMAND and of what it leaves behind, in a real loop. */
#include "run/command.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "forks.h"
#include "peer.h"
#include "tap.h"

#define LIMIT_MS 20000

static struct loop loop;
static struct signals signals;
static struct spawn_plan plan;
static struct command command;
static struct watch signal_watch;

/* What was told. */
static struct {
	bool failed, stopped, continued, ended, finished, killing;
	int status, stop_number, value, endings, finishes;
	bool by_signal;
	struct problem problem;
	struct instant killing_at;
} told;

static void
note_failed(void *context, int status, const struct problem *problem)
{
	CHECK(context == &told);
	told.failed = true;
	told.status = status;
	told.problem = *problem;
}

static void
note_stopped(void *context, int number)
{
	CHECK(context == &told);
	told.stopped = true;
	told.stop_number = number;
}

static void
note_continued(void *context)
{
	CHECK(context == &told);
	told.continued = true;
}

static void
note_ended(void *context, bool by_signal, int value, struct instant now)
{
	CHECK(context == &told && now.ns > 0);
	told.ended = true;
	told.endings++;
	told.by_signal = by_signal;
	told.value = value;
}

static void
note_finished(void *context, struct instant now)
{
	CHECK(context == &told && now.ns > 0);
	told.finished = true;
	told.finishes++;
}

static void
note_killing(void *context)
{
	CHECK(context == &told);
	CHECK(!told.killing);
	told.killing = true;
	told.killing_at = clock_now();
}

static const struct command_events events = {
    .failed = note_failed,
    .stopped = note_stopped,
    .continued = note_continued,
    .ended = note_ended,
    .finished = note_finished,
    .killing = note_killing,
};

static void
on_signals(void *context, short revents)
{
	int number, code, sender;
	(void)context;
	(void)revents;
	while (signals_read(&signals, &number, &code, &sender)) {
		if (number == SIGCHLD)
			command_reap(&command, clock_now());
	}
}

/* Starts `path` with these arguments, up to its gate. */
static void
start(const char *path, char *const *argv)
{
	struct tree tree;
	memset(&told, 0, sizeof told);
	snprintf(plan.path, sizeof plan.path, "%s", path);
	plan.argv = argv;
	plan.envp = environ;
	plan.signals = &signals;
	command_init(&command, &loop, &plan, &events, &told);
	tree_init(&tree);
	CHECK_INT(tree.bystander_count, 0);
	command.tree.can_list = tree.can_list;
	CHECK_INT(command_start(&command), 0);
	CHECK_INT(command.state, COMMAND_RUNNING);
}

static void
run_shell(const char *script)
{
	static char text[512], shell[] = "/bin/sh", dash_c[] = "-c";
	static char *argv[] = {shell, dash_c, text, NULL};
	snprintf(text, sizeof text, "%s", script);
	start("/bin/sh", argv);
	command_go(&command);
}

static bool
run_until(const bool *done)
{
	return CHECK(peer_run_until(&loop, done, LIMIT_MS));
}

/* Nothing is left in the loop, nor of processes. */
static void
check_clean(void)
{
	peer_run(&loop, 3);
	CHECK(loop.timers == NULL);
	CHECK(loop.watches == &signal_watch && signal_watch.next == NULL);
	CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
}

static void
end_all(void)
{
	command_kill(&command, 10 * NS_PER_S, clock_now());
	if (!told.finished)
		run_until(&told.finished);
	CHECK_INT(command.state, COMMAND_GONE);
	check_clean();
}

/* Waits until COMMAND has `count` children or strays below this process. */
static void
wait_for_left(int count)
{
	pid_t example;
	for (int i = 0; i < LIMIT_MS && command_count_left(&command, &example) < count; i++)
		poll(NULL, 0, 1);
	CHECK_INT(command_count_left(&command, &example), count);
}

/* -- how it ends by itself -------------------------------------------------------------------- */

static void
test_endings(void)
{
	static const struct {
		const char *script;
		bool by_signal;
		int value;
	} rows[] = {
	    {"exit 0", false, 0},
	    {"exit 3", false, 3}, /* P30: not 2, not 768 */
	    {"exit 255", false, 255},
	    {"kill -KILL $$", true, SIGKILL},
	    {"kill -TERM $$", true, SIGTERM},
	    {"ulimit -c 0; kill -SEGV $$", true, SIGSEGV},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		pid_t example;
		tap_case("COMMAND ends: %s", rows[i].script);
		run_shell(rows[i].script);
		run_until(&told.ended);
		CHECK_INT(told.by_signal, rows[i].by_signal);
		CHECK_INT(told.value, rows[i].value);
		CHECK_INT(command_count_left(&command, &example), 0);
		/* Nobody asked for an end, so none is reported; a signal now hits nobody. */
		command_signal(&command, SIGTERM);
		peer_run(&loop, 5);
		CHECK(!told.finished && !told.failed && !told.killing);
		CHECK_INT(told.endings, 1);
		check_clean();
	}
}

static void
test_stops(void)
{
	tap_case("COMMAND's stops and continuations are told");
	run_shell("exec sleep 60");
	peer_run(&loop, 20);
	kill(command.pid, SIGSTOP);
	run_until(&told.stopped);
	CHECK_INT(told.stop_number, SIGSTOP);
	CHECK(!told.continued);
	kill(command.pid, SIGCONT);
	run_until(&told.continued);
	CHECK(!told.ended);
	end_all();
}

/* -- how it is ended -------------------------------------------------------------------------- */

static struct instant
in_ms(int64_t ms)
{
	return instant_plus(clock_now(), ms * NS_PER_MS);
}

static void
test_end(void)
{
	tap_case("S18: ended by the first signal, with its background jobs: no KILL is needed");
	run_shell("sleep 60 & sleep 60 & wait");
	peer_run(&loop, 20);
	command_end(&command, SIGTERM, in_ms(60000), clock_now());
	CHECK_INT(command.state, COMMAND_ENDING);
	run_until(&told.finished);
	CHECK_INT(command.state, COMMAND_GONE);
	CHECK(!told.killing);
	CHECK(told.ended && told.by_signal);
	CHECK_INT(told.value, SIGTERM);
	CHECK_INT(told.finishes, 1);
	check_clean();

	tap_case("P24: who ignores the signal is killed when the grace is over, not before");
	run_shell("trap '' TERM; sleep 60 & sleep 60");
	/* The trap is set when the background job is there. */
	peer_run(&loop, 100);
	struct instant kill_at = in_ms(150);
	command_end(&command, SIGTERM, kill_at, clock_now());
	run_until(&told.finished);
	CHECK(told.killing);
	CHECK(told.killing_at.ns >= kill_at.ns);
	CHECK_INT(told.value, SIGKILL);
	CHECK_INT(command.state, COMMAND_GONE);
	check_clean();

	tap_case("S82: when the time for KILL is over already, KILL is what comes first");
	run_shell("trap 'exit 7' TERM; while :; do sleep 1; done");
	peer_run(&loop, 100);
	struct instant now = clock_now();
	command_end(&command, SIGTERM, now, now);
	CHECK(told.killing);
	if (!told.finished)
		run_until(&told.finished);
	CHECK(told.by_signal);
	CHECK_INT(told.value, SIGKILL);
	check_clean();

	tap_case("asked again, an end only comes sooner");
	run_shell("trap '' TERM; sleep 60");
	peer_run(&loop, 100);
	command_end(&command, SIGTERM, in_ms(600000), clock_now());
	command_end(&command, SIGTERM, in_ms(100), clock_now());
	command_end(&command, SIGTERM, in_ms(600000), clock_now());
	run_until(&told.finished);
	CHECK(told.killing);
	CHECK_INT(told.finishes, 1);
	check_clean();

	tap_case("what is stopped does not sleep through its grace");
	run_shell("exec sleep 60");
	peer_run(&loop, 20);
	kill(command.pid, SIGSTOP);
	run_until(&told.stopped);
	command_end(&command, SIGTERM, in_ms(60000), clock_now());
	run_until(&told.finished);
	CHECK(!told.killing);
	CHECK_INT(told.value, SIGTERM);
	check_clean();
}

static void
test_kill(void)
{
	tap_case("S19, S21: KILL reaches all that came from COMMAND, proven by waitid");
	run_shell("trap '' TERM; setsid sh -c 'sleep 60 & sleep 60' & sleep 60 & wait");
	peer_run(&loop, 100);
	command_kill(&command, 10 * NS_PER_S, clock_now());
	CHECK(told.killing);
	CHECK(told.finished);
	CHECK_INT(command.state, COMMAND_GONE);
	CHECK_INT(told.finishes, 1);
	/* Killed twice is killed once. */
	command_kill(&command, 0, clock_now());
	CHECK_INT(told.finishes, 1);
	check_clean();

	tap_case("without insisting it goes on from the loop");
	run_shell("sleep 60 & sleep 60 & sleep 60 & wait");
	peer_run(&loop, 50);
	command_kill(&command, 0, clock_now());
	if (!told.finished)
		run_until(&told.finished);
	CHECK_INT(command.state, COMMAND_GONE);
	CHECK_INT(told.finishes, 1);
	check_clean();

	tap_case("what outlives COMMAND is counted, left alone, and can be ended");
	run_shell("setsid sleep 60 & sleep 60 & exit 5");
	run_until(&told.ended);
	CHECK_INT(told.value, 5);
	CHECK(!told.by_signal);
	wait_for_left(2);
	pid_t example = 0;
	command_count_left(&command, &example);
	CHECK(forks_is_alive(example));
	CHECK(!told.finished);
	command_end(&command, SIGTERM, in_ms(60000), clock_now());
	if (!told.finished)
		run_until(&told.finished);
	CHECK(!told.killing);
	CHECK_INT(told.endings, 1);
	check_clean();

	tap_case("what outlives COMMAND is waited for: finished when the last has ended by itself");
	run_shell("(sleep 0.1; exit 1) & setsid sleep 0.3 & exit 5");
	run_until(&told.ended);
	wait_for_left(2);
	command_await(&command);
	CHECK_INT(command.state, COMMAND_LINGERING);
	CHECK(!told.finished);
	if (!told.finished)
		run_until(&told.finished);
	CHECK_INT(command.state, COMMAND_GONE);
	CHECK_INT(told.endings, 1);
	CHECK(!told.killing);
	check_clean();

	tap_case("what is waited for can be signalled, and ended");
	run_shell("trap '' USR1; setsid sleep 60 & sleep 60 & exit 5");
	run_until(&told.ended);
	wait_for_left(2);
	command_await(&command);
	command_signal_left(&command, SIGUSR1, false);
	peer_run(&loop, 30);
	CHECK(!told.finished);
	command_end(&command, SIGTERM, in_ms(60000), clock_now());
	if (!told.finished)
		run_until(&told.finished);
	CHECK_INT(command.state, COMMAND_GONE);
	check_clean();

	tap_case("an end for which nobody is left is over at once");
	run_shell("exit 0");
	run_until(&told.ended);
	command_end(&command, SIGTERM, in_ms(60000), clock_now());
	CHECK(told.finished);
	CHECK_INT(command.state, COMMAND_GONE);
	check_clean();
}

int
main(void)
{
	if (loop_open(&loop) != 0 || signals_take_over(&signals) != 0 ||
	    tree_become_subreaper() != 0)
		return 1;
	signal_watch = (struct watch){.fd = signals.fd, .events = POLLIN, .ready = on_signals};
	loop_watch(&loop, &signal_watch);
	test_endings();
	test_stops();
	test_end();
	test_kill();
	return tap_end();
}
