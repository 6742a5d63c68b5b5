/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "quorum_net.h"

#include <string.h>

#include "tap.h"

static bool
one_in(struct net *net, int64_t n)
{
	return tap_random_below(&net->random, n) == 0;
}

static struct instant
clock_of(const struct net *net, const struct net_client *client)
{
	return (struct instant){
	    client->clock_offset + (int64_t)((double)net->now * client->clock_rate)};
}

/* -- the network ------------------------------------------------------------------------------- */

static int64_t
some_delay(struct net *net)
{
	if (net->has_faults && one_in(net, 40))
		return tap_random_below(&net->random, net->ttl_ns / 8);
	return NS_PER_MS / 10 + tap_random_below(&net->random, 3 * NS_PER_MS);
}

static void
post(struct net *net, const struct net_event *event)
{
	struct net_client *client = &net->client[event->client];
	int64_t *last = &client->last_arrival[event->is_answer][event->node];
	for (int i = 0; i < NET_EVENTS; i++) {
		if (net->events[i].at != INT64_MAX)
			continue;
		net->events[i] = *event;
		net->events[i].at = net->now + some_delay(net);
		if (net->events[i].at < *last)
			net->events[i].at = *last;
		*last = net->events[i].at;
		return;
	}
}

/* A node executes a request. */
static void
execute(struct net *net, const struct net_event *request)
{
	struct net_event answer = *request;
	if (request->ask == ASK_NOTHING)
		return;
	net_node_answer(net, &answer);
	answer.is_answer = true;
	post(net, &answer);
}

/* -- a client ---------------------------------------------------------------------------------- */

static void
pump(struct net *net, int index)
{
	struct net_client *client = &net->client[index];
	struct instant now = clock_of(net, client);
	for (int i = 0; i < net->nodes; i++) {
		struct quorum_node *node = &client->quorum.nodes[i];
		if (node->want == ASK_NOTHING || node->link != NODE_UP)
			continue;
		struct net_event request = {.client = index,
		    .node = i,
		    .token = client->token,
		    .connection = client->connection[i],
		    .serial = client->quorum.serial,
		    .ask = node->want,
		    .number = client->quorum.fence,
		    .not_after =
			net->now + net->node[i].clock_offset + client->quorum.node_limit_ns};
		quorum_sent(&client->quorum, i, now);
		post(net, &request);
	}
}

static void
connect_all(struct net *net, int index)
{
	struct net_client *client = &net->client[index];
	for (int i = 0; i < net->nodes; i++) {
		bool is_cut = client->life[i] != net->node[i].life;
		if (client->quorum.nodes[i].link == NODE_UP && !is_cut)
			continue;
		client->connection[i]++;
		client->life[i] = net->node[i].life;
		client->last_arrival[0][i] = client->last_arrival[1][i] = 0;
		quorum_set_link(&client->quorum, i, NODE_UP, clock_of(net, client));
	}
	for (int i = 0; i < net->nodes; i++) {
		int64_t up_ns = net->now - net->node[i].up_since;
		client->quorum.nodes[i].votes = up_ns >= net->quarantine_ns;
	}
}

static void
begin_to_acquire(struct net *net, int index)
{
	struct net_client *client = &net->client[index];
	client->token = ++net->last_token;
	client->counted = 0;
	client->busy = true;
	client->next_at = INT64_MAX;
	quorum_begin_acquire(&client->quorum, clock_of(net, client));
}

/* What it is sure of, in simulated time. */
static void
believe(struct net *net, struct net_client *client)
{
	const struct quorum *quorum = &client->quorum;
	int64_t local = instant_plus(quorum->t0, quorum->ttl_ns - quorum->drift_ns).ns;
	client->believes_to =
	    (int64_t)((double)(local - client->clock_offset) / client->clock_rate);
	client->next_at = net->now + net->ttl_ns / 3;
	if (client->next_at > client->release_at)
		client->next_at = client->release_at;
}

