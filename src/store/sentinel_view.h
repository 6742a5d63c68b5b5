/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What sentinels say, and what follows from several of them. Pure: no I/O.
 *
 * A sentinel may be wrong: cut off from the others it knows an old master; one that lies names
 * anything. So all are asked, and what they say is weighed:
 *
 *   - a master that more than half of those who answered know, be it as a replica, comes before one
 *     that only a few have heard of;
 *   - then the greater epoch: each failover has a number of its own, drawn by a majority, so that
 *     the sentinel that has just made a new master is believed before those who have not heard yet;
 *   - then the greater number of votes.
 *
 * What was chosen is a place to look at, no more: the server there must call itself a master, and
 * what is granted there must reach the replicas. */
#ifndef DLOCK_STORE_SENTINEL_VIEW_H
#define DLOCK_STORE_SENTINEL_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/link.h"
#include "net/url.h"

/* So many replicas are kept by name; all are counted. */
#define VIEW_MAX_REPLICAS 16

/* A replication id has 40 digits. */
#define SENTINEL_ID 48

/* One sentinel's. */
struct sentinel_view {
	bool knows; /* it has named a master */
	struct url_place master;
	int64_t epoch;
	bool is_down;         /* the master, as it sees it: s_down or o_down */
	bool is_failing_over; /* it is making another one the master */
	int64_t quorum,
	    others;    /* sentinels it takes to call the master down; others that it knows */
	int64_t alive; /* replicas without s_down, o_down or disconnected */
	int64_t listed;
	int64_t claimants; /* of those alive: they call themselves masters */
	int64_t
	    demoted; /* of these: what the master was promoted from, as sentinel_read_info says */
	char claimant_id[SENTINEL_ID]; /* of one who is not demoted: its replication id; or empty */
	size_t replica_count;
	struct url_place replicas[VIEW_MAX_REPLICAS];
};

/* What several say of one master. */
struct sentinel_choice {
	struct url_place master;
	int64_t epoch;
	size_t votes, support;
	int64_t alive; /* replicas less those demoted, as the one that sees most of them says */
	int64_t away;  /* others that are listed, as the one that misses most of them says */
	bool is_failing_over; /* one says so at least */
	/* How many of those alive that were, less the claimant with that id, should it be the old
	 * master; the id is empty where there is no such claimant. */
	int64_t alive_less_one;
	char claimant_id[SENTINEL_ID];
};

/* The answer to SENTINEL MASTER into an empty view. False: it is none. */
bool
sentinel_read_master(const struct reply *reply, struct sentinel_view *view);

/* The answer to SENTINEL REPLICAS. False: it is none. */
bool
sentinel_read_replicas(const struct reply *reply, struct sentinel_view *view);

/* The answer to SENTINEL INFO-CACHE, which is worth asking when there are claimants. After a
 * planned failover the old master calls itself one for some ten seconds, and acknowledges nothing.
 * That it is the old one, and not one that is just being promoted, shows in the history of the
 * data: it still has the replication id from which the new master, or a replica that follows that
 * one, has gone on (their second id). One that is promoted takes a new id, from which nobody has
 * gone on. What the old one grants needs the acknowledgement of the new one, which follows it no
 * more; so what the new one grants does not need the old one's. */
void
sentinel_read_info(const struct reply *reply, const char *service, struct sentinel_view *view);

/* The answer of a master to INFO replication: has it gone on from that id? */
bool
sentinel_has_gone_on(const struct reply *info, const char *id);

/* A message that the master of that service is another one now: then *place is it. */
bool
sentinel_read_switch(const struct reply *reply, const char *service, struct url_place *place);

bool
sentinel_same_place(const struct url_place *one, const struct url_place *other);

/* The masters that the views name, the best first, at most `size` of them. Views that do not know
 * one count as no answer. */
size_t
sentinel_choose(const struct sentinel_view *const *views, size_t count,
    struct sentinel_choice *choices, size_t size);

#endif
