/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "run/runner.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/message.h"
#include "base/values.h"
#include "exits.h"
#include "run/channel.h"
#include "run/command.h"
#include "run/deadman.h"
#include "run/descriptors.h"
#include "run/forward.h"
#include "run/guard.h"
#include "run/testing.h"

extern char **environ;

#define WAIT_NOTICE_FIRST_NS NS_PER_S
#define WAIT_NOTICE_NEXT_NS (60 * NS_PER_S)
/* While it gives the lock back nothing needs killing, but a stop must not last. */
#define RELEASE_WAKE_NS (100 * NS_PER_MS)
#define WAKE_LEAST_NS (20 * NS_PER_MS)
#define EARLY_SIGNALS 8

enum stage {
	STAGE_RUNNING,   /* COMMAND runs */
	STAGE_ENDING,    /* it must end: lock lost, died of a signal, OUTER dead */
	STAGE_RELEASING, /* it is over: the lock is being given back */
};

struct runner {
	const struct run_settings *settings;
	struct loop *loop;
	struct lock lock;
	struct timer lock_timer;
	struct watch signal_watch;

	/* While acquiring. */
	int ended_by; /* the signal that ends the wait */
	struct timer wait_notice;

	/* While keeping, in RUNNER. */
	enum stage stage;
	struct spawn_plan plan;
	struct command command;
	struct channel channel;
	struct watch channel_watch;
	struct deadman deadman;
	struct forward forward;
	struct timer forward_timer;
	pid_t outer;
	bool outer_gone;
	bool by_signal; /* how COMMAND ended */
	int value;
	bool not_executed;
	bool lost;
	bool lost_told;
	struct instant ended_at; /* INSTANT_NEVER: it still runs */
};

/* -- words ------------------------------------------------------------------------------------ */

static void
describe_holder(const struct holder *holder, char *out, size_t size)
{
	char who[768];
	if (!holder->known) {
		snprintf(out, size, "held by an unknown client (token %s)%s", holder->token,
		    holder->left_ns < 0 ? "; its key has no expiry, somebody must delete it" : "");
		return;
	}
	identity_describe(&holder->identity, holder->finished ? -1 : holder->held_ns, who, sizeof who);
	if (!holder->finished) {
		snprintf(out, size, "held by %s", who);
		return;
	}
	char clock[16] = "?";
	time_t until = time(NULL) + (time_t)(holder->left_ns / NS_PER_S);
	struct tm local;
	if (localtime_r(&until, &local) != NULL)
		strftime(clock, sizeof clock, "%H:%M:%S", &local);
	snprintf(out, size, "kept by %s: finished, held until %s", who, clock);
}

/* -- acquiring -------------------------------------------------------------------------------- */

static void
on_lock_due(void *context, struct instant now)
{
	struct runner *runner = context;
	lock_tick(&runner->lock, now);
}

/* One turn of the loop, with the lock's next deadline in it. */
static int
turn(struct runner *runner)
{
	struct instant due = lock_due(&runner->lock);
	if (due.ns == INT64_MAX)
		loop_stop_timer(runner->loop, &runner->lock_timer);
	else
		loop_set_timer(runner->loop, &runner->lock_timer, due);
	return loop_run_once(runner->loop);
}

static void
on_wait_notice(void *context, struct instant now)
{
	struct runner *runner = context;
	char who[1024];
	loop_set_timer(runner->loop, &runner->wait_notice, instant_plus(now, WAIT_NOTICE_NEXT_NS));
	if (runner->lock.failures > 0) {
		message_notice("waiting for '%s': %s: %s", runner->settings->name,
		    runner->settings->store->server, runner->lock.problem.text);
	} else if (runner->lock.state == LOCK_WAITING) {
		describe_holder(&runner->lock.holder, who, sizeof who);
		message_notice("waiting for '%s', %s", runner->settings->name, who);
	}
}

static void
on_waiter_signals(void *context, short revents)
{
	struct runner *runner = context;
	int number, code, sender;
	(void)revents;
	while (signals_read(runner->settings->signals, &number, &code, &sender)) {
		if (runner->ended_by != 0 || !signals_ends_waiter(runner->settings->signals, number))
			continue;
		runner->ended_by = number;
		lock_give_up(&runner->lock, clock_now());
	}
}

