/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "replies.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct reply nodes[LINK_MAX_ITEMS];
#define SLOTS (2 * LINK_MAX_ITEMS)

static const struct reply *slots[SLOTS];
static char texts[65536];
static size_t nodes_used, slots_used, texts_used;

static _Noreturn void
give_up(const char *at)
{
	printf("Bail out! not an answer: %s\n", at);
	exit(1);
}

/* Copies what stands before `end` and returns what follows it. */
static const char *
take_text(struct reply *node, const char *from, char end)
{
	const char *close = strchr(from, end);
	if (close == NULL || texts_used + (size_t)(close - from) + 1 > sizeof texts)
		give_up(from);
	char *copy = texts + texts_used;
	node->text = copy;
	node->length = (size_t)(close - from);
	memcpy(copy, from, node->length);
	copy[node->length] = '\0';
	for (size_t i = 0; i < node->length; i++) {
		if (copy[i] == '~')
			copy[i] = '\0';
	}
	texts_used += node->length + 1;
	return close + 1;
}

static const struct reply *
take(const char **at)
{
	if (nodes_used == LINK_MAX_ITEMS)
		give_up(*at);
	struct reply *node = &nodes[nodes_used++];
	memset(node, 0, sizeof *node);
	*at += strspn(*at, " ");
	char kind = *(*at)++;
	switch (kind) {
	case '\'':
		node->kind = REPLY_STRING;
		*at = take_text(node, *at, '\'');
		break;
	case '+':
	case '-':
		node->kind = kind == '+' ? REPLY_STATUS : REPLY_ERROR;
		*at = take_text(node, *at, ';');
		break;
	case ':':
		node->kind = REPLY_INTEGER;
		node->integer = strtoll(*at, (char **)at, 10);
		break;
	case '_':
		node->kind = REPLY_NIL;
		break;
	case '[': {
		const struct reply *items[LINK_MAX_ARRAY];
		node->kind = REPLY_ARRAY;
		for (*at += strspn(*at, " "); **at != ']'; *at += strspn(*at, " ")) {
			if (node->count == LINK_MAX_ARRAY)
				give_up(*at);
			items[node->count++] = take(at);
		}
		++*at;
		if (slots_used + node->count > SLOTS)
			give_up(*at);
		node->items = slots + slots_used;
		for (size_t i = 0; i < node->count; i++)
			slots[slots_used++] = items[i];
		break;
	}
	default:
		give_up(*at - 1);
	}
	return node;
}

const struct reply *
reply_from(const char *text)
{
	nodes_used = slots_used = texts_used = 0;
	const struct reply *reply = take(&text);
	if (*text != '\0')
		give_up(text);
	return reply;
}
