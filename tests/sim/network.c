/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "network.h"

#include <errno.h>
#include <string.h>

#include "faults.h"
#include "node.h"
#include "trace.h"
#include "world.h"

/* TCP sends again after so long, doubling. */
#define RETRY_FIRST (INT64_C(200) * 1000000)
#define RETRY_LAST (INT64_C(3000) * 1000000)

enum segment_kind {
	SEGMENT_SYN, /* down: its acknowledgement */
	SEGMENT_DATA,
	SEGMENT_END,
	SEGMENT_RESET,
};

struct segment {
	enum segment_kind kind;
	int64_t at;
	const char *bytes;
	size_t length, taken;
	struct segment *next;
};

static struct path paths[MOST_HOSTS][MOST_NODES];
static struct connection *connections;
static uint64_t connection_count;

static void
pump_up(void *subject, uint64_t unused);
static void
pump_down(void *subject, uint64_t unused);

void
network_begin(void)
{
	memset(paths, 0, sizeof paths);
	connections = NULL;
	connection_count = 0;
}

struct path *
network_path(const struct host *host, const struct node *node)
{
	return &paths[host->index][node->index];
}

/* -- sending ----------------------------------------------------------------------------------- */

static bool
is_up(const struct connection *connection, const struct pipe *pipe)
{
	return pipe == &connection->up;
}

static void
arrange(struct connection *connection, struct pipe *pipe, int64_t at)
{
	pipe->is_pumping = true;
	world_at(at, is_up(connection, pipe) ? pump_up : pump_down, connection, 0);
}

static void
put(struct connection *connection, struct pipe *pipe, enum segment_kind kind, const void *bytes,
    size_t length)
{
	const struct path *path = network_path(connection->host, connection->node);
	struct segment *segment = world_allocate(sizeof *segment);
	char *copy = world_allocate(length);
	int64_t delay = is_up(connection, pipe) ? path->delay_up_ns : path->delay_down_ns;
	int64_t at = world.now + dice_spread(&connection->dice, 20000, 800000) + delay;
	if (delay > 0)
		faults_felt(FAULT_DELAY, connection->host, connection->node);
	while (dice_chance(&connection->dice, path->loss)) {
		faults_felt(FAULT_LOSS, connection->host, connection->node);
		at += RETRY_FIRST + dice_below(&connection->dice, RETRY_FIRST);
	}
	if (length > 0)
		memcpy(copy, bytes, length);
	*segment = (struct segment){.kind = kind,
	    .at = at > pipe->last_at ? at : pipe->last_at,
	    .bytes = copy,
	    .length = length};
	pipe->last_at = segment->at;
	if (pipe->first == NULL)
		pipe->first = segment;
	else
		pipe->last->next = segment;
	pipe->last = segment;
	if (!pipe->is_pumping)
		arrange(connection, pipe, segment->at);
}

/* Everything that is on its way there is lost. */
static void
empty(struct pipe *pipe)
{
	pipe->first = pipe->last = NULL;
}

/* -- arriving ---------------------------------------------------------------------------------- */

static void
arrive_up(struct connection *connection, const struct segment *segment)
{
	struct node *node = connection->node;
	switch (segment->kind) {
	case SEGMENT_SYN:
		if (node->is_up) {
			connection->client = node_connect(node, connection);
			put(connection, &connection->down, SEGMENT_SYN, NULL, 0);
		} else {
			put(connection, &connection->down, SEGMENT_RESET, NULL, 0);
		}
		return;
	case SEGMENT_DATA:
		if (connection->client == NULL)
			put(connection, &connection->down, SEGMENT_RESET, NULL, 0);
		else
			node_feed(node, connection, segment->bytes, segment->length);
		return;
	case SEGMENT_END:
	case SEGMENT_RESET:
		if (connection->client != NULL)
			node_disconnect(node, connection);
		return;
	}
}

static void
arrive_down(struct connection *connection, struct segment *segment)
{
	if (connection->is_closed)
		return;
	switch (segment->kind) {
	case SEGMENT_SYN:
		connection->is_established = true;
		break;
	case SEGMENT_DATA:
		segment->next = NULL;
		if (connection->inbox == NULL)
			connection->inbox = segment;
		else
			connection->inbox_last->next = segment;
		connection->inbox_last = segment;
		break;
	case SEGMENT_END:
		connection->has_ended = true;
		break;
	case SEGMENT_RESET:
		connection->error = connection->is_established ? ECONNRESET : ECONNREFUSED;
		break;
	}
	task_wake(connection->owner);
}

/* Does something keep it from arriving? */
static bool
is_held_back(const struct connection *connection)
{
	return connection->is_black || connection->host->is_suspended ||
	    network_path(connection->host, connection->node)->is_cut;
}