static int
explain_failure(struct runner *runner)
{
	const struct run_settings *settings = runner->settings;
	const char *problem = runner->lock.problem.text;
	char who[1024];
	switch (runner->lock.failure) {
	case OUTCOME_HELD:
		if (runner->ended_by != 0)
			signals_die_of(runner->ended_by);
		describe_holder(&runner->lock.holder, who, sizeof who);
		message_notice("'%s' is %s", settings->name, who);
		return settings->conflict_status;
	case OUTCOME_DENIED:
		message_error("cannot lock '%s' at %s: %s", settings->name, settings->store->server,
		    problem);
		return EXIT_DENIED;
	case OUTCOME_OK:
	case OUTCOME_LOST:
	case OUTCOME_UNREACHABLE:
	case OUTCOME_REFUSED:
	case OUTCOME_UNKNOWN:
		break;
	}
	message_error("cannot lock '%s' at %s: %s", settings->name, settings->store->server, problem);
	return EXIT_UNREACHABLE;
}

/* 0: the lock is held; else an exit status. */
static int
acquire(struct runner *runner)
{
	const struct run_settings *settings = runner->settings;
	struct instant now = clock_now();
	runner->signal_watch = (struct watch){
	    .fd = settings->signals->fd, .events = POLLIN, .ready = on_waiter_signals, .context = runner};
	runner->wait_notice = (struct timer){.due = on_wait_notice, .context = runner};
	loop_watch(runner->loop, &runner->signal_watch);
	loop_set_timer(runner->loop, &runner->wait_notice, instant_plus(now, WAIT_NOTICE_FIRST_NS));
	lock_acquire(&runner->lock, now);
	while (runner->lock.state != LOCK_HELD && runner->lock.state != LOCK_FAILED &&
	    runner->lock.state != LOCK_RELEASED) {
		if (turn(runner) != 0)
			return EXIT_SYSTEM;
	}
	loop_stop_timer(runner->loop, &runner->wait_notice);
	loop_unwatch(runner->loop, &runner->signal_watch);
	if (runner->ended_by != 0)
		signals_die_of(runner->ended_by);
	return runner->lock.state == LOCK_HELD ? 0 : explain_failure(runner);
}

/* -- keeping: the lease ----------------------------------------------------------------------- */

static bool
kills_by_the_clock(const struct runner *runner)
{
	return runner->settings->on_lost == ON_LOST_KILL && !testing_hook("no-kill");
}

/* After each confirmation: the page first, then the timers, so that no net has an old deadline
 * when another already trusts the new one. */
static void
spread_deadline(struct runner *runner)
{
	const struct lease_terms *terms = &runner->settings->lock.terms;
	struct instant t0 = runner->lock.t0;
	struct instant guard_at = INSTANT_NEVER;
	struct instant kill_at = INSTANT_NEVER;
	int64_t wake_every = terms->slack_ns / 2;

	if (runner->settings->on_lost == ON_LOST_KILL)
		guard_at = lease_guard_at(terms, t0);
	if (!testing_hook("no-guard"))
		kill_at = guard_at;
	atomic_store(&runner->channel.page->guard_at_ns, guard_at.ns);
	deadman_arm(&runner->deadman, lease_renew_at(terms, t0),
	    wake_every > WAKE_LEAST_NS ? wake_every : WAKE_LEAST_NS, kill_at);
	message_debug("confirmed t0=%lld.%09lld ttl=%lldms", (long long)(t0.ns / NS_PER_S),
	    (long long)(t0.ns % NS_PER_S), (long long)ms_from_ns(terms->ttl_ns));
}

/* Nothing is left to be killed: the nets are taken down, but for a wake-up call. */
static void
stand_down(struct runner *runner)
{
	atomic_store(&runner->channel.page->guard_at_ns, INT64_MAX);
	deadman_arm(&runner->deadman, instant_plus(clock_now(), RELEASE_WAKE_NS), RELEASE_WAKE_NS,
	    INSTANT_NEVER);
}

