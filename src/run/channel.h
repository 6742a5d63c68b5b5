/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What OUTER and RUNNER share: one page of memory and a socket pair.
 *
 * The page is what OUTER needs when RUNNER can no longer speak: until when the lease is good,
 * whether RUNNER is already killing, what its last word was, and which of the two reports. The
 * socket carries whole messages (SEQPACKET) of one fixed size; its end of file tells RUNNER that
 * OUTER has died. Both ends are CLOEXEC and non-blocking: neither process ever waits for the other.
 */
#ifndef DLOCK_RUN_CHANNEL_H
#define DLOCK_RUN_CHANNEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"

enum phase {
	PHASE_HOLDING, /* OUTER may kill RUNNER when the guard's time has come */
	PHASE_KILLING, /* RUNNER is sweeping: it is given a moment more */
};

struct page {
	_Atomic int64_t guard_at_ns; /* when OUTER must act; INT64_MAX: never */
	_Atomic int phase;           /* enum phase */
	_Atomic int reported;        /* not 0: --report has been written, or is being written */
	_Atomic int outcome;         /* enum report_outcome, to go with last_word */
	/* RUNNER's, as channel_pack makes it; 0: none. It stands here because a socket can fail. */
	_Atomic int64_t last_word;
};

enum message_kind {
	MESSAGE_SIGNAL,    /* OUTER to RUNNER: number, code and sender of one that OUTER got */
	MESSAGE_STOPPED,   /* RUNNER to OUTER: COMMAND has stopped by signal `number` */
	MESSAGE_CONTINUED, /* RUNNER to OUTER: it goes on */
	MESSAGE_EXITED,    /* RUNNER to OUTER, its last word: exit with status `number` */
	MESSAGE_SIGNALED,  /* RUNNER to OUTER, its last word: die of signal `number` */
};

struct message {
	int32_t kind; /* enum message_kind */
	int32_t number;
	int32_t code;   /* si_code */
	int32_t sender; /* si_pid */
};

struct channel {
	struct page *page;
	int ends[2]; /* OUTER's, RUNNER's; -1 once closed here */
};

enum channel_end {
	CHANNEL_OUTER,
	CHANNEL_RUNNER,
};

/* Makes both, before the fork. 0, or -1 and errno. */
int
channel_open(struct channel *channel);

/* Unmakes both, should there be no fork. */
void
channel_close(struct channel *channel);

/* After the fork: closes the other process's end. Returns the descriptor of one's own. */
int
channel_take(struct channel *channel, enum channel_end end);

/* A last word as one number, never 0, and back. */
int64_t
channel_pack(const struct message *last_word);
void
channel_unpack(int64_t packed, struct message *last_word);

/* Sends without waiting. A peer that is gone or does not listen misses it. */
void
channel_send(int fd, const struct message *message);

/* 1 and the next message; 0: none now; -1: the peer has gone. What is not exactly a message is
 * passed over. */
int
channel_receive(int fd, struct message *message);

#endif
