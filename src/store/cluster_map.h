/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What is known of a Redis Cluster by who wants one slot of it: who has the slot, and whom else to
 * ask. Pure.
 *
 * It needs no complete map: a node that does not have the slot says who does (MOVED), in one line
 * however large the cluster is. So the map is one place, and beside it some nodes that can be asked
 * when that one has failed: those of the URL, and, once a node has told them, the slot's own
 * replicas, one of which takes over, and others. */
#ifndef DLOCK_STORE_CLUSTER_MAP_H
#define DLOCK_STORE_CLUSTER_MAP_H

#include <stdbool.h>
#include <stddef.h>

#include "net/url.h"

#define CLUSTER_MAX_KNOWN 16

struct cluster_map {
	const struct url_place *seeds; /* those of the URL; borrowed */
	size_t seed_count;
	struct url_place
	    known[CLUSTER_MAX_KNOWN]; /* that a node has told of, the slot's own first */
	size_t known_count;
	struct url_place owner; /* of the slot, its port 0: not known */
	bool is_doubted;        /* it has failed, and nobody has named it again */
	size_t turn;            /* who of the others is asked next: known, then seeds */
	struct url_place guest; /* whom to ask once in the owner's place; its port 0: nobody */
};

void
cluster_map_init(struct cluster_map *map, const struct url_place *seeds, size_t seed_count);

/* For another slot of the same cluster. */
void
cluster_map_forget_owner(struct cluster_map *map);

/* Whom to ask now: the guest, once; the owner; where that is not known, or doubted, one of the
 * others after the other, the owner too when all have been asked. */
void
cluster_map_next(struct cluster_map *map, struct url_place *place);

/* That node cannot be reached, or does not serve. */
void
cluster_map_fail(struct cluster_map *map, const struct url_place *place);

/* A node says who has the slot; whom to ask once. */
void
cluster_map_move(struct cluster_map *map, const struct url_place *owner);
void
cluster_map_invite(struct cluster_map *map, const struct url_place *guest);

/* The next line of those that cluster.lua gives, up to `end`; *at moves on. `asked` is the node
 * that told them. False: it is no such line. */
bool
cluster_map_read(const char **at, const char *end, const struct url_place *asked,
    struct url_place *place, bool *is_master);

/* The lines of nodes that cluster.lua gives: they are known now. `asked` is the node that told
 * them. What is no such line is passed over, what has no room, too. */
void
cluster_map_learn(struct cluster_map *map, const char *lines, size_t length,
    const struct url_place *asked);

/* Are they the same? */
bool
cluster_map_same(const struct url_place *one, const struct url_place *other);

#endif
