/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What the files of store/postgres_session.h share: postgres_session.c, the login; and
 * postgres_pooler.c, what is found out about a pooler. */
#ifndef DLOCK_STORE_POSTGRES_SESSION_PARTS_H
#define DLOCK_STORE_POSTGRES_SESSION_PARTS_H

#include "store/postgres_session.h"

/* -- postgres_session.c ----------------------------------------------------------------------- */

/* Closes it, and says so. */
void
postgres_session_fail(struct postgres_session *session, enum outcome outcome,
    const struct problem *why);

/* The session is ours: its settings, and then it is ready. */
void
postgres_session_set_up(struct postgres_session *session);

/* -- postgres_pooler.c ------------------------------------------------------------------------ */

/* There is one. */
void
postgres_pooler_begin(struct postgres_session *session);

/* In the phases LISTENING, LEAVING and DISMISSING. */
void
postgres_pooler_answered(struct postgres_session *session, const struct pq_answer *answer);

/* While it is PROBING. */
void
postgres_pooler_notified(struct postgres_session *session, const char *channel);

/* The time is over, in the phases PROBING and DISMISSING. */
void
postgres_pooler_end_time(struct postgres_session *session);

#endif
