/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What the scripts of store/lua/node_*.lua and renew.lua do, in the simulated time. */
#include "quorum_net.h"

static int64_t
node_clock_us(const struct net *net, const struct net_node *node)
{
	return (net->now + node->clock_offset) / NS_PER_US;
}

static bool
accepts(const struct net_node *node, int64_t number, int token)
{
	return number > node->number || (number == node->number && token == node->owner);
}

static enum quorum_word
take(struct net *net, struct net_node *node, const struct net_event *event)
{
	if (node->clock_offset + net->now > event->not_after)
		return WORD_FAILED;
	if (node->token == event->token)
		return WORD_OWNED;
	if (node->token != 0)
		return WORD_BUSY;
	if (event->ask == ASK_RETAKE) {
		if (!accepts(node, event->number, event->token))
			return WORD_LOW;
		node->number = event->number;
		node->owner = event->token;
		net->retaken++;
	}
	node->token = event->token;
	node->expires_at = net->now + net->ttl_ns;
	return WORD_TAKEN;
}

static enum quorum_word
accept(struct net *net, struct net_node *node, struct net_event *event)
{
	if (node->token != event->token)
		return WORD_GONE;
	if (net->rule == RULE_NAIVE) {
		event->number = ++node->count;
		return WORD_ACCEPTED;
	}
	if (!accepts(node, event->number, event->token))
		return WORD_LOW;
	node->number = event->number;
	node->owner = event->token;
	return WORD_ACCEPTED;
}

static enum quorum_word
renew_or_give(struct net *net, struct net_node *node, const struct net_event *event)
{
	if (node->token == 0)
		return WORD_GONE;
	if (node->token != event->token)
		return WORD_ANOTHERS;
	node->expires_at = net->now + net->ttl_ns;
	if (event->ask == ASK_GIVE)
		node->token = 0;
	return WORD_YES;
}

void
net_node_answer(struct net *net, struct net_event *event)
{
	struct net_node *node = &net->node[event->node];
	if (net->now >= node->expires_at)
		node->token = 0;
	switch (event->ask) {
	case ASK_NOTHING:
		break;
	case ASK_TAKE:
	case ASK_RETAKE:
		event->word = take(net, node, event);
		break;
	case ASK_ACCEPT:
		event->word = accept(net, node, event);
		break;
	case ASK_RENEW:
	case ASK_GIVE:
		event->word = renew_or_give(net, node, event);
		break;
	case ASK_LOOK:
		event->word = node->token != 0 ? WORD_BUSY : WORD_FREE;
		break;
	}
	if (net->rule != RULE_NAIVE)
		event->number = node->number;
	event->clock_us = node_clock_us(net, node);
}
