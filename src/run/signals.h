/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* The signal state that dlock was started with, the one it works with, and dying of a signal.
 *
 * No work is done in handlers: there are none. What dlock reacts to is blocked and read from a
 * signalfd; COMMAND gets mask and dispositions exactly as dlock got them (nohup's ignored HUP, a
 * caller that ignores CHLD, and so on). */
#ifndef DLOCK_RUN_SIGNALS_H
#define DLOCK_RUN_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

/* The dispositions that dlock changes for itself. */
#define SIGNALS_CHANGED 3

struct signals {
	sigset_t mask;                                  /* at start */
	struct sigaction dispositions[SIGNALS_CHANGED]; /* at start */
	int fd;                                         /* a signalfd for all that is blocked */
};

/* Saves the state at start, blocks what dlock reads, ignores PIPE and XFSZ in dlock only, and sets
 * CHLD to its default: a caller that ignores it would leave no status to wait for. 0, or -1 and
 * errno. */
int
signals_take_over(struct signals *signals);

/* For OUTER and RUNNER, after the fork: stop signals (TSTP, TTIN, TTOU) too come from the
 * descriptor only. While a single process waits for the lock, they stop it as they stop any. */
void
signals_block_stops(void);

/* In OUTER and in RUNNER, after the fork: what ends a process by default, and is not passed on to
 * COMMAND, ends this one again, unless it was blocked at start; the other one undoes what is to be
 * undone. A single process that waits reads these too: it has to leave no trace. */
void
signals_end_waiting(const struct signals *signals);

/* Between fork and exec: dispositions and mask as at start. Async-signal-safe. */
void
signals_restore(const struct signals *signals);

/* Did the caller have PIPE ignored? */
bool
signals_ignored_pipe(const struct signals *signals);

/* The next signal that has come, without waiting: 1, or 0 for none. */
int
signals_read(const struct signals *signals, int *number, int *code, int *sender);

/* Would this signal have ended the process, had dlock not blocked it? For a waiter: those that
 * end by default and were not ignored at start. */
bool
signals_ends_waiter(int number);

/* Dies of the signal, as COMMAND did, without leaving a core dump of its own. Where that cannot
 * be, as process 1 of a container, it exits with 128 + number, as a shell shows it. */
_Noreturn void
signals_die_of(int number);

/* Stops this process as `number` (TSTP, TTIN, TTOU, STOP) stopped COMMAND, so that the shell sees
 * its job stopped; returns when it is continued. Not if there is news on `channel`, a descriptor
 * that brings CONT when more comes. */
void
signals_stop_like(int number, int channel);

#endif