static void
tell_loss(struct runner *runner, struct instant now)
{
	const struct lock *lock = &runner->lock;
	const char *name = runner->settings->name;
	char who[1024], since[32];
	if (runner->lost_told || !lock->explained)
		return;
	runner->lost_told = true;
	switch (lock->loss) {
	case LOSS_NONE:
		break;
	case LOSS_GONE:
		message_error("lost '%s': the key is gone", name);
		break;
	case LOSS_ANOTHER:
		who[0] = '\0';
		if (lock->holder.token[0] != '\0')
			describe_holder(&lock->holder, who, sizeof who);
		message_error("lost '%s': another holder has it%s%s", name, who[0] ? ": " : "", who);
		break;
	case LOSS_UNCONFIRMED:
		message_error("lost '%s': could not be confirmed since %s (%s: %s)", name,
		    value_print_duration(since, sizeof since, instant_between(lock->t0, now)),
		    runner->settings->store->server,
		    lock->problem.text[0] ? lock->problem.text : "no renewal in time");
		break;
	}
}

static void
on_lost(struct runner *runner, struct instant now)
{
	const struct run_settings *settings = runner->settings;
	struct instant kill_at = instant_earlier(
	    instant_plus(now, settings->lock.terms.grace_ns),
	    lease_kill_at(&settings->lock.terms, runner->lock.t0));
	if (!runner->lost && runner->stage != STAGE_RELEASING) {
		runner->lost = true;
		if (settings->on_lost == ON_LOST_SIGNAL) {
			command_signal_tree(&runner->command, settings->first_signal);
		} else if (!testing_hook("no-kill")) {
			runner->stage = STAGE_ENDING;
			command_end(&runner->command, settings->first_signal, kill_at, now);
		}
	}
	tell_loss(runner, now);
}

static void
tell_trouble(struct runner *runner, struct instant now)
{
	char left[32];
	int64_t left_ns =
	    instant_between(now, lease_term_at(&runner->settings->lock.terms, runner->lock.t0));
	message_verbose("cannot renew '%s' at %s: %s; its command is ended in %s",
	    runner->settings->name, runner->settings->store->server, runner->lock.problem.text,
	    value_print_duration(left, sizeof left, left_ns));
}

static _Noreturn void
end_runner(struct runner *runner);

static void
on_lock_changed(void *context, struct lock *lock, struct instant now)
{
	struct runner *runner = context;
	switch (lock->state) {
	case LOCK_HELD:
		spread_deadline(runner);
		break;
	case LOCK_DOUBTFUL:
		tell_trouble(runner, now);
		break;
	case LOCK_LOST:
		on_lost(runner, now);
		break;
	case LOCK_RELEASED:
		end_runner(runner);
	case LOCK_IDLE:
	case LOCK_ASKING:
	case LOCK_WAITING:
	case LOCK_RELEASING:
	case LOCK_LEAVING:
	case LOCK_FAILED:
		break;
	}
}

/* Runs first on every wake-up. What has ended is reaped before its lease is judged: a command
 * that finished in time did so also when we learn of it late. */
static void
on_wake(void *context, struct instant now)
{
	struct runner *runner = context;
	const struct lease_terms *terms = &runner->settings->lock.terms;
	if (runner->stage == STAGE_RELEASING ||
	    !instant_reached(lease_term_at(terms, runner->lock.t0), now))
		return;
	command_reap(&runner->command, now);
	if (runner->stage == STAGE_RELEASING)
		return;
	if (kills_by_the_clock(runner) &&
	    instant_reached(lease_kill_at(terms, runner->lock.t0), now)) {
		runner->stage = STAGE_ENDING;
		runner->lost = true;
		command_kill(&runner->command, terms->slack_ns, now);
	}
	if (runner->stage != STAGE_RELEASING)
		lock_tick(&runner->lock, now);
}

/* -- keeping: COMMAND ------------------------------------------------------------------------- */

static void
give_back(struct runner *runner, struct instant now)
{
	int64_t rest_ns = 0;
	runner->stage = STAGE_RELEASING;
	stand_down(runner);
	if (runner->settings->at_least_ns > 0 && !runner->not_executed) {
		rest_ns = runner->settings->at_least_ns -
		    instant_between(runner->lock.acquired_at, now);
		if (rest_ns < NS_PER_MS)
			rest_ns = 0;
	}
	lock_release(&runner->lock, now, rest_ns);
}

static void
end_tree(struct runner *runner, struct instant now)
{
	runner->stage = STAGE_ENDING;
	command_end(&runner->command, runner->settings->first_signal,
	    instant_plus(now, runner->settings->lock.terms.grace_ns), now);
}