static void
on_won(struct net *net, int index)
{
	struct net_client *client = &net->client[index];
	int64_t fence = net->rule == RULE_NAIVE ? client->counted : client->quorum.fence;
	net->won++;
	for (int i = 0; i < net->clients; i++)
		net->overlaps += i != index && net->client[i].believes_to > net->now;
	if (fence <= net->last_fence)
		net->repeats++;
	net->last_fence = fence;
	client->release_at = net->now + tap_random_below(&net->random, 2 * net->ttl_ns);
	if (!one_in(net, 8))
		client->release_at = net->now + tap_random_below(&net->random, 20 * NS_PER_MS);
	believe(net, client);
}

static void
conclude(struct net *net, int index)
{
	struct net_client *client = &net->client[index];
	enum quorum_result result = client->quorum.result;
	bool was_acquire = client->quorum.step <= QUORUM_ACCEPTING;
	client->busy = false;
	if (client->releasing) {
		client->releasing = false;
		client->next_at = net->now + tap_random_below(&net->random, 10 * NS_PER_MS);
	} else if (was_acquire && result == QUORUM_WON) {
		on_won(net, index);
	} else if (was_acquire) {
		client->next_at = net->now + tap_random_below(&net->random, 30 * NS_PER_MS);
	} else if (result == QUORUM_WON) {
		net->renewed++;
		believe(net, client);
	} else if (result == QUORUM_LOST) {
		net->lost++;
		client->believes_to = 0;
		client->next_at = net->now + tap_random_below(&net->random, 30 * NS_PER_MS);
	} else {
		client->next_at = net->now + 50 * NS_PER_MS;
	}
}

static void
go_on(struct net *net, int index)
{
	struct net_client *client = &net->client[index];
	pump(net, index);
	if (client->busy && client->quorum.result != QUORUM_PENDING)
		conclude(net, index);
}

/* It dies now and then: another one begins in its place, with a token of its own. */
static void
act(struct net *net, int index)
{
	struct net_client *client = &net->client[index];
	struct quorum *quorum = &client->quorum;
	struct instant now = clock_of(net, client);
	connect_all(net, index);
	client->busy = true;
	client->next_at = INT64_MAX;
	if (quorum->held && net->now >= client->believes_to) {
		quorum->held = false; /* unconfirmed: its command is dead */
		client->believes_to = 0;
	}
	if (!quorum->held || (net->has_faults && one_in(net, 50))) {
		client->believes_to = 0;
		begin_to_acquire(net, index);
	} else if (net->now >= client->release_at) {
		client->believes_to = 0;
		client->releasing = true;
		quorum_begin_release(quorum, quorum->node_limit_ns, now);
	} else {
		quorum_begin_renew(quorum, quorum->ttl_ns / 12, now);
	}
	go_on(net, index);
}

static void
deliver(struct net *net, const struct net_event *answer)
{
	struct net_client *client = &net->client[answer->client];
	struct instant now = clock_of(net, client);
	if (answer->connection != client->connection[answer->node] ||
	    client->quorum.nodes[answer->node].link != NODE_UP)
		return;
	if (answer->token != client->token) {
		quorum_heard(&client->quorum, answer->node, now);
	} else {
		if (answer->ask == ASK_ACCEPT && answer->word == WORD_ACCEPTED &&
		    answer->number > client->counted)
			client->counted = answer->number;
		quorum_answered(&client->quorum, answer->node, answer->ask, answer->serial,
		    answer->word, net->rule == RULE_NAIVE ? 0 : answer->number,
		    net->rule == RULE_NAIVE ? 0 : answer->clock_us, now);
	}
	go_on(net, answer->client);
}

/* -- time -------------------------------------------------------------------------------------- */

