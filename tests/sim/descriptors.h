/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* File descriptors of simulated processes: what can be polled, who has it, and whether it is ready.
 * Their numbers are far above any of the simulator's own. */
#ifndef DLOCK_TESTS_DESCRIPTORS_H
#define DLOCK_TESTS_DESCRIPTORS_H

#include <stdbool.h>
#include <stdint.h>

#include "task.h"

#define FIRST_DESCRIPTOR 1000
#define MOST_DESCRIPTORS 256
#define MOST_MESSAGES 32
#define MESSAGE_SIZE 16

enum descriptor_kind {
	DESCRIPTOR_FREE,
	DESCRIPTOR_TIMER,   /* timerfd_create(2) */
	DESCRIPTOR_SOCKET,  /* a connection to a server */
	DESCRIPTOR_CHANNEL, /* one end of a socketpair(2) of messages */
	DESCRIPTOR_SIGNALS, /* signalfd(2), of whoever reads it */
	DESCRIPTOR_FAILURE, /* ends when COMMAND is executed, or dead */
	DESCRIPTOR_GATE,    /* what is written to it lets COMMAND be executed */
	DESCRIPTOR_LOOKUP,  /* a name look-up that is under way */
};

struct connection;

struct descriptor {
	enum descriptor_kind kind;
	struct task *owner; /* a close by anybody else is that of a copy, and nothing */
	/* TIMER */
	bool is_wall_clock;
	bool has_stepped; /* the wall clock has been set since it was armed */
	int64_t at;       /* CLOCK_BOOTTIME; NEVER: not armed */
	/* SOCKET */
	struct connection *connection;
	/* CHANNEL */
	int peer; /* -1: closed */
	char messages[MOST_MESSAGES][MESSAGE_SIZE];
	int message_count;
	bool is_signalling; /* CONT comes with each message (F_SETSIG, O_ASYNC) */
	/* FAILURE, GATE */
	struct task *command;
	/* LOOKUP */
	bool is_answered;
};

void
descriptors_begin(void);

/* A new one of the current process's. */
int
descriptor_open(enum descriptor_kind kind);

/* NULL: it is none of these. */
struct descriptor *
descriptor_get(int fd);

/* What poll(2) says of it to the current process. */
short
descriptor_events(const struct descriptor *descriptor, short wanted);

/* By the current process. */
void
descriptor_close(int fd);
void
descriptors_close_all(struct task *task);

/* After a fork: all that are `from`'s become `to`'s, but for two. */
void
descriptors_pass_on(struct task *from, struct task *to, int kept, int also_kept);

/* The wall clock of that machine was set. False: nobody there looks at it. */
bool
descriptors_step_clock(const struct host *host);

/* A message on a channel. False: nobody is there, or too many are unread. */
bool
channel_put(struct descriptor *end, const void *message);

#endif
