/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Which signals COMMAND still needs to be sent: each exactly once. Pure.
 *
 * A signal for dlock may come to OUTER alone (kill PID, the kernel's hang-up of a session
 * leader), to RUNNER alone (a child that signals its parent), or to the whole process group, and
 * then COMMAND has it already. No siginfo tells `kill PID` from `kill -- -PGID`. RUNNER, in the
 * group too, is the witness:
 *
 *   OUTER and RUNNER got it    COMMAND, in the same group, got it from the kernel: nothing to do
 *   OUTER alone got it         it is sent on
 *   RUNNER alone got it        it is sent on, after OUTER has had the time to ask about it
 *
 * A sender needs a moment to reach the whole group, so a decision waits for SETTLE_NS, or longer
 * for senders that are members of the group: timeout(1) signals its child first and then its
 * group. The same signal from the same sender within 10 ms counts once. */
#ifndef DLOCK_RUN_FORWARD_H
#define DLOCK_RUN_FORWARD_H

#include <stdbool.h>

#include "base/clock.h"

/* How many may be undecided at a time; the oldest of more is forwarded at once. */
#define FORWARD_MAX 32
/* Room for those, and for as many that are remembered or about to be forwarded. */
#define FORWARD_ROOM (2 * FORWARD_MAX)

#define FORWARD_SETTLE_NS (10 * NS_PER_MS)
#define FORWARD_SETTLE_GROUP_NS (100 * NS_PER_MS)
#define FORWARD_WITNESS_NS (100 * NS_PER_MS)
/* The same again, after it was decided. */
#define FORWARD_SAME_NS (10 * NS_PER_MS)

enum forward_witness {
	FORWARD_BY_OUTER,
	FORWARD_BY_RUNNER,
	FORWARD_WITNESSES,
};

struct sighting {
	int number;
	int code;
	int sender;
	struct instant seen_at[FORWARD_WITNESSES];      /* first; INSTANT_NEVER: not by that one */
	struct instant swallowed_at[FORWARD_WITNESSES]; /* a repeat that counted as the same */
	enum forward_witness first;
	int times;    /* how often `first` saw it, more than FORWARD_SAME_NS apart */
	bool shared;  /* the group got it too, and that has not been asked for yet */
	bool decided; /* kept for a while, so that its double is known */
	struct instant decide_at;
	struct instant forget_at;
};

struct forward {
	struct sighting sightings[FORWARD_ROOM];
	int count;
};

/* Takes in a signal that one of the two got. from_group: its sender is in dlock's process group.
 * forward_next is to be asked after each. */
void
forward_see(struct forward *forward, enum forward_witness witness, int number, int code, int sender,
    bool from_group, struct instant now);

/* Takes in one that is known to have gone to the whole group, whoever of the two tells of it first:
 * the other one may never, since two that are pending become one. */
void
forward_see_group(struct forward *forward, enum forward_witness witness, int number, int code,
    int sender, struct instant now);

/* Takes in a signal that RUNNER got before COMMAND was there, and that has been dealt with: if
 * OUTER got it too, that changes nothing. */
void
forward_see_settled(struct forward *forward, int number, int code, int sender, struct instant now);

/* The number of a signal that must be sent to COMMAND now, 0 for none; call until 0. *by_runner
 * tells that only RUNNER saw it. */
int
forward_next(struct forward *forward, struct instant now, bool *by_runner);

/* The number of a signal that the whole group got, 0 for none; call until 0. COMMAND has it; who
 * has left the group does not. */
int
forward_next_shared(struct forward *forward);

/* When forward_next may have something next. */
struct instant
forward_due(const struct forward *forward);

#endif
