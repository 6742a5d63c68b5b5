/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* The life of COMMAND and of everything below it, as RUNNER sees it: started, stopped, ended, and,
 * when it must end, signalled, given its grace, killed and proven dead. It knows nothing of
 * locks.
 *
 *                            command_end                   grace over, or command_kill
 *   command_start   RUNNING -------------> ENDING (signalled) ------------> KILLING (sweep)
 *                      |      +----------->   | nobody is left                 | nobody is left
 *                      | exits|               v                                v
 *   events->ended <----+      |              GONE <----------------------------+
 *                      |      |               ^
 *       command_await  v      |               | nobody is left
 *                   LINGERING +---------------+
 *
 * STUCK instead of GONE: somebody does not die of KILL. */
#ifndef DLOCK_RUN_COMMAND_H
#define DLOCK_RUN_COMMAND_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/loop.h"
#include "base/problem.h"
#include "run/spawn.h"
#include "run/tree.h"

/* Processes that do not die of KILL (in a D state, frozen, another user's) are waited for so
 * long. */
#define COMMAND_PATIENCE_NS (10 * NS_PER_S)

enum command_state {
	COMMAND_NONE,
	COMMAND_RUNNING,
	COMMAND_LINGERING, /* COMMAND has ended, what it left is waited for */
	COMMAND_ENDING,    /* the tree has the first signal, KILL comes when the grace is over */
	COMMAND_KILLING,   /* the tree is being swept */
	COMMAND_GONE,      /* no descendant is left: proven by waitid */
	COMMAND_STUCK,     /* some do not die: `tree.example` is one */
};

struct command;

struct command_events {
	/* COMMAND was not executed: exit status and reason. */
	void (*failed)(void *context, int status, const struct problem *problem);
	/* COMMAND has stopped by this signal; its descendants may run on. */
	void (*stopped)(void *context, int number);
	/* COMMAND has been continued. */
	void (*continued)(void *context);
	/* COMMAND itself has ended; by_signal: of signal `value`, else with status `value`. */
	void (*ended)(void *context, bool by_signal, int value, struct instant now);
	/* After command_end, command_kill or command_await: COMMAND_GONE or COMMAND_STUCK is
	 * reached. */
	void (*finished)(void *context, struct instant now);
	/* The sweep begins now. */
	void (*killing)(void *context);
};

struct command {
	struct loop *loop;
	struct spawn_plan *plan;
	const struct command_events *events;
	void *context;
	enum command_state state;
	pid_t pid;   /* 0: not started, or reaped */
	bool failed; /* it was not executed, and that has been told */
	int gate_fd; /* COMMAND waits for a byte here, between fork and exec */
	struct watch failure_watch;
	struct timer grace; /* then KILL */
	struct timer pulse; /* between two passes of a sweep */
	struct instant patience_until;
	struct tree tree; /* last, for its end */
};

void
command_init(struct command *command, struct loop *loop, struct spawn_plan *plan,
    const struct command_events *events, void *context);

/* Forks it: it waits to be let go. 0, or -1 and errno. */
int
command_start(struct command *command);

/* Lets it be executed, and waits a moment for that (run/birth.h). */
void
command_go(struct command *command);

/* On SIGCHLD: reaps, and reports what has happened. */
void
command_reap(struct command *command, struct instant now);

/* Sends COMMAND itself a signal; nothing when it has ended. */
void
command_signal(struct command *command, int number);

/* Sends the whole tree a signal and leaves it at that. */
void
command_signal_tree(struct command *command, int number);

/* Sends what COMMAND has left behind a signal that was meant for it, and leaves it at that.
 * group_has_it: not to those in this process's group. */
void
command_signal_left(struct command *command, int number, bool group_has_it);

/* From now on the end of all that COMMAND has left behind is waited for: `finished` tells. Only
 * when COMMAND has ended. */
void
command_await(struct command *command);

/* Ends the tree: signal now, KILL at `kill_at` or when `kill_at` has passed already. Called again,
 * it only brings kill_at forward. */
void
command_end(struct command *command, int number, struct instant kill_at, struct instant now);

/* Kills the tree, now. Returns when nobody is left, or after `insist_ns` of trying; then the loop
 * goes on trying. */
void
command_kill(struct command *command, int64_t insist_ns, struct instant now);

/* How many of the tree this process may not signal; *example is one of them. */
int
command_count_immune(struct command *command, pid_t *example);

/* How many processes COMMAND has left behind; *example is one of them. */
int
command_count_left(struct command *command, pid_t *example);

#endif