static void
on_command_failed(void *context, int status, const struct problem *problem)
{
	struct runner *runner = context;
	runner->not_executed = true;
	runner->value = status;
	runner->ended_at = clock_now();
	message_error("%s", problem->text);
	if (runner->stage != STAGE_ENDING)
		give_back(runner, runner->ended_at);
}

static void
on_command_stopped(void *context, int number)
{
	struct runner *runner = context;
	const struct message stopped = {.kind = MESSAGE_STOPPED, .number = number};
	channel_send(runner->channel_watch.fd, &stopped);
}

static void
on_command_ended(void *context, bool by_signal, int value, struct instant now)
{
	struct runner *runner = context;
	pid_t example;
	runner->by_signal = by_signal;
	runner->value = value;
	runner->ended_at = now;
	if (runner->stage == STAGE_ENDING)
		return;
	int left = command_count_left(&runner->command, &example);
	if (left > 0 && by_signal) {
		end_tree(runner, now);
		return;
	}
	if (left > 0)
		message_notice("the command of '%s' has ended and left %d process%s running (pid %d%s)",
		    runner->settings->name, left, left == 1 ? "" : "es", (int)example,
		    left == 1 ? "" : " is one");
	give_back(runner, now);
}

static void
on_command_killing(void *context)
{
	struct runner *runner = context;
	atomic_store(&runner->channel.page->phase, PHASE_KILLING);
	deadman_begin_sweep(&runner->deadman);
}

static void
on_command_finished(void *context, struct instant now)
{
	struct runner *runner = context;
	if (runner->ended_at.ns == INT64_MAX || runner->lost)
		runner->ended_at = now;
	if (runner->command.state == COMMAND_STUCK) {
		message_error("processes of '%s' do not die (pid %d is one): the lock is left to its TTL",
		    runner->settings->name, (int)runner->command.tree.example);
		end_runner(runner);
	}
	give_back(runner, now);
}

/* -- keeping: signals and OUTER --------------------------------------------------------------- */

static void
see_signal(struct runner *runner, enum forward_witness witness, int number, int code, int sender)
{
	/* Its own medicine is not given back to COMMAND. */
	if (sender > 0 && sender == runner->command.pid)
		return;
	bool from_group = sender > 0 && getpgid(sender) == getpgrp();
	forward_see(&runner->forward, witness, number, code, sender, from_group, clock_now());
}

static void
pass_signals_on(void *context, struct instant now)
{
	struct runner *runner = context;
	bool by_runner;
	int number;
	while ((number = forward_next(&runner->forward, now, &by_runner)) != 0) {
		/* A stopped OUTER cannot say that it got it too: then the group did. */
		if (!by_runner || !tree_has_pending(runner->outer, number))
			command_signal(&runner->command, number);
	}
	struct instant due = forward_due(&runner->forward);
	if (due.ns != INT64_MAX)
		loop_set_timer(runner->loop, &runner->forward_timer, due);
}

static void
on_keeper_signals(void *context, short revents)
{
	struct runner *runner = context;
	int number, code, sender;
	(void)revents;
	while (signals_read(runner->settings->signals, &number, &code, &sender)) {
		if (number == SIGCHLD)
			command_reap(&runner->command, clock_now());
		else if (code != SI_TIMER && number != SIGTTIN && number != SIGTTOU)
			see_signal(runner, FORWARD_BY_RUNNER, number, code, sender);
	}
	pass_signals_on(runner, clock_now());
}

static void
on_channel(void *context, short revents)
{
	struct runner *runner = context;
	struct message message;
	int status;
	(void)revents;
	while ((status = channel_receive(runner->channel_watch.fd, &message)) > 0) {
		if (message.kind == MESSAGE_SIGNAL)
			see_signal(runner, FORWARD_BY_OUTER, message.number, message.code,
			    message.sender);
	}
	pass_signals_on(runner, clock_now());
	if (status >= 0)
		return;
	/* OUTER was killed: whoever did it wanted the job to end. */
	loop_unwatch(runner->loop, &runner->channel_watch);
	runner->outer_gone = true;
	if (runner->stage == STAGE_RUNNING)
		end_tree(runner, clock_now());
}

/* -- keeping: from start to end --------------------------------------------------------------- */

