/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "world.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace.h"

/* More at a time than any schedule has. */
#define MOST_EVENTS 65536
#define CHUNK ((size_t)1 << 20)
#define MOST_CHUNKS 256

struct event {
	int64_t at;
	uint64_t order;
	event_action *action;
	void *subject;
	uint64_t argument;
};

struct world world;

/* A heap: the earliest first. */
static struct event events[MOST_EVENTS];
static size_t event_count;
static uint64_t next_order;

static char *chunks[MOST_CHUNKS];
static size_t chunk, used;

void
world_begin(uint64_t seed)
{
	world = (struct world){.now = WORLD_BEGIN, .seed = seed};
	event_count = 0;
	next_order = 0;
	chunk = 0;
	used = 0;
}

/* -- events ------------------------------------------------------------------------------------ */

static bool
is_before(const struct event *one, const struct event *other)
{
	return one->at != other->at ? one->at < other->at : one->order < other->order;
}

void
world_at(int64_t at, event_action *action, void *subject, uint64_t argument)
{
	struct event event = {.at = at > world.now ? at : world.now,
	    .order = next_order++,
	    .action = action,
	    .subject = subject,
	    .argument = argument};
	if (at == NEVER)
		return;
	if (event_count == MOST_EVENTS) {
		fprintf(stderr, "sim: too many events (seed %llu)\n",
		    (unsigned long long)world.seed);
		abort();
	}
	size_t place = event_count++;
	while (place > 0 && is_before(&event, &events[(place - 1) / 2])) {
		events[place] = events[(place - 1) / 2];
		place = (place - 1) / 2;
	}
	events[place] = event;
}

static struct event
take_first(void)
{
	struct event first = events[0], last = events[--event_count];
	size_t place = 0;
	for (;;) {
		size_t child = 2 * place + 1;
		if (child >= event_count)
			break;
		if (child + 1 < event_count && is_before(&events[child + 1], &events[child]))
			child++;
		if (!is_before(&events[child], &last))
			break;
		events[place] = events[child];
		place = child;
	}
	events[place] = last;
	return first;
}

bool
world_step(int64_t until)
{
	if (event_count == 0 || events[0].at > until) {
		world.now = until > world.now ? until : world.now;
		return false;
	}
	struct event event = take_first();
	if (event.at > world.now)
		world.now = event.at;
	world.events++;
	event.action(event.subject, event.argument);
	return true;
}

/* -- memory ------------------------------------------------------------------------------------ */

void *
world_allocate(size_t size)
{
	size_t rounded = (size + 15) & ~(size_t)15;
	if (chunks[chunk] != NULL && used + rounded > CHUNK) {
		chunk++;
		used = 0;
	}
	if (chunk == MOST_CHUNKS || rounded > CHUNK) {
		fprintf(stderr, "sim: too much memory (seed %llu)\n",
		    (unsigned long long)world.seed);
		abort();
	}
	if (chunks[chunk] == NULL)
		chunks[chunk] = malloc(CHUNK);
	if (chunks[chunk] == NULL)
		abort();
	void *memory = chunks[chunk] + used;
	used += rounded;
	return memset(memory, 0, size);
}

void
world_fail(const char *format, ...)
{
	va_list arguments;
	if (world.has_failed)
		return;
	world.has_failed = true;
	va_start(arguments, format);
	vsnprintf(world.violation, sizeof world.violation, format, arguments);
	va_end(arguments);
	trace_line("checker", "VIOLATION: %s", world.violation);
}