static void
pump(struct connection *connection, struct pipe *pipe)
{
	bool up = is_up(connection, pipe);
	pipe->is_pumping = false;
	while (pipe->first != NULL) {
		struct segment *segment = pipe->first;
		if (segment->at > world.now) {
			arrange(connection, pipe, segment->at);
			return;
		}
		/* What a stopped server is told waits there; its kernel takes connections. */
		if (up && segment->kind != SEGMENT_SYN && connection->node->is_frozen) {
			faults_felt(FAULT_FREEZE, NULL, connection->node);
			return;
		}
		if (is_held_back(connection)) {
			faults_felt(FAULT_CUT, connection->host, connection->node);
			pipe->retry = pipe->retry == 0 ? RETRY_FIRST : 2 * pipe->retry;
			if (pipe->retry > RETRY_LAST)
				pipe->retry = RETRY_LAST;
			if (!connection->is_black)
				arrange(connection, pipe, world.now + pipe->retry);
			return;
		}
		pipe->retry = 0;
		pipe->first = segment->next;
		if (up)
			arrive_up(connection, segment);
		else
			arrive_down(connection, segment);
	}
}

static void
pump_up(void *subject, uint64_t unused)
{
	struct connection *connection = subject;
	(void)unused;
	pump(connection, &connection->up);
}

static void
pump_down(void *subject, uint64_t unused)
{
	struct connection *connection = subject;
	(void)unused;
	pump(connection, &connection->down);
}

void
network_pump(void)
{
	for (struct connection *at = connections; at != NULL; at = at->next) {
		if (at->up.first != NULL && !at->up.is_pumping)
			arrange(at, &at->up, world.now);
		if (at->down.first != NULL && !at->down.is_pumping)
			arrange(at, &at->down, world.now);
	}
}

/* -- what befalls it --------------------------------------------------------------------------- */

static bool
is_between(const struct connection *connection, const struct host *host, const struct node *node)
{
	return connection->host == host && connection->node == node && !connection->is_closed;
}

int
network_reset(const struct host *host, const struct node *node, bool keeps_flight)
{
	int count = 0;
	for (struct connection *at = connections; at != NULL; at = at->next) {
		if (!is_between(at, host, node) || at->error != 0)
			continue;
		count++;
		empty(&at->down);
		if (!keeps_flight)
			empty(&at->up);
		put(at, &at->up, SEGMENT_RESET, NULL, 0);
		at->error = ECONNRESET;
		task_wake(at->owner);
	}
	return count;
}

int
network_blacken(const struct host *host, const struct node *node)
{
	int count = 0;
	for (struct connection *at = connections; at != NULL; at = at->next) {
		count += is_between(at, host, node) && !at->is_black;
		at->is_black = at->is_black || is_between(at, host, node);
	}
	return count;
}

int
network_forget_node(const struct node *node, bool says_so)
{
	int count = 0;
	for (struct connection *at = connections; at != NULL; at = at->next) {
		if (at->node != node || at->client == NULL)
			continue;
		at->client = NULL;
		if (!at->is_closed && says_so)
			put(at, &at->down, SEGMENT_RESET, NULL, 0);
		count += !at->is_closed;
	}
	return count;
}

/* -- one connection ---------------------------------------------------------------------------- */

struct connection *
connection_open(struct host *host, struct node *node)
{
	struct connection *connection = world_allocate(sizeof *connection);
	connection->host = host;
	connection->node = node;
	connection->owner = current;
	connection->dice = dice_of(world.seed,
	    100000 + 10000 * (uint64_t)host->index + 1000 * (uint64_t)node->index +
		host->connections++);
	connection->next = connections;
	connections = connection;
	put(connection, &connection->up, SEGMENT_SYN, NULL, 0);
	return connection;
}

long
connection_send(struct connection *connection, const void *bytes, size_t length)
{
	if (connection->error != 0 || connection->is_closed) {
		errno = connection->error != 0 ? connection->error : EPIPE;
		return -1;
	}
	put(connection, &connection->up, SEGMENT_DATA, bytes, length);
	return (long)length;
}

long
connection_receive(struct connection *connection, void *bytes, size_t size, bool peek)
{
	struct segment *segment = connection->inbox;
	if (segment != NULL) {
		size_t length = segment->length - segment->taken;
		if (length > size)
			length = size;
		memcpy(bytes, segment->bytes + segment->taken, length);
		if (peek)
			return (long)length;
		segment->taken += length;
		if (segment->taken == segment->length)
			connection->inbox = segment->next;
		return (long)length;
	}
	if (connection->error != 0) {
		errno = connection->error;
		return -1;
	}
	if (connection->has_ended || connection->is_closed)
		return 0;
	errno = EAGAIN;
	return -1;
}

void
connection_close(struct connection *connection)
{
	if (connection->is_closed)
		return;
	connection->is_closed = true;
	if (connection->error == 0)
		put(connection, &connection->up, SEGMENT_END, NULL, 0);
}

void
connection_end(struct connection *connection)
{
	put(connection, &connection->up, SEGMENT_END, NULL, 0);
	connection->has_ended = true;
	task_wake(connection->owner);
}

bool
connection_is_readable(const struct connection *connection)
{
	return connection->inbox != NULL || connection->has_ended || connection->error != 0;
}

bool
connection_is_writable(const struct connection *connection)
{
	return connection->is_established || connection->error != 0;
}

bool
connection_has_failed(const struct connection *connection)
{
	return connection->error != 0;
}

void
connection_answer(void *context, const char *bytes, size_t length)
{
	struct connection *connection = context;
	if (connection == NULL)
		return; /* of a client that is none of ours */
	trace_bytes(connection->node->name, "answers", bytes, length);
	put(connection, &connection->down, SEGMENT_DATA, bytes, length);
}
