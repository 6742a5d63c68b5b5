/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* A sight: what a server's answers show of one lock. Pure: it can be made of any bytes that a
 * server may send, and takes nothing of them for granted. What is in it is printed by picture.h. */
#ifndef DLOCK_VIEW_SIGHT_H
#define DLOCK_VIEW_SIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/identity.h"
#include "base/keys.h"
#include "net/link.h"
#include "view/slice.h"

/* More holders and waiters than this are no lock's. */
#define SIGHT_MAX_PARTIES 200000

enum sight_state {
	SIGHT_FREE,
	SIGHT_HELD,
	SIGHT_SHARED,
	SIGHT_SLOTS,
	SIGHT_DONE,    /* its command has ended, --at-least keeps it */
	SIGHT_BROKEN,  /* by --break: its holder is to end */
	SIGHT_FOREIGN, /* no lock of dlock's */
	SIGHT_SPLIT    /* several servers: a majority shows no one state */
};

enum party_role {
	PARTY_GRANTED, /* was made holder, and has not yet said that it knows */
	PARTY_HOLDING,
	PARTY_DONE,
	PARTY_BROKEN,
	PARTY_FOREIGN, /* a value without a record */
	PARTY_WAITING,
};

/* A holder, or a waiter. */
struct party {
	enum party_role role;
	char token[128];
	int slot;        /* -1: none */
	int64_t left_ms; /* until this holding expires; -1: it does not, or a waiter's */
	int64_t
	    since_us; /* the server's clock: when it got the lock, or began to wait; 0 unknown */
	bool known;   /* there is a record */
	struct identity identity;
	bool breaker_known;
	struct identity breaker; /* who has broken it */
};

struct sight {
	char name[NAME_MAX_BYTES + 1];
	char key[KEY_SIZE];
	enum sight_state state;
	char type[32];   /* of what stands at the key, as Redis calls it; none */
	char value[129]; /* what stands at the key, cut */
	int slots;       /* how many there may be; 0: it is not for slots */
	int64_t left_ms; /* until all that holds it has expired; -1: it does not, or it is free */
	bool by_session; /* held as long as sessions live: nothing of it expires */
	int64_t now_us;  /* the server's clock */
	/* How many there are, when not all of them are parties; among the waiting the dead too. */
	int64_t held, waiting;
	struct party *parties; /* holders first, then waiters in the order of arrival */
	size_t count, room;
	size_t holders; /* the first of them */
	char next[64];  /* where the server is to go on; empty: it is complete */
	bool no_memory;
};

/* A server's clock in microseconds. One beyond the doubles of Lua is none. */
bool
sight_read_clock(const struct slice *slice, int64_t *us);

/* An empty sight; `sight` may have been one before, or be all zero. */
void
sight_begin(struct sight *sight, const char *name, const char *key);

/* Gives back the memory. */
void
sight_free(struct sight *sight);

/* One more party, all zero but slot and left_ms; NULL: sight->no_memory. */
struct party *
sight_add_party(struct sight *sight);

/* Adds a page: the answer of status.lua. False: it makes no sense, or sight->no_memory. */
bool
sight_add_page(struct sight *sight, const struct reply *reply);

/* The first page of one lock of survey.lua's. False: as above. */
bool
sight_add_surveyed(struct sight *sight, struct slice *locks, int64_t now_us);

/* What break.lua has done. */
enum sight_result {
	RESULT_BROKEN,  /* its holders have been told to end */
	RESULT_FREED,   /* at once */
	RESULT_ALREADY, /* it was broken before */
	RESULT_NOTOKEN, /* that token does not hold it */
	RESULT_FREE,    /* nobody does */
	RESULT_FOREIGN, /* it is no lock of dlock's, and was left alone */
	RESULT_LATE,    /* so was whatever it is: the request came too late */
};

/* Makes a sight of the answer of break.lua: those whom it was about as they stood before, at most
 * as many as there was room for, of *count in all. As above. */
bool
sight_add_break(struct sight *sight, const struct reply *reply, enum sight_result *result,
    int64_t *count);

/* "free", "held", ... */
const char *
sight_name_state(enum sight_state state);

#endif
