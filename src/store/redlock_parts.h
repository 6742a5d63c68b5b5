/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What the files of store/redlock.h share: redlock.c, what is asked of the store,
 * redlock_conclude.c, what is answered, redlock_words.c, how that is told, redlock_node.c, the
 * connection to one node, redlock_traffic.c, questions and answers on it, and redlock_request.c,
 * the text of the questions. */
#ifndef DLOCK_STORE_REDLOCK_PARTS_H
#define DLOCK_STORE_REDLOCK_PARTS_H

#include "base/identity.h"
#include "net/link.h"
#include "store/redis_login.h"
#include "store/redlock.h"
#include "store/redlock_answer.h"

/* Answers that a node may owe. More, and its connection is given up. */
#define NODE_MOST_OWED 24
/* Tokens that may still stand at a node which has not answered since. */
#define NODE_MOST_STALE 4

struct redlock;

enum node_phase {
	NODE_CLOSED,
	NODE_CONNECTING,
	NODE_LOGIN,
	NODE_TELLING, /* logged in; who it is, and for how long it has been up, is not yet told */
	NODE_READY,
};

/* A question that is not answered yet. */
struct owed {
	enum quorum_ask ask; /* NOTHING: a token from before is given back */
	unsigned int serial;
	char token[TOKEN_SIZE];
};

struct redlock_node {
	struct redlock *redlock;
	const struct redlock_member *member;
	int index;
	enum node_phase phase;
	struct redis_login login;
	struct timer deadline; /* until it is ready */
	struct instant retry_at;
	unsigned int failures;
	bool is_missed; /* it has failed, as -v has said, and has not been ready since */
	int told;       /* TELLING: answers to INFO */
	struct redlock_facts facts;
	struct instant up_since;      /* at the latest; INSTANT_NEVER: it does not tell */
	struct instant watched_since; /* it was ready */
	struct owed owed[NODE_MOST_OWED];
	int owed_first, owed_count;
	char stale[NODE_MOST_STALE][TOKEN_SIZE];
	int stale_count;
	int64_t clock_us; /* as in struct redis_store */
	struct instant clock_at;
	/* Of the last request: why it did not vote, OK if it did; who has the key there. */
	enum outcome outcome;
	struct problem problem;
	enum quorum_word word; /* its last answer */
	struct holder holder;  /* BUSY */
	struct link link;      /* last: see struct redis_store */
};

struct redlock {
	struct store store; /* first: a store is converted back */
	struct loop *loop;
	const struct redlock_settings *settings;
	struct quorum quorum;
	struct timer timer;
	bool pending; /* somebody waits for an answer to: */
	struct store_request request;
	struct instant asked_at;
	struct instant again_at; /* a split vote: the next attempt; INSTANT_NEVER: none */
	unsigned int splits;
	bool starting; /* a request: its answer comes from the loop */
	bool was_held; /* a release: of what was acquired */
	bool touch;    /* this round of renewals is to touch the siblings, too */
	char token[TOKEN_SIZE];
	int64_t counted;         /* settings->naive: the highest count */
	struct problem conflict; /* two nodes are one server, which stays so */
	uint64_t random;
	struct redlock_node nodes[]; /* settings->count */
};

/* -- redlock.c --------------------------------------------------------------------------------- */

/* Sends each node what is wanted of it. */
void
redlock_pump(struct redlock *redlock);

/* Something has happened to a node: sends what is wanted, and answers if that can be done. */
void
redlock_go_on(struct redlock *redlock);

/* A node has answered to `ask`; before the quorum is told. */
void
redlock_note_answer(struct redlock *redlock, const struct redlock_node *node, enum quorum_ask ask,
    const struct redlock_answer *answer);

/* An idle connection was lost. */
void
redlock_disturb(struct redlock *redlock);

/* -- redlock_node.c ---------------------------------------------------------------------------- */

void
redlock_node_init(struct redlock_node *node, struct redlock *redlock, int index);

/* Begins to connect, within `limit_ns`. */
void
redlock_node_open(struct redlock_node *node, int64_t limit_ns);

/* Closes, and remembers which tokens may stand there. */
void
redlock_node_close(struct redlock_node *node);

/* It owes an answer for too long: it may be connected to again. */
void
redlock_node_give_up(struct redlock_node *node);

/* Closes for that reason, and tells whom it concerns. */
void
redlock_node_fail(struct redlock_node *node, enum outcome outcome, const struct problem *why);

/* -- redlock_traffic.c ------------------------------------------------------------------------- */

/* Sends what the quorum wants of it, if it can be asked. */
void
redlock_node_pump(struct redlock_node *node);

/* An answer, while it is ready. */
void
redlock_node_hear(struct redlock_node *node, const struct reply *reply);

/* Its connection ends: what is owed will not come, and which tokens may stand there is remembered.
 */
void
redlock_node_remember(struct redlock_node *node);

/* On the next connection: asks those of them back that are of no use any more. */
void
redlock_node_give_back(struct redlock_node *node);

/* -- redlock_request.c ------------------------------------------------------------------------- */

void
redlock_request_append(struct redlock_node *node, enum quorum_ask ask, int64_t not_after_us);

void
redlock_request_append_give(struct redlock_node *node, const char *token, int64_t rest_ns);

/* -- redlock_conclude.c ------------------------------------------------------------------------ */

/* Another attempt, with another token. */
void
redlock_begin_attempt(struct redlock *redlock);

/* The quorum has come to a result: answers the request, or goes on. */
void
redlock_conclude(struct redlock *redlock);

/* -- redlock_words.c --------------------------------------------------------------------------- */

/* What becomes of a request that too few nodes have answered, and why. */
enum outcome
redlock_explain_too_few(const struct redlock *redlock, struct problem *problem);

/* Who has the lock, as most nodes show it. *most: how many show that token. */
void
redlock_find_holder(const struct redlock *redlock, struct holder *holder, int *most);

/* May it vote by now? Else node->problem says why not. */
bool
redlock_node_votes(struct redlock_node *node);

/* Is the node that is about to be ready one that we have already, under another name? */
bool
redlock_is_twice(const struct redlock_node *node, struct problem *problem);

#endif
