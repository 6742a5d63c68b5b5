/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* The route to the node of a Redis Cluster that has a key's slot (redis+cluster://): implements
 * store/route.h.
 *
 * It asks nobody by itself. A request goes to a node that may have the slot, and one that has not
 * says who does (MOVED, ASK) without having executed it: what is learnt so is the map
 * (cluster_map.h). A replica redirects like any other node, so none ever decides anything. Along
 * with a request a node may be asked who else there is (route_ask), for the day on which the owner
 * fails.
 *
 * Nodes that send each other's clients to and fro get no storm of requests: the first redirections
 * are followed at once, the others every 0.6 s, and the store gives up after five for
 * a request. */
#ifndef DLOCK_STORE_CLUSTER_H
#define DLOCK_STORE_CLUSTER_H

#include "base/loop.h"
#include "net/url.h"
#include "store/route.h"

/* NULL: no memory. The URL is borrowed; freed by its operation. `key` may be NULL: any node will do
 * until cluster_aim. */
struct route *
cluster_route_new(struct loop *loop, const struct url *url, const char *key);

/* What is asked from now on has this key: the owner of its slot is found anew, unless it is the
 * same slot. */
void
cluster_aim(struct route *route, const char *key);

/* From now on that node is asked, whatever slots it has. */
void
cluster_aim_at(struct route *route, const struct url_place *place);

#endif
