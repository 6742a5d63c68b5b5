/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Tries on a server all that dlock does there, with a lock that nobody else uses: two parties, each
 * with a connection of its own, take it, wait for it, share it, look at it and break it.
 *
 * Its name is random, and nothing of it is left, also when a signal ends this process meanwhile.
 * Where the server does not let keys be deleted, nothing is tried. */
#ifndef DLOCK_VIEW_CHECK_TRIAL_H
#define DLOCK_VIEW_CHECK_TRIAL_H

#include "base/keys.h"
#include "view/check_facts.h"
#include "view/visit.h"

/* NAME of such a lock; a token, which tells it from all others, follows. */
#define TRIAL_NAME "dlock-check-"

/* The keys of such a lock. False: the prefix makes none. */
bool
check_trial_make_keys(struct keys *keys, const char *prefix, struct problem *problem);

/* Fills in facts->trials and message_ns. False: the server was lost meanwhile, and the first visit
 * says why. Both are logged in, and take errors as answers; the second one may be closed after
 * it. */
bool
check_trial_run(struct visit *visit, struct visit *second, const struct keys *keys,
    struct check_facts *facts);

#endif
