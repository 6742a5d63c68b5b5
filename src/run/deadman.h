/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Two kernel timers that RUNNER arms at itself, so that no stop of it lasts too long.
 *
 * SIGCONT from the next renewal on, again and again: a stopped keeper wakes within milliseconds
 * and renews. SIGKILL at guard_at: a keeper that is wedged or traced dies, and COMMAND with it by
 * PDEATHSIG, and OUTER sweeps. Timers run while a process is stopped and are not inherited by
 * fork (timer_create(2)). */
#ifndef DLOCK_RUN_DEADMAN_H
#define DLOCK_RUN_DEADMAN_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/clock.h"

struct deadman {
	timer_t wake;
	timer_t kill;
	bool armed;
};

/* Creates both, unarmed. 0, or -1 and errno. */
int
deadman_open(struct deadman *deadman);

/* Arms both after a confirmed renewal: the KILL timer first, or a stop in between would let an old
 * one fire. wake_at: the next renewal; then every wake_every_ns. kill_at INSTANT_NEVER: none. */
void
deadman_arm(struct deadman *deadman, struct instant wake_at, int64_t wake_every_ns,
    struct instant kill_at);

/* Moves the wake-up calls alone. */
void
deadman_call(struct deadman *deadman, struct instant wake_at, int64_t wake_every_ns);

/* For a sweep: a CONT every 20 ms, so that stopping a killer does not help, and then no KILL any
 * more. At no instant is there neither. */
void
deadman_begin_sweep(struct deadman *deadman);

#endif
