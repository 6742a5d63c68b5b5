/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Processes of the simulated machines: OUTER and RUNNER, which run the real code on a stack of
 * their own, and COMMAND, which is only alive or dead.
 *
 * A process runs until it waits for something (a system call in kernel.h), or until its trap: then
 * it is stopped, delayed or killed right there, between two steps of its work. No true time passes
 * while it runs; a moment passes before it is woken. */
#ifndef DLOCK_TESTS_TASK_H
#define DLOCK_TESTS_TASK_H

#include <stdbool.h>
#include <stdint.h>

#include "coroutine.h"
#include "dice.h"
#include "host.h"

#define MOST_TASKS 48
#define MOST_SIGNALS 16
#define TASK_TIMERS 2

enum task_kind {
	TASK_OUTER, /* also the one process before there are two */
	TASK_RUNNER,
	TASK_COMMAND,
};

enum trap {
	TRAP_NONE,
	TRAP_DELAY,
	TRAP_STOP,
	TRAP_KILL,
};

struct signal_news {
	int number, code, sender;
};

/* timer_create(2). */
struct kernel_timer {
	int number;        /* the signal; 0: not created */
	int64_t at, every; /* CLOCK_BOOTTIME; NEVER: not armed */
	uint64_t generation;
	bool is_pending; /* its signal has not been read: until then it sends none */
};

struct dlock;

struct task {
	int pid;
	enum task_kind kind;
	char name[24];
	struct dlock *dlock;
	struct host *host;
	struct task *parent; /* NULL: nobody of ours */
	bool is_alive, is_reaped, is_stopped, is_dying;
	bool has_stopped_news, has_continued_news; /* for waitid(2) */
	int64_t ended_at;
	int code, status; /* of its end, as in siginfo */
	struct signal_news signals[MOST_SIGNALS];
	int signal_count;
	struct kernel_timer timers[TASK_TIMERS];
	struct coroutine coroutine;
	bool is_due;      /* its turn is arranged */
	bool is_missed;   /* its turn came while it was stopped */
	int64_t alarm_at; /* of poll(2): when it is woken */
	int64_t delayed_until;
	enum trap trap;
	int trap_after; /* steps */
	int64_t trap_for;
	int steps; /* in this turn */
	struct dice dice;
	/* COMMAND's (payload.h): */
	bool is_executed, obeys;
	int pending;    /* a signal that it has got */
	int missed_end; /* it would have ended while it could do nothing */
};

/* The one that runs; NULL: none, the world itself. */
extern struct task *current;

void
tasks_begin(void);
int
tasks_count(void);
struct task *
tasks_get(int index);

/* By its pid, reaped or not; NULL: none. */
struct task *
tasks_find(int pid);

/* A process of that kind, whose body is `body` (NULL: it has none), not yet running. */
struct task *
task_new(enum task_kind kind, struct dlock *dlock, struct task *parent, void (*body)(void *context),
    void *context);

/* Something that it may wait for has happened: it has its turn in a moment. */
void
task_wake(struct task *task);

/* The current one waits until it is woken, perhaps for nothing. */
void
task_wait(void);

/* A step of the current one's work: where its trap may be. */
void
task_step(void);

/* Ends the current one. */
_Noreturn void
task_exit(int code, int status);

/* A signal, as kill(2) sends it; KILL takes a moment. */
void
task_signal(struct task *task, int number, int code, int sender);

/* Stops it, continues it, without a word. */
void
task_stop(struct task *task);
void
task_continue(struct task *task);

/* It is dead now. */
void
task_die(struct task *task, int code, int status);

/* Is it able to do anything? */
bool
task_is_able(const struct task *task);

/* All of a machine sleep, and wake. */
void
tasks_suspend(struct host *host);
void
tasks_resume(struct host *host);

/* Sets the timer to send its signal. */
void
task_set_timer(struct task *task, int index, int64_t at, int64_t every);

#endif
