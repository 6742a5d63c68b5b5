/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What the files of store/postgres.h share: postgres.c, requests and the life of the session;
 * postgres_answer.c, what is asked on it and answered; postgres_wait.c, being told. */
#ifndef DLOCK_STORE_POSTGRES_PARTS_H
#define DLOCK_STORE_POSTGRES_PARTS_H

#include "store/postgres.h"
#include "store/postgres_session.h"
#include "store/postgres_sql.h"

/* What the session has been asked, and not answered. */
enum postgres_ask {
	ASK_NOTHING,
	ASK_ACQUIRE,
	ASK_LISTEN,
	ASK_RENEW,
	ASK_RELEASE,
	ASK_BURY, /* a session of our own that may still be there, and have the lock */
};

struct postgres_store {
	struct store store; /* first: a store is converted back */
	struct loop *loop;
	const struct postgres_settings *settings;
	struct postgres_numbers numbers;
	struct timer deadline; /* of the request */
	bool pending;          /* somebody waits for an answer to: */
	struct store_request request;
	bool is_starting;           /* nobody is answered from in there, but: */
	struct timer soon;          /* then */
	bool has_answer;            /* that is */
	struct store_answer answer; /* this */

	enum postgres_ask asked;
	struct instant sent_at;
	bool is_held;  /* the session has the lock */
	bool is_ended; /* the session that had it has ended */
	bool is_blind; /* it was closed without an answer to its release */
	struct problem end;
	/* The backend of a session that was asked for the lock, and closed without an answer: the
	 * server may not have learnt that yet. 0: there is none. */
	int64_t ghost;
	char fence[24];
	int slot;
	int64_t since_us;

	/* Waiting. */
	bool listens, is_joined;
	int64_t ticket, rank;
	struct timer turn; /* ours, if nobody takes the lock before */
	bool freed;        /* it was, while something was asked */
	uint64_t random;

	char application[POSTGRES_APPLICATION];
	struct postgres_session session;
};

/* -- postgres.c ------------------------------------------------------------------------------- */

void
postgres_report(struct postgres_store *postgres, struct store_answer *answer);

/* Ends the session: what it has is free. */
void
postgres_drop(struct postgres_store *postgres);

/* -- postgres_answer.c ------------------------------------------------------------------------ */

/* What the pending request says, on a session that is ready. */
void
postgres_send(struct postgres_store *postgres);

/* What comes before anything is asked for again, or has been given back: the ghost is ended. */
void
postgres_bury_ghost(struct postgres_store *postgres);

void
postgres_take_answer(struct postgres_store *postgres, const struct pq_answer *answer);

/* -- postgres_wait.c -------------------------------------------------------------------------- */

void
postgres_wait_init(struct postgres_store *postgres);

void
postgres_wait_notified(struct postgres_store *postgres, const char *payload);

/* Something of a wait has been answered: what came meanwhile is told. */
void
postgres_wait_answered(struct postgres_store *postgres);

/* When who waits looks again, should no message come: often if it comes next. */
int64_t
postgres_wait_look_again(struct postgres_store *postgres);

void
postgres_wait_end(struct postgres_store *postgres);

#endif
