/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Tries --watch: is it told at once when a key is written to? */
#ifndef DLOCK_VIEW_CHECK_WATCH_H
#define DLOCK_VIEW_CHECK_WATCH_H

#include "view/check_facts.h"
#include "view/visit.h"

/* On a visit that takes errors as answers, and goes on after it: what a holder's second connection
 * does there (store/redis_look.h), then `change`, which is to write to the key, and a push. False:
 * the server was lost meanwhile, and the visit says why. `change` is false when that is lost. */
bool
check_watch_try(struct visit *visit, struct check_facts *facts, const char *key,
    bool (*change)(void *context), void *context);

#endif
