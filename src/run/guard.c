/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "run/guard.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/loop.h"
#include "base/message.h"
#include "exits.h"
#include "run/descriptors.h"
#include "run/testing.h"
#include "run/urgency.h"

/* RUNNER, when it is already killing, has this much time from guard_at on. */
#define RUNNER_RESPITE_NS (2 * NS_PER_S)
#define RESPITE_PULSE_NS (20 * NS_PER_MS)
/* RUNNER ends with its last word; KILL sees to that. */
#define LAST_WORD_PATIENCE_NS NS_PER_S
/* What does not die of KILL (D state, another user's) is not waited for longer. */
#define SWEEP_PATIENCE_NS (10 * NS_PER_S)
#define SWEEP_PASSES_A_WALK 20

struct guard {
	const struct guard_settings *settings;
	struct loop *loop;
	struct watch signal_watch;
	struct watch channel_watch;
	struct timer deadline;
	struct instant respite_until; /* never, or RUNNER is being spared */
};

/* -- the two ways to end ---------------------------------------------------------------------- */

/* Kills RUNNER and waits until it is gone: for CHLD, which is blocked here, so that no time is
 * slept away at the end of every run. Bounded: one in a D state must not hold us. */
static void
end_runner(pid_t runner)
{
	struct instant until = instant_plus(clock_now(), LAST_WORD_PATIENCE_NS);
	sigset_t child;
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	kill(runner, SIGKILL);
	while (waitpid(runner, NULL, WNOHANG) == 0) {
		int64_t left_ns = instant_between(clock_now(), until);
		const struct timespec left = {
		    .tv_nsec = left_ns < NS_PER_S ? left_ns : NS_PER_S - 1};
		if (left_ns <= 0)
			break;
		sigtimedwait(&child, NULL, &left);
	}
}

/* RUNNER has said its last word. It may be stopped before its end, or be slow: nothing is left for
 * it to do. */
static _Noreturn void
end_as_told(struct guard *guard, const struct message *last_word)
{
	if (guard->settings->tree->known > 0)
		end_runner(guard->settings->runner);
	/* RUNNER reports before it speaks, unless it was killed in between. */
	bool by_signal = last_word->kind == MESSAGE_SIGNALED;
	const struct report_end end = {
	    .outcome = (enum report_outcome)atomic_load(&guard->settings->channel->page->outcome),
	    .status = !by_signal ? last_word->number
		: getpid() == 1  ? EXIT_BY_SIGNAL + last_word->number
				 : REPORT_NO_STATUS,
	    .signal_number = by_signal ? last_word->number : 0,
	};
	report_write(guard->settings->report, &end);
	if (by_signal)
		signals_die_of(last_word->number);
	_exit(last_word->number);
}

/* Kills RUNNER, if it lives, and everything below, whose parent this process then is. */
static _Noreturn void
end_by_force(struct guard *guard, const char *why)
{
	struct tree *tree = guard->settings->tree;
	struct instant until = instant_plus(clock_now(), SWEEP_PATIENCE_NS);
	bool has_lock = guard->settings->has_lock;
	int left;
	tree->helpers[0] = NULL;
	tree_kill(tree);
	for (int pass = 1; (left = tree_sweep(tree)) > 0; pass++) {
		if (instant_reached(until, clock_now()))
			break;
		/* While RUNNER does not die, what is below it is not ours to sweep. */
		if (pass % SWEEP_PASSES_A_WALK == 0)
			tree_kill(tree);
		poll(NULL, 0, 1);
	}
	terminal_mend(guard->settings->terminal, true);
	message_error("%s '%s': %s", has_lock ? "lost" : "ended the command of",
	    guard->settings->name, why);
	if (left > 0)
		message_error("%d processes of its command do not die (pid %d is one)", left,
		    (int)tree->example);
	const struct report_end end = {
	    .outcome = has_lock ? REPORT_LOST : REPORT_INTERRUPTED,
	    .status = EXIT_LOST,
	    .reason = why,
	};
	report_write(guard->settings->report, &end);
	_exit(EXIT_LOST);
}

/* -- RUNNER speaks ---------------------------------------------------------------------------- */

/* Handles what has been said; returns whether RUNNER's end is closed. */
static bool
hear_runner(struct guard *guard)
{
	struct message message;
	int status;
	while ((status = channel_receive(guard->channel_watch.fd, &message)) > 0) {
		switch ((enum message_kind)message.kind) {
		case MESSAGE_STOPPED:
			signals_stop_like(message.number, guard->channel_watch.fd);
			break;
		case MESSAGE_CONTINUED: /* has woken us: see wake_by_channel */
			break;
		case MESSAGE_EXITED:
		case MESSAGE_SIGNALED:
			end_as_told(guard, &message);
		case MESSAGE_SIGNAL:
			break;
		}
	}
	return status < 0;
}

static void
on_channel(void *context, short revents)
{
	struct guard *guard = context;
	(void)revents;
	/* What follows an end of file is CHLD. */
	if (hear_runner(guard))
		loop_unwatch(guard->loop, &guard->channel_watch);
}

/* -- signals ---------------------------------------------------------------------------------- */

/* Stopping a killer shall not help. RUNNER's own timer is not enough: it fires once, and again only
 * when RUNNER has read of it (timer_create(2)), which who is busy or stopped a second time has not.
 */
