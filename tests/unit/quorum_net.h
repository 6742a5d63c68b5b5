/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* A quorum without servers: nodes that do what the scripts of store/lua do, clients that each have
 * a store/quorum.h, and a network between them that delays, cuts and holds up. Time is simulated;
 * each client's clock has an offset and a rate of its own. What a client believes is compared with
 * what the others believe at that instant. */
#ifndef DLOCK_TESTS_QUORUM_NET_H
#define DLOCK_TESTS_QUORUM_NET_H

#include "store/quorum.h"

#define NET_CLIENTS 5
#define NET_NODES 5
#define NET_EVENTS 96

enum net_rule {
	RULE_ACCEPT, /* the number is accepted in a second phase */
	RULE_NAIVE,  /* each node counts, and the highest count of a majority is the number */
};

struct net_node {
	int token; /* 0: the key is free */
	int64_t expires_at;
	int64_t number;
	int owner;
	int64_t count;        /* RULE_NAIVE */
	int64_t clock_offset; /* to the simulated time */
	int64_t frozen_until;
	int64_t up_since;  /* it restarted */
	unsigned int life; /* counts restarts: connections are cut by them */
};

struct net_client {
	struct quorum quorum;
	int64_t clock_offset;
	double clock_rate;
	int token;
	int64_t counted; /* RULE_NAIVE */
	bool busy;       /* a step is under way whose result is not yet looked at */
	bool releasing;
	int64_t next_at;     /* when it does something by itself */
	int64_t release_at;  /* holding */
	int64_t believes_to; /* simulated time; 0: nothing */
	int64_t
	    last_arrival[2][NET_NODES]; /* to the node, and back: each connection keeps the order */
	unsigned int life[NET_NODES];
	unsigned int connection[NET_NODES];
};

struct net_event {
	int64_t at; /* INT64_MAX: none */
	bool is_answer;
	int client, node, token;
	unsigned int connection, serial;
	enum quorum_ask ask;
	enum quorum_word word;
	int64_t number, clock_us, not_after;
};

struct net {
	uint64_t random;
	enum net_rule rule;
	int nodes, clients;
	int64_t quarantine_ns; /* 0: a node votes at once */
	bool may_forget;       /* nodes restart empty now and then */
	bool has_faults;
	int64_t now, ttl_ns;
	int last_token;
	struct net_node node[NET_NODES];
	struct net_client client[NET_CLIENTS];
	struct net_event events[NET_EVENTS];
	/* What is checked. */
	int won, overlaps, repeats, renewed, retaken, lost;
	int64_t last_fence;
	int64_t longest_retry;
};

void
net_init(struct net *net, uint64_t seed, int nodes, int clients, enum net_rule rule);

/* The request becomes the node's answer to it. */
void
net_node_answer(struct net *net, struct net_event *event);

/* Until that time. */
void
net_run(struct net *net, int64_t until);

#endif
