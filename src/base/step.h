/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Notices that the wall clock was set or that the machine was suspended or restored
 * (timerfd_create(2), TFD_TIMER_CANCEL_ON_SET). After a restore of a virtual machine every other
 * clock goes on as if nothing had been, while the world has moved. */
#ifndef DLOCK_BASE_STEP_H
#define DLOCK_BASE_STEP_H

#include "base/loop.h"

struct step {
	struct watch watch;
	void (*stepped)(void *context, struct instant now);
	void *context;
};

/* Begins to watch. Where the kernel cannot do it nothing is noticed, and nothing is said. */
void
step_watch(struct step *step, struct loop *loop, void (*stepped)(void *context, struct instant now),
    void *context);

#endif