static void
tell_release(const struct runner *runner)
{
	const struct lock *lock = &runner->lock;
	const char *name = runner->settings->name;
	char held[32];
	if (lock->loss != LOSS_NONE && lock->released != RELEASE_UNCONFIRMED)
		return;
	switch (lock->released) {
	case RELEASE_CONFIRMED:
		message_verbose("released '%s' after %s", name,
		    value_print_duration(held, sizeof held,
		        instant_between(lock->acquired_at, clock_now())));
		break;
	case RELEASE_FOUND_LOST:
		message_error("lost '%s': at its release it was no longer ours", name);
		break;
	case RELEASE_UNCONFIRMED:
		message_error("cannot release '%s' at %s: %s; it is free when its TTL is over", name,
		    runner->settings->store->server,
		    lock->problem.text[0] ? lock->problem.text : "no answer");
		break;
	}
}

/* For how long COMMAND may have run without the lock: after a loss that the clock told, from the
 * end of the lease; after one that the server told, at most from the last confirmation. */
static void
tell_breach(const struct runner *runner)
{
	const struct lock *lock = &runner->lock;
	const struct lease_terms *terms = &runner->settings->lock.terms;
	bool by_clock = lock->loss == LOSS_UNCONFIRMED || lock->loss == LOSS_NONE;
	struct instant from =
	    by_clock && lock->released != RELEASE_FOUND_LOST ? lease_sure_until(terms, lock->t0) : lock->t0;
	int64_t breach = instant_between(from, runner->ended_at);
	char text[32];
	if (breach > 0)
		message_error("exclusivity of '%s' may have been broken for up to %s",
		    runner->settings->name, value_print_duration(text, sizeof text, breach));
}

static bool
was_lost(const struct runner *runner)
{
	const struct lock *lock = &runner->lock;
	if (runner->lost || lock->loss != LOSS_NONE)
		return true;
	if (lock->state != LOCK_RELEASED)
		return false;
	/* Found out at release only: it counts if COMMAND ran after it was surely ours. */
	if (lock->released == RELEASE_FOUND_LOST)
		return true;
	return lock->released == RELEASE_UNCONFIRMED &&
	    runner->ended_at.ns > lease_sure_until(&runner->settings->lock.terms, lock->t0).ns;
}

/* RUNNER's last act. */
static _Noreturn void
end_runner(struct runner *runner)
{
	struct message last_word = {.kind = MESSAGE_EXITED, .number = runner->value};
	if (runner->lock.state == LOCK_RELEASED)
		tell_release(runner);
	if (was_lost(runner)) {
		runner->lock.explained = true;
		tell_loss(runner, clock_now());
		tell_breach(runner);
		last_word.number = EXIT_LOST;
	} else if (runner->by_signal) {
		last_word.kind = MESSAGE_SIGNALED;
	}
	channel_send(runner->channel_watch.fd, &last_word);
	_exit(0);
}

static char *
setting(const char *name, const char *value)
{
	char *text = malloc(strlen(name) + strlen(value) + 2);
	if (text != NULL)
		sprintf(text, "%s=%s", name, value);
	return text;
}

static int
prepare_environment(struct runner *runner)
{
	const struct run_settings *settings = runner->settings;
	char *const values[] = {
	    setting("DLOCK_NAME", settings->name),
	    setting("DLOCK_KEY", settings->key),
	    setting("DLOCK_TOKEN", settings->token),
	    setting("DLOCK_FENCE", runner->lock.fence),
	};
	size_t count = sizeof values / sizeof *values;
	for (size_t i = 0; i < count; i++) {
		if (values[i] == NULL)
			return -1;
	}
	runner->plan.envp = spawn_environment(environ, values, count);
	return runner->plan.envp == NULL ? -1 : 0;
}

/* Signals for the whole group that came before COMMAND was there to get them. */
static int
read_early_signals(struct runner *runner, int early[EARLY_SIGNALS])
{
	int number, code, sender, count = 0;
	while (signals_read(runner->settings->signals, &number, &code, &sender)) {
		if (number == SIGCHLD || code == SI_TIMER || count == EARLY_SIGNALS)
			continue;
		forward_see_settled(&runner->forward, number, code, sender, clock_now());
		early[count++] = number;
	}
	return count;
}

