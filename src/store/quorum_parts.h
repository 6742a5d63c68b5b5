/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What the two files of store/quorum.h share: quorum.c, what happens, and quorum_steps.c, what is
 * decided by that. */
#ifndef DLOCK_STORE_QUORUM_PARTS_H
#define DLOCK_STORE_QUORUM_PARTS_H

#include "store/quorum.h"

/* Has what was taken since t0 run out, the drift of clocks included? */
bool
quorum_is_over(const struct quorum *quorum, struct instant now);

/* Looks whether the step has come to its end. */
void
quorum_decide(struct quorum *quorum, struct instant now);

/* Ends the attempt: what was taken, or may be, is asked back. */
void
quorum_fail_attempt(struct quorum *quorum, enum quorum_result result);

/* Begins phase 2, or begins it again with another number. */
void
quorum_ask_to_accept(struct quorum *quorum, struct instant now);

#endif
