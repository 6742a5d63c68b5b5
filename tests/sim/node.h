/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* The simulated servers: each a model of Redis (model.h) behind a network, with a wall clock of its
 * own, that is up, down or stopped, and may forget. */
#ifndef DLOCK_TESTS_NODE_H
#define DLOCK_TESTS_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model.h"
#include "network.h"

struct node {
	int index;
	char name[16];
	struct model *model;   /* kept from one schedule to the next */
	struct model *replica; /* what it has got of it; NULL: never made */
	bool has_replica;
	bool is_up, is_frozen;
	int64_t wall_offset_us; /* of its wall clock */
	int64_t rate_ppm;
	int64_t started_at; /* true time */
	uint64_t writes;    /* when the replica got everything */
};

/* All servers of a schedule, as new. */
void
nodes_begin(int count);
int
nodes_count(void);
struct node *
nodes_get(int index);

/* Its wall clock at a true time, microseconds; and the true time at which it shows that. */
int64_t
node_wall_us(const struct node *node, int64_t at);
int64_t
node_time_of(const struct node *node, int64_t wall_us);

/* Its model, told the time. */
struct model *
node_look(struct node *node);

struct model_client *
node_connect(struct node *node, struct connection *connection);
void
node_feed(struct node *node, struct connection *connection, const char *bytes, size_t length);
void
node_disconnect(struct node *node, struct connection *connection);

/* One command of somebody who is no dlock. */
void
node_command(struct node *node, int argc, const char *const *argv);

/* Has it anything to forget: keys? */
bool
node_has_keys(struct node *node);
bool
node_has_key(struct node *node, const char *name);

/* False: it was down, or it had no client and nothing to forget. */
bool
node_crash(struct node *node, bool says_so);
void
node_start(struct node *node, bool has_memory);
void
node_freeze(struct node *node);
void
node_thaw(struct node *node);
void
node_step_clock(struct node *node, int64_t by_us);

/* The replica has got everything by now; it is promoted in the node's place. */
void
node_replicate(struct node *node);
/* False: nothing has been lost. */
bool
node_fail_over(struct node *node);

/* False: there was nothing. */
bool
node_flush(struct node *node);
bool
node_evict(struct node *node, const char *key);

#endif
