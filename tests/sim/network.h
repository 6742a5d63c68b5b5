/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* The network between machines and servers: streams of bytes in order, with delay, loss (which is
 * delay, the packet is sent again), cuts, connections that die with or without a sign.
 *
 * What was sent on a connection that is closed since still arrives, as it does in life: that is
 * where ghosts come from. */
#ifndef DLOCK_TESTS_NETWORK_H
#define DLOCK_TESTS_NETWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dice.h"
#include "host.h"
#include "model.h"
#include "task.h"

#define MOST_NODES 5

struct node;
struct segment;

struct pipe {
	struct segment *first, *last;
	int64_t last_at;
	int64_t retry; /* until the next try to send again, ns; 0: none has failed */
	bool is_pumping;
};

struct connection {
	struct host *host;
	struct node *node;
	struct task *owner;
	struct model_client *client; /* at the server; NULL: it knows no such connection */
	struct pipe up, down;
	bool is_established, is_closed; /* at the client */
	bool has_ended;                 /* the server has closed it */
	int error;                      /* errno; 0: none */
	bool is_black;                  /* nothing gets through any more, and nobody is told */
	struct segment *inbox, *inbox_last;
	struct dice dice;
	struct connection *next; /* of all */
};

/* What lies between one machine and one server. */
struct path {
	bool is_cut;
	int64_t delay_up_ns, delay_down_ns; /* on top of the usual */
	int loss;                           /* of 1,000 segments */
};

void
network_begin(void);

struct path *
network_path(const struct host *host, const struct node *node);

/* What held segments back on a path, or at a server, is over. */
void
network_pump(void);

/* Every connection on that path is reset, at both ends; with keeps_flight what is on its way to the
 * server still arrives before that. The counts of connections. */
int
network_reset(const struct host *host, const struct node *node, bool keeps_flight);

/* Every connection on that path dies without a sign. */
int
network_blacken(const struct host *host, const struct node *node);

/* The server has gone, its connections with it; with or without a word. How many they were. */
int
network_forget_node(const struct node *node, bool says_so);

/* -- one connection, as a socket -------------------------------------------------------------- */

struct connection *
connection_open(struct host *host, struct node *node);

/* As send(2) and recv(2). */
long
connection_send(struct connection *connection, const void *bytes, size_t length);
long
connection_receive(struct connection *connection, void *bytes, size_t size, bool peek);

void
connection_close(struct connection *connection);

/* shutdown(2). */
void
connection_end(struct connection *connection);

bool
connection_is_readable(const struct connection *connection);
bool
connection_is_writable(const struct connection *connection);
bool
connection_has_failed(const struct connection *connection);

/* What the server says: model_options.deliver. */
void
connection_answer(void *context, const char *bytes, size_t length);

#endif