static void
break_something(struct net *net)
{
	struct net_node *node = &net->node[tap_random_below(&net->random, net->nodes)];
	switch (tap_random_below(&net->random, 4)) {
	case 0:
	case 1:
		node->frozen_until = net->now + tap_random_below(&net->random, net->ttl_ns / 2);
		break;
	case 2: {
		int client = (int)tap_random_below(&net->random, net->clients);
		int which = (int)(node - net->node);
		quorum_set_link(&net->client[client].quorum, which, NODE_DOWN,
		    clock_of(net, &net->client[client]));
		go_on(net, client);
		break;
	}
	case 3:
		if (!net->may_forget)
			break;
		node->token = 0;
		node->number = node->count = 0;
		node->owner = 0;
		node->life++;
		node->up_since = net->now;
		for (int i = 0; i < net->clients; i++) {
			quorum_set_link(&net->client[i].quorum, (int)(node - net->node), NODE_DOWN,
			    clock_of(net, &net->client[i]));
			go_on(net, i);
		}
		break;
	}
}

/* In simulated time; at least one step on, since a clock that is slow rounds down. */
static int64_t
tick_of(const struct net *net, const struct net_client *client)
{
	if (client->quorum.due.ns == INT64_MAX)
		return INT64_MAX;
	int64_t at =
	    (int64_t)((double)(client->quorum.due.ns - client->clock_offset) / client->clock_rate) +
	    1000;
	return at > net->now ? at : net->now;
}

void
net_run(struct net *net, int64_t until)
{
	int64_t breaks_at = net->now;
	while (net->now < until && !tap_failed()) {
		struct net_event *event = NULL;
		int client = -1;
		bool is_tick = false;
		int64_t at = net->has_faults ? breaks_at : INT64_MAX;
		for (int i = 0; i < NET_EVENTS; i++) {
			struct net_event *one = &net->events[i];
			int64_t frozen = one->is_answer ? 0 : net->node[one->node].frozen_until;
			if (one->at != INT64_MAX && one->at < frozen)
				one->at = frozen;
			if (one->at < at) {
				event = one;
				at = one->at;
			}
		}
		for (int i = 0; i < net->clients; i++) {
			int64_t tick = tick_of(net, &net->client[i]);
			int64_t next = net->client[i].next_at;
			if (tick < at || next < at) {
				client = i;
				is_tick = tick < next;
				at = is_tick ? tick : next;
				event = NULL;
			}
		}
		if (at == INT64_MAX)
			return;
		net->now = at > net->now ? at : net->now;
		if (client >= 0 && is_tick) {
			quorum_tick(&net->client[client].quorum,
			    clock_of(net, &net->client[client]));
			go_on(net, client);
		} else if (client >= 0) {
			act(net, client);
		} else if (event != NULL) {
			struct net_event one = *event;
			event->at = INT64_MAX;
			if (one.is_answer)
				deliver(net, &one);
			else
				execute(net, &one);
		} else {
			break_something(net);
			breaks_at = net->now + tap_random_below(&net->random, 2 * net->ttl_ns);
		}
	}
}

void
net_init(struct net *net, uint64_t seed, int nodes, int clients, enum net_rule rule)
{
	memset(net, 0, sizeof *net);
	net->random = seed;
	net->rule = rule;
	net->nodes = nodes;
	net->clients = clients;
	net->ttl_ns = 2 * NS_PER_S;
	net->now = 1000 * NS_PER_S;
	for (int i = 0; i < NET_EVENTS; i++)
		net->events[i].at = INT64_MAX;
	for (int i = 0; i < clients; i++) {
		struct net_client *client = &net->client[i];
		quorum_init(&client->quorum, nodes, net->ttl_ns, net->ttl_ns / 100 + 2 * NS_PER_MS,
		    0);
		client->clock_offset = tap_random_below(&net->random, 1200 * NS_PER_S);
		client->clock_rate = 1 + (double)(tap_random_below(&net->random, 9) - 4) / 1000;
		client->next_at = net->now + tap_random_below(&net->random, 50 * NS_PER_MS);
	}
}