static void
continue_killer(const struct guard *guard)
{
	const union sigval nothing = {.sival_int = 0};
	if (atomic_load(&guard->settings->channel->page->phase) == PHASE_KILLING)
		sigqueue(guard->settings->runner, SIGCONT, nothing);
}

static void
check_runner(struct guard *guard)
{
	siginfo_t info = {0};
	int status = waitid(P_PID, (id_t)guard->settings->runner, &info, WEXITED | WNOHANG);
	if (status != 0 || info.si_pid == 0) {
		continue_killer(guard); /* this may be news of its stop */
		/* As process 1 of a container, or below one that left orphans: those are reaped. */
		tree_reap(guard->settings->tree);
		return;
	}
	guard->settings->tree->known = 0;
	int64_t packed = atomic_load(&guard->settings->channel->page->last_word);
	if (packed != 0) {
		struct message last_word;
		channel_unpack(packed, &last_word);
		end_as_told(guard, &last_word);
	}
	end_by_force(guard,
	    guard->settings->has_lock
		? "the process that renewed it was killed; its command has been killed"
		: "the process of dlock that watched over it was killed");
}

static void
on_signals(void *context, short revents)
{
	struct guard *guard = context;
	struct message message = {.kind = MESSAGE_SIGNAL};
	(void)revents;
	while (signals_read(guard->settings->signals, &message.number, &message.code,
	    &message.sender)) {
		if (message.number == SIGCHLD)
			check_runner(guard);
		else if (message.number == SIGCONT && message.code >= POLL_IN &&
		    message.code <= POLL_HUP)
			continue; /* the kernel's, for the channel */
		else if (message.number != SIGTTIN && message.number != SIGTTOU)
			channel_send(guard->channel_watch.fd, &message);
	}
}

/* -- the deadline ----------------------------------------------------------------------------- */

static void
spare_runner(struct guard *guard, struct instant now)
{
	if (guard->respite_until.ns == INT64_MAX)
		guard->respite_until = instant_plus(now, RUNNER_RESPITE_NS);
	continue_killer(guard);
	tree_signal(guard->settings->tree, guard->settings->runner, SIGKILL);
	loop_set_timer(guard->loop, &guard->deadline, instant_plus(now, RESPITE_PULSE_NS));
}

static void
on_deadline(void *context, struct instant now)
{
	struct guard *guard = context;
	struct page *page = guard->settings->channel->page;
	struct instant guard_at = {atomic_load(&page->guard_at_ns)};

	if (guard_at.ns == INT64_MAX || testing_hook("no-guard"))
		return;
	if (!instant_reached(guard_at, now)) {
		loop_set_timer(guard->loop, &guard->deadline, guard_at);
		return;
	}
	if (atomic_load(&page->phase) == PHASE_KILLING &&
	    !instant_reached(guard->respite_until, now)) {
		spare_runner(guard, now);
		return;
	}
	end_by_force(guard,
	    "it could not be confirmed in time, and the process that renews it did "
	    "not act; its command has been killed");
}

/* The clock comes before any descriptor, also when the machine has just woken. */
static void
on_wake(void *context, struct instant now)
{
	struct guard *guard = context;
	if (guard->deadline.linked && instant_reached(guard->deadline.at, now)) {
		loop_stop_timer(guard->loop, &guard->deadline);
		on_deadline(guard, now);
	}
}

/* A stopped OUTER (control-Z; COMMAND stopped itself) sees no message and no CHLD, and its timer is
 * of no use: so the kernel continues it when RUNNER says something, and when RUNNER dies. This is
 * set before RUNNER is there, or a stop in between would last for ever. */
static void
wake_by_channel(int fd)
{
	fcntl(fd, F_SETOWN, getpid());
	/* Where that is not to be had the signal would be one that ends us. */
	if (fcntl(fd, F_SETSIG, SIGCONT) == 0)
		fcntl(fd, F_SETFL, O_NONBLOCK | O_ASYNC);
}

int
guard_prepare(const struct guard_settings *settings)
{
	if (loop_open(settings->loop) != 0)
		return -1;
	wake_by_channel(settings->channel->ends[CHANNEL_OUTER]);
	return 0;
}

_Noreturn void
guard_run(const struct guard_settings *settings)
{
	struct guard guard = {
	    .settings = settings,
	    .loop = settings->loop,
	    .respite_until = INSTANT_NEVER,
	};
	message_never_block();
	urgency_raise();
	guard.loop->first = on_wake;
	guard.loop->first_context = &guard;
	guard.signal_watch = (struct watch){.fd = settings->signals->fd,
	    .events = POLLIN,
	    .ready = on_signals,
	    .context = &guard};
	guard.channel_watch = (struct watch){.fd = settings->channel->ends[CHANNEL_OUTER],
	    .events = POLLIN,
	    .ready = on_channel,
	    .context = &guard};
	guard.deadline = (struct timer){.due = on_deadline, .context = &guard};
	loop_watch(guard.loop, &guard.signal_watch);
	loop_watch(guard.loop, &guard.channel_watch);
	loop_set_timer(guard.loop, &guard.deadline,
	    (struct instant){atomic_load(&settings->channel->page->guard_at_ns)});
	descriptors_let_go();
	settings->tree->helpers[0] = &settings->runner; /* reaped by check_runner alone */
	for (;;) {
		if (loop_run_once(guard.loop) != 0)
			end_by_force(&guard, "the guard cannot wait for events");
	}
}
