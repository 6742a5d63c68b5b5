/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checker.h"
#include "faults.h"
#include "sure_check.h"
#include "trace.h"
#include "world.h"

/* Some day in 2026. */
#define WALL_BEGIN_US INT64_C(1780000000000000)
#define LONGEST_COMMAND 65536

static struct node nodes[MOST_NODES];
static int node_count;

void
nodes_begin(int count)
{
	static const struct model_options options = {.deliver = connection_answer};
	node_count = count;
	for (int i = 0; i < count; i++) {
		struct node *node = &nodes[i];
		struct model *model = node->model, *replica = node->replica;
		*node =
		    (struct node){.index = i, .model = model, .replica = replica, .is_up = true};
		snprintf(node->name, sizeof node->name, "node%d", i + 1);
		node->wall_offset_us = WALL_BEGIN_US;
		node->started_at = WORLD_BEGIN - INT64_C(86400) * 1000000000;
		if (model == NULL)
			node->model = model_new(&options);
		else
			model_reset(model);
		model_set_started(node->model, node_wall_us(node, node->started_at));
	}
}

int
nodes_count(void)
{
	return node_count;
}

struct node *
nodes_get(int index)
{
	return &nodes[index];
}

/* -- its clock --------------------------------------------------------------------------------- */

int64_t
node_wall_us(const struct node *node, int64_t at)
{
	int64_t passed_us = (at - WORLD_BEGIN) / 1000;
	return node->wall_offset_us + passed_us + passed_us / 1000 * node->rate_ppm / 1000;
}

int64_t
node_time_of(const struct node *node, int64_t wall_us)
{
	int64_t passed_us = wall_us - node->wall_offset_us;
	int64_t us = passed_us -
	    (int64_t)((double)passed_us * (double)node->rate_ppm / (1e6 + (double)node->rate_ppm));
	return WORLD_BEGIN + us * 1000;
}

struct model *
node_look(struct node *node)
{
	model_set_time(node->model, node_wall_us(node, world.now));
	return node->model;
}

void
node_step_clock(struct node *node, int64_t by_us)
{
	node->wall_offset_us += by_us;
	/* How long it has been up it counts by its wall clock. */
	node_look(node);
}

/* -- clients ----------------------------------------------------------------------------------- */

struct model_client *
node_connect(struct node *node, struct connection *connection)
{
	return model_connect(node_look(node), connection);
}

void
node_feed(struct node *node, struct connection *connection, const char *bytes, size_t length)
{
	node_look(node);
	trace_bytes(node->name, "is told", bytes, length);
	sure_check_before(node);
	uint64_t refusals = model_refusals(node->model);
	bool goes_on = model_feed(connection->client, bytes, length);
	if (!goes_on)
		node_disconnect(node, connection);
	if (model_refusals(node->model) > refusals) {
		faults_felt(FAULT_FULL, NULL, node);
		faults_felt(FAULT_READ_ONLY, NULL, node);
	}
	checker_node_has_worked(node, connection->owner->dlock);
}

void
node_disconnect(struct node *node, struct connection *connection)
{
	node_look(node);
	model_disconnect(connection->client);
	connection->client = NULL;
}

void
node_command(struct node *node, int argc, const char *const *argv)
{
	static char bytes[LONGEST_COMMAND];
	size_t used = (size_t)snprintf(bytes, sizeof bytes, "*%d\r\n", argc);
	for (int i = 0; i < argc && used < sizeof bytes; i++)
		used += (size_t)snprintf(bytes + used, sizeof bytes - used, "$%zu\r\n%s\r\n",
		    strlen(argv[i]), argv[i]);
	if (used >= sizeof bytes)
		abort();
	if (!node->is_up)
		return;
	trace_bytes(node->name, "is told by a stranger", bytes, used);
	struct model_client *client = model_connect(node_look(node), NULL);
	model_feed(client, bytes, used);
	model_disconnect(client);
	checker_node_has_worked(node, NULL);
}

/* -- what befalls it --------------------------------------------------------------------------- */

bool
node_has_keys(struct node *node)
{
	struct model_key key;
	size_t at = 0;
	return node->is_up && model_next_key(node_look(node), &at, &key);
}

bool
node_has_key(struct node *node, const char *name)
{
	struct model_key key;
	return node->is_up && model_find_key(node_look(node), name, &key);
}

bool
node_crash(struct node *node, bool says_so)
{
	bool had_keys = node_has_keys(node);
	if (!node->is_up)
		return false;
	trace_line(node->name, "crashes%s", says_so ? "" : ", without a word");
	node->is_up = false;
	node->is_frozen = false;
	return network_forget_node(node, says_so) > 0 || had_keys;
}

void
node_start(struct node *node, bool has_memory)
{
	if (node->is_up)
		return;
	trace_line(node->name, "starts %s memory", has_memory ? "with its" : "without");
	if (has_memory) {
		/* What it had on disk; not its clients, nor the scripts. */
		static struct model *saved[MOST_NODES];
		struct model **copy = &saved[node->index];
		if (*copy == NULL)
			*copy = model_copy(node->model);
		else
			model_restore(*copy, node->model);
		model_reset(node->model);
		model_restore(node->model, *copy);
	} else {
		model_reset(node->model);
	}
	node->is_up = true;
	node->started_at = world.now;
	model_set_started(node->model, node_wall_us(node, world.now));
	network_pump();
}

void
node_freeze(struct node *node)
{
	trace_line(node->name, "is stopped");
	node->is_frozen = true;
}

void
node_thaw(struct node *node)
{
	trace_line(node->name, "is continued");
	node->is_frozen = false;
	network_pump();
}

void
node_replicate(struct node *node)
{
	trace_line(node->name, "its replica has got everything until now");
	if (node->replica == NULL)
		node->replica = model_copy(node_look(node));
	else
		model_restore(node->replica, node_look(node));
	node->has_replica = true;
	node->writes = model_writes(node->model);
}

bool
node_fail_over(struct node *node)
{
	if (!node->is_up || !node->has_replica)
		return false;
	bool loses = model_writes(node->model) > node->writes;
	trace_line(node->name, "fails over to its replica");
	network_forget_node(node, true);
	model_reset(node->model);
	model_restore(node->model, node->replica);
	node->started_at = world.now;
	model_set_started(node->model, node_wall_us(node, world.now));
	return loses;
}

bool
node_flush(struct node *node)
{
	bool had_keys = node_has_keys(node);
	trace_line(node->name, "FLUSHALL");
	if (node->is_up)
		model_flush(node_look(node));
	return had_keys;
}

bool
node_evict(struct node *node, const char *key)
{
	trace_line(node->name, "evicts %s", key);
	return node->is_up && model_evict(node_look(node), key);
}
