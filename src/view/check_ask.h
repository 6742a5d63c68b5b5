/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Finds out all that --check tells. */
#ifndef DLOCK_VIEW_CHECK_ASK_H
#define DLOCK_VIEW_CHECK_ASK_H

#include "view/check_facts.h"
#include "view/view.h"

/* Visits the server, twice when all goes well; what has failed is in facts->failure. */
void
check_ask(struct check_facts *facts, const struct view_settings *settings);

#endif