static int
start_command(struct runner *runner)
{
	static const struct command_events events = {
	    .failed = on_command_failed,
	    .stopped = on_command_stopped,
	    .ended = on_command_ended,
	    .finished = on_command_finished,
	    .killing = on_command_killing,
	};
	int early[EARLY_SIGNALS];
	runner->plan.argv = runner->settings->argv;
	runner->plan.signals = runner->settings->signals;
	command_init(&runner->command, runner->loop, &runner->plan, &events, runner);
	runner->command.tree.can_list = runner->settings->tree->can_list;
	if (prepare_environment(runner) != 0)
		return -1;
	int count = read_early_signals(runner, early);
	if (command_start(&runner->command) != 0)
		return -1;
	for (int i = 0; i < count; i++)
		command_signal(&runner->command, early[i]);
	return 0;
}

static void
watch_everything(struct runner *runner)
{
	runner->signal_watch.ready = on_keeper_signals;
	runner->channel_watch = (struct watch){.fd = channel_take(&runner->channel, CHANNEL_RUNNER),
	    .events = POLLIN,
	    .ready = on_channel,
	    .context = runner};
	runner->forward_timer = (struct timer){.due = pass_signals_on, .context = runner};
	runner->ended_at = INSTANT_NEVER;
	runner->lock.changed = on_lock_changed;
	runner->lock.context = runner;
	runner->loop->first = on_wake;
	runner->loop->first_context = runner;
	loop_watch(runner->loop, &runner->signal_watch);
	loop_watch(runner->loop, &runner->channel_watch);
}

static _Noreturn void
keep(struct runner *runner)
{
	prctl(PR_SET_NAME, "dlock-run");
	message_never_block();
	watch_everything(runner);
	if (tree_become_subreaper() != 0 || deadman_open(&runner->deadman) != 0)
		goto system_error;
	spread_deadline(runner);
	if (start_command(runner) != 0)
		goto system_error;
	descriptors_let_go();
	for (;;) {
		if (turn(runner) != 0)
			break;
	}
	/* Deaf and blind: OUTER and PDEATHSIG do the rest. */
	_exit(EXIT_SYSTEM);

system_error:
	message_error("cannot start the command of '%s': %s", runner->settings->name, strerror(errno));
	runner->not_executed = true;
	runner->value = EXIT_SYSTEM;
	runner->ended_at = clock_now();
	give_back(runner, runner->ended_at);
	while (turn(runner) == 0)
		;
	_exit(EXIT_SYSTEM);
}

/* One process becomes two. Returns only when it cannot. */
static int
split(struct runner *runner)
{
	const struct run_settings *settings = runner->settings;
	struct guard_settings guard = {
	    .name = settings->name,
	    .channel = &runner->channel,
	    .signals = settings->signals,
	    .tree = settings->tree,
	};
	if (channel_open(&runner->channel) != 0 || tree_become_subreaper() != 0)
		return -1;
	if (settings->on_lost == ON_LOST_KILL)
		atomic_store(&runner->channel.page->guard_at_ns,
		    lease_guard_at(&settings->lock.terms, runner->lock.t0).ns);
	signals_block_stops(settings->signals);
	runner->outer = getpid();
	guard.runner = fork();
	if (guard.runner < 0)
		return -1;
	if (guard.runner == 0)
		keep(runner);
	settings->tree->known = guard.runner;
	channel_take(&runner->channel, CHANNEL_OUTER);
	settings->store->operations->forget(settings->store);
	loop_close(runner->loop);
	guard_run(&guard);
}

int
runner_run(const struct run_settings *settings)
{
	static struct runner runner;
	struct problem problem;
	char waited[32];
	runner.settings = settings;
	runner.loop = settings->loop;
	runner.lock_timer = (struct timer){.due = on_lock_due, .context = &runner};

	int status = spawn_look_up(settings->argv[0], runner.plan.path, sizeof runner.plan.path, &problem);
	if (status != 0) {
		message_error("%s", problem.text);
		return status;
	}
	lock_init(&runner.lock, settings->store, &settings->lock, settings->seed);
	status = acquire(&runner);
	if (status != 0)
		return status;
	message_verbose("acquired '%s' after %s, fence %s", settings->name,
	    value_print_duration(waited, sizeof waited,
	        instant_between(runner.lock.asked_at, clock_now())),
	    runner.lock.fence);
	if (split(&runner) == 0)
		return 0;
	message_error("cannot run the command of '%s': %s", settings->name, strerror(errno));
	lock_release(&runner.lock, clock_now(), 0);
	while (runner.lock.state != LOCK_RELEASED && turn(&runner) == 0)
		;
	return EXIT_SYSTEM;
}
