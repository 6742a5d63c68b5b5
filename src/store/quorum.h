/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What a majority of independent servers, the nodes, decides (docs/redlock.md). Pure: it sends
 * nothing, reads no clock and knows no token. Who uses it sends to each node what it `want`s, says
 * what has become of that, and looks at `result` after each call; so that the same decisions run
 * against real servers, in unit tests and in a simulation.
 *
 *   begin_acquire   GATHERING  until a majority can be asked
 *                   TAKING     phase 1: a majority has the key free, or it has failed
 *                   ACCEPTING  phase 2: a majority accepts the number; LOW: a higher one, again
 *   begin_renew     RENEWING   a majority still has our token; where it is gone it is taken again
 *   begin_release   GIVING     a majority has given it back
 *   begin_look      LOOKING    what the nodes show
 *
 * A majority of those that there are, q = N/2 + 1, whoever can be reached. The lease of what is won
 * counts from t0, the instant before the first of the first step's sends. A node that owes an
 * answer for longer than node_limit is silent: it is not waited for any more until it has answered,
 * so that a frozen one costs its limit once, not once a request. */
#ifndef DLOCK_STORE_QUORUM_H
#define DLOCK_STORE_QUORUM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

#define QUORUM_MOST 15

enum quorum_step {
	QUORUM_IDLE,
	QUORUM_GATHERING,
	QUORUM_TAKING,
	QUORUM_ACCEPTING,
	QUORUM_RENEWING,
	QUORUM_GIVING,
	QUORUM_LOOKING,
};

/* What a node is asked. */
enum quorum_ask {
	ASK_NOTHING,
	ASK_TAKE,   /* the key, if it is free: TAKEN, OWNED or BUSY */
	ASK_ACCEPT, /* the number: ACCEPTED, LOW or GONE */
	ASK_RENEW,  /* YES, GONE or ANOTHERS */
	ASK_RETAKE, /* the key if it is free and the number if it is accepted: as TAKE, or LOW */
	ASK_GIVE,   /* back: YES, GONE or ANOTHERS */
	ASK_LOOK,   /* BUSY or FREE */
};

/* What it says. */
enum quorum_word {
	WORD_FAILED, /* an error, or nothing that makes sense; LATE too */
	WORD_TAKEN,
	WORD_OWNED, /* what this attempt has not asked it to take: it is another node's server */
	WORD_BUSY,
	WORD_FREE,
	WORD_ACCEPTED,
	WORD_LOW,
	WORD_YES,
	WORD_GONE,
	WORD_ANOTHERS,
};

enum quorum_result {
	QUORUM_PENDING,
	QUORUM_WON,      /* acquired, renewed, given back, looked at: a majority says so */
	QUORUM_TAKEN,    /* acquire: a majority has answered, and too few had the key free */
	QUORUM_LOST,     /* renew, release: a majority cannot have our token any more */
	QUORUM_TOO_FEW,  /* too few answered, or vote; nothing is known */
	QUORUM_TOO_LATE, /* acquire: won, but the lease was over by then */
	QUORUM_SAME,     /* acquire: two nodes are one server */
};

enum quorum_link {
	NODE_DOWN,
	NODE_COMING, /* its connection is being made */
	NODE_UP,
};

enum quorum_vote {
	VOTE_NONE, /* not yet */
	VOTE_YES,
	VOTE_NO,
	VOTE_MUTE,   /* it has answered, but does not vote */
	VOTE_ABSENT, /* it cannot be asked, failed, or is silent */
};

struct quorum_node {
	enum quorum_link link;
	bool votes;           /* set by the user: not in quarantine */
	enum quorum_ask want; /* to be sent as soon as it can be */
	enum quorum_vote vote;
	bool asked; /* in this step */
	bool taken; /* TAKE was answered with yes */
	bool
	    may_have; /* our token may stand there: asked to take, and not known to be free of it */
	bool given;   /* and it has given it back since */
	bool gone;    /* renewing: it was not there, and is to be taken again */
	bool silent;
	bool late; /* it was, or its connection failed, and there has been none since: no attempt
		    * waits for it to come */
	bool slow; /* giving: it owed an answer already */
	int owes;  /* answers */
	struct instant owes_since;
};

struct quorum {
	int count, majority;
	int64_t ttl_ns, drift_ns, node_limit_ns, min_fence;
	enum quorum_step step;
	enum quorum_result result;
	bool held;           /* acquired, and not lost, or begun to be given back, since */
	unsigned int serial; /* of the step: an answer to another one's question decides nothing */
	int64_t fence;       /* the number that is to be accepted, or was */
	struct instant t0;   /* of what was won last, or of the attempt */
	struct instant sent_at;  /* the first send of this step; INSTANT_NEVER: nothing yet */
	struct instant due;      /* of the step's end: quorum_tick */
	struct instant begun_at; /* the attempt */
	int64_t limit_ns;        /* the step's */
	struct quorum_node nodes[QUORUM_MOST];
};

/* min_fence: the number shall exceed it. All nodes are down, and vote. */
void
quorum_init(struct quorum *quorum, int count, int64_t ttl_ns, int64_t drift_ns, int64_t min_fence);

/* Begins an attempt with a token that was never used before; the key of the attempt before, if it
 * failed, has been asked back by then (`want`). */
void
quorum_begin_acquire(struct quorum *quorum, struct instant now);

/* What is held; `limit_ns` is the time for all nodes together. */
void
quorum_begin_renew(struct quorum *quorum, int64_t limit_ns, struct instant now);

/* Gives back what may be at the nodes, held or not. A node that has done it is not asked again. */
void
quorum_begin_release(struct quorum *quorum, int64_t limit_ns, struct instant now);

void
quorum_begin_look(struct quorum *quorum, int64_t limit_ns, struct instant now);

/* The node can be asked; is being connected to; cannot be asked. */
void
quorum_set_link(struct quorum *quorum, int index, enum quorum_link link, struct instant now);

/* nodes[index].want was sent at `now`. */
void
quorum_sent(struct quorum *quorum, int index, struct instant now);

/* The answer to `ask`, sent in step `serial` of the present attempt. The highest number that the
 * node has accepted, 0 for none, and its clock: 0 where the answer does not tell. */
void
quorum_answered(struct quorum *quorum, int index, enum quorum_ask ask, unsigned int serial,
    enum quorum_word word, int64_t number, int64_t clock_us, struct instant now);

/* Something else was asked. */
void
quorum_owes(struct quorum *quorum, int index, struct instant now);

/* An answer to something else: of an attempt before, say. */
void
quorum_heard(struct quorum *quorum, int index, struct instant now);

/* Two nodes were found to be one server. */
void
quorum_refuse(struct quorum *quorum);

/* At quorum->due. */
void
quorum_tick(struct quorum *quorum, struct instant now);

/* How long to wait, in ns, after a split vote, in which nobody got a majority and all have given
 * back what they got: some of what an attempt takes (`took_ns`), and more after each of `splits` (1
 * at first), by `random`; never over QUORUM_SPLIT_PAUSE_MOST, whatever made the attempt slow. */
#define QUORUM_SPLIT_PAUSE_MOST (300 * NS_PER_MS)
int64_t
quorum_split_pause(int64_t took_ns, unsigned int splits, uint64_t random);

int
quorum_count_votes(const struct quorum *quorum, enum quorum_vote vote);

#endif
