/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "run/signals.h"

#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "exits.h"

static const int changed[SIGNALS_CHANGED] = {SIGPIPE, SIGXFSZ, SIGCHLD};

/* Passed on to COMMAND, or ending a waiter (SPEC section 4). */
static const int passed_on[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM,
    SIGWINCH, SIGCONT};

/* The others that end a process by default; the real-time signals do too. Not the faults: a process
 * that has one cannot go on. */
static const int deadly[] = {SIGVTALRM, SIGPROF, SIGXCPU, SIGIO, SIGPWR, SIGSTKFLT, SIGABRT,
    SIGTRAP, SIGSYS};

static const int stops[] = {SIGTSTP, SIGTTIN, SIGTTOU};

/* The mask as the kernel knows it. The C libraries hide the signals that they use themselves, which
 * a caller may nevertheless have blocked: glibc 32 and 33, musl also 34, another's SIGRTMIN. */
static int
kernel_mask(const sigset_t *set, sigset_t *before)
{
	return (int)syscall(SYS_rt_sigprocmask, SIG_SETMASK, set, before, sizeof(uint64_t));
}

static void
add_deadly(sigset_t *set)
{
	for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++)
		sigaddset(set, deadly[i]);
	for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
		sigaddset(set, number);
}

int
signals_take_over(struct signals *signals)
{
	sigset_t ours;
	sigemptyset(&signals->mask);
	sigemptyset(&ours);
	for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++)
		sigaddset(&ours, passed_on[i]);
	add_deadly(&ours);
	sigaddset(&ours, SIGCHLD);
	if (kernel_mask(NULL, &signals->mask) != 0 || sigprocmask(SIG_BLOCK, &ours, NULL) != 0)
		return -1;
	for (size_t i = 0; i < SIGNALS_CHANGED; i++)
		sigaction(changed[i], NULL, &signals->dispositions[i]);
	/* A line that stderr does not take, a closed pipe or a file at its limit, must not end us.
	 */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	for (size_t i = 0; i < sizeof stops / sizeof *stops; i++)
		sigaddset(&ours, stops[i]);
	signals->fd = signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK);
	return signals->fd < 0 ? -1 : 0;
}

void
signals_block_stops(void)
{
	sigset_t set;
	sigemptyset(&set);
	for (size_t i = 0; i < sizeof stops / sizeof *stops; i++)
		sigaddset(&set, stops[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

void
signals_end_waiting(const struct signals *signals)
{
	sigset_t set;
	sigemptyset(&set);
	add_deadly(&set);
	for (int number = 1; number <= SIGRTMAX; number++) {
		if (sigismember(&signals->mask, number) == 1)
			sigdelset(&set, number);
	}
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

void
signals_restore(const struct signals *signals)
{
	for (size_t i = 0; i < SIGNALS_CHANGED; i++)
		sigaction(changed[i], &signals->dispositions[i], NULL);
	kernel_mask(&signals->mask, NULL);
}

bool
signals_ignored_pipe(const struct signals *signals)
{
	return signals->dispositions[0].sa_handler == SIG_IGN; /* changed[0] */
}

int
signals_read(const struct signals *signals, int *number, int *code, int *sender)
{
	struct signalfd_siginfo info;
	if (read(signals->fd, &info, sizeof info) != (ssize_t)sizeof info)
		return 0;
	*number = (int)info.ssi_signo;
	*code = info.ssi_code;
	*sender = (int)info.ssi_pid;
	return 1;
}

bool
signals_ends_waiter(int number)
{
	struct sigaction at_start;
	/* Of all that is read, only CHLD's disposition was changed, and it ends nobody. */
	if (number == SIGCHLD || number == SIGWINCH || number == SIGCONT || number == SIGTSTP ||
	    number == SIGTTIN || number == SIGTTOU)
		return false;
	return sigaction(number, NULL, &at_start) == 0 && at_start.sa_handler != SIG_IGN;
}

static void
unblock(int number)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, number);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* Default disposition, not blocked, for any number: the C library hides those it uses for its
 * threads (32 and 33), which a caller may nevertheless have left ignored or blocked. */
static void
make_deadly(int number)
{
	/* Larger than any kernel's struct sigaction, and all zero: SIG_DFL. */
	const char by_default[256] = {0};
	const uint64_t set = UINT64_C(1) << (number - 1);
	syscall(SYS_rt_sigaction, number, by_default, NULL, sizeof set);
	syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &set, NULL, sizeof set);
}

_Noreturn void
signals_die_of(int number)
{
	const struct rlimit no_core = {0, 0};
	prctl(PR_SET_DUMPABLE, 0);
	setrlimit(RLIMIT_CORE, &no_core);
	kill(getpid(), number);
	make_deadly(number);
	kill(getpid(), number); /* if it had been ignored, the first one is gone */
	_exit(EXIT_BY_SIGNAL + number);
}

void
signals_stop_like(int number, int channel)
{
	struct pollfd news = {.fd = channel, .events = POLLIN};
	struct sigaction before;
	if (number == SIGSTOP) {
		if (poll(&news, 1, 0) == 0)
			kill(getpid(), SIGSTOP);
		return;
	}
	sigaction(number, NULL, &before);
	signal(number, SIG_DFL);
	kill(getpid(), number);
	/* From here on news bring CONT, which takes the pending stop back; ignoring it does, too.
	 */
	if (poll(&news, 1, 0) != 0)
		signal(number, SIG_IGN);
	unblock(number); /* stops here, unless the group is orphaned: then nothing stops it */
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, number);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigaction(number, &before, NULL);
}
