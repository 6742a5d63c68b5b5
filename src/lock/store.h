/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What any engine offers to lock.c: one request at a time, answered later from the loop.
 *
 * An engine makes one attempt a request: it opens a connection if it has none, sends, and reports.
 * When to try again is lock.c's business, so that every engine has the same patience. It never
 * folds an answer that was lost (UNKNOWN) into one that was had. */
#ifndef DLOCK_LOCK_STORE_H
#define DLOCK_LOCK_STORE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "base/identity.h"
#include "base/problem.h"

/* For the look-up of names, of each server, on either connection, and for the password; and those
 * of a route. */
#define STORE_MAX_HELPERS 21

enum outcome {
	OUTCOME_OK,          /* acquired, renewed or released */
	OUTCOME_HELD,        /* acquire: somebody has the lock, or comes before us */
	OUTCOME_LOST,        /* renew, release: the key is gone or another's */
	OUTCOME_UNREACHABLE, /* nothing was sent: no connection, no login */
	OUTCOME_REFUSED,     /* the server refuses service (READONLY, OOM, WRONGTYPE, ...); or the
			      * password could not be had (problem.is_setting), and nothing was sent */
	OUTCOME_DENIED,      /* the server refuses the user */
	OUTCOME_UNKNOWN,     /* sent, and no usable answer: it may have been executed or not */
	OUTCOME_UNCONFIRMED, /* acquire, renew: done there, but too few replicas have it */
};

enum store_verb {
	STORE_ACQUIRE, /* OK, HELD, or a failure; the same token again confirms what is in doubt */
	STORE_RENEW,   /* OK, LOST, or a failure */
	STORE_TOUCH,   /* as RENEW; also keeps what stands beside the lock from expiring */
	STORE_RELEASE, /* OK, LOST, or a failure */
	STORE_LOOK,    /* HELD, OK (free), or a failure */
};

/* Who may have the lock at the same time: those of the same mode, as many as it allows. */
enum lock_mode {
	MODE_EXCLUSIVE, /* one */
	MODE_SHARED,    /* any number */
	MODE_SLOTS,     /* up to a number of slots, on which all agree */
};

#define SLOTS_MOST 1000

enum fence_mode {
	FENCE_CLOCK,
	FENCE_COUNTER,
};

/* Who has the lock, as an answer tells it. */
struct holder {
	bool known; /* a record was found: not a foreign client */
	struct identity identity;
	char token[64];  /* what stands at the key, cut */
	bool finished;   /* its command has ended, --at-least keeps the lock */
	bool broken;     /* by --break: its command is dying */
	bool ours;       /* broken: it is our lock, and `identity` is who has broken it */
	int64_t held_ns; /* by the server's clock; -1 unknown */
	int64_t left_ns; /* until there may be room, should nothing be done; -1: for ever */
	bool by_session; /* it is had as long as a session lives: left_ns is when to look again */
};

struct store_request {
	enum store_verb verb;
	/* Look-up, connect and login together, if a connection is needed. */
	int64_t connect_limit_ns;
	int64_t answer_limit_ns;  /* from the send */
	struct instant not_later; /* nothing is sent from here on: a renewal past its lease */
	int64_t ttl_ns;           /* acquire, renew */
	int64_t rest_ns;          /* release: keep the lock for so long (--at-least); 0: free it */
	bool undo;                /* release: of what was asked for, and may not have been had */
	bool wait;                /* acquire: stand in line if it is held; a RELEASE leaves it */
	int64_t ticket;           /* the place in line that an answer gave; 0: none yet */
	bool confirm;             /* acquire: `woken` has said that we were made holder */
	bool follow; /* in line: also tell when the key is written to, if that can be had */
	const char *ancestor; /* acquire: token of a holder whom to name first; NULL: none */
	bool under; /* acquire: nothing is wanted while that one holds it, not a place beside it */
};

/* Where a waiter stands. */
struct place {
	int64_t rank;    /* 0: first; -1: not in line */
	int64_t ticket;  /* for the next request */
	int64_t waiting; /* not in line: how many are; among them may be dead ones */
	bool told;       /* by `woken`, when its turn has come; else it must ask */
	bool full;       /* there are more waiters than it wanted to wait behind */
	bool followed;   /* what stands at the key is */
};

struct store_answer {
	enum outcome outcome;
	struct instant sent_at;     /* just before the request was written to the socket */
	struct instant received_at; /* when the outcome was known */
	char fence[24];             /* acquire, OK: decimal */
	const char *token; /* acquire, OK: which one it is held by, NULL: the caller's; borrowed */
	bool gone;         /* LOST: nobody has the key; else another has */
	bool partly;       /* LOST: some of it is still ours, and is to be released */
	bool ended;        /* LOST: with its session, so that others may have it from that moment */
	bool for_good;     /* REFUSED: another try would be refused as well */
	int slot;          /* acquire, OK: which of the slots */
	struct holder holder;   /* HELD */
	struct place place;     /* HELD */
	struct problem problem; /* all but OK and HELD; HELD: why we are not `told`, if known */
};

struct store;

/* What a waiter in line is told: hints, no more. It asks, and only the answer counts. */
enum wake {
	WAKE_GRANTED, /* it was made holder, for a few seconds: it is to confirm that */
	WAKE_HEAD,    /* it is first now; left_ns as in struct holder */
	WAKE_CHANGED, /* the key has been written to, or is gone */
	WAKE_LISTENS, /* it can be told from now on, if it says so: once a connection */
};

/* Who is told. Callbacks run in the loop and may start the next request. */
struct store_events {
	void (*answered)(void *context, const struct store_answer *answer);
	/* The idle connection was lost, or it looks as if the lock were: time to verify, nothing is
	 * lost yet. */
	void (*disturbed)(void *context, struct instant now);
	void (*woken)(void *context, enum wake wake, int64_t left_ns, struct instant now);
	/* The session that had the lock has ended, and the lock is free. */
	void (*ended)(void *context, const struct problem *why, struct instant now);
};

struct store_operations {
	/* Starts a request; answered is called once, later. None may be under way, but for one
	 * case: a RELEASE takes the place of what is under way. If that has been sent, the release
	 * follows it on the same connection, so that it is executed after it and undoes it. */
	void (*start)(struct store *store, const struct store_request *request);
	/* Closes the connection; what is under way is not answered any more. */
	void (*close)(struct store *store);
	/* In a process that only inherited the connection: lets go of it silently. */
	void (*forget)(struct store *store);
};

/* The head of every engine's own struct. */
struct store {
	const struct store_operations *operations;
	const struct store_events *events; /* set by lock.c */
	void *context;
	const char *server; /* its URL for people, the password as *** */
	/* Processes that the engine runs for itself, 0 for none, NULL for none ever: they are no
	 * part of COMMAND's tree. */
	const pid_t *helpers[STORE_MAX_HELPERS];
};

#endif
