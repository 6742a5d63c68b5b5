/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Looking at one lock: all pages of what status.lua says. */
#ifndef DLOCK_VIEW_LOOK_H
#define DLOCK_VIEW_LOOK_H

#include "view/sight.h"
#include "view/visit.h"

/* Fills in the sight. `name` has passed keys_make with the prefix of the visit's settings. False:
 * visit_explain says why. */
bool
look_at(struct visit *visit, const char *name, struct sight *sight);

/* Says that looking at that lock has failed; dlock's exit status. */
int
look_explain(const struct visit *visit, const char *name);

#endif
