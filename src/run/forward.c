/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "run/forward.h"

#include <stddef.h>

static bool
is_same(const struct sighting *sighting, int number, int code, int sender)
{
	return sighting->number == number && sighting->code == code && sighting->sender == sender;
}

static void
forget_old(struct forward *forward, struct instant now)
{
	int kept = 0;
	for (int i = 0; i < forward->count; i++) {
		const struct sighting *at = &forward->sightings[i];
		if (!at->decided || !instant_reached(at->forget_at, now))
			forward->sightings[kept++] = *at;
	}
	forward->count = kept;
}

static void
decide(struct sighting *sighting, struct instant now)
{
	sighting->decided = true;
	sighting->forget_at = instant_plus(now, FORWARD_SAME_NS);
}

void
forward_see(struct forward *forward, enum forward_witness witness, int number, int code, int sender,
    bool from_group, struct instant now)
{
	int64_t settle = from_group ? FORWARD_SETTLE_GROUP_NS : FORWARD_SETTLE_NS;
	if (witness == FORWARD_BY_RUNNER)
		settle = FORWARD_WITNESS_NS;

	forget_old(forward, now);
	for (int i = 0; i < forward->count; i++) {
		struct sighting *at = &forward->sightings[i];
		if (!is_same(at, number, code, sender))
			continue;
		at->by_outer = at->by_outer || witness == FORWARD_BY_OUTER;
		at->by_runner = at->by_runner || witness == FORWARD_BY_RUNNER;
		if (at->by_outer && at->by_runner && !at->decided)
			decide(at, now);
		return;
	}
	if (forward->count == FORWARD_MAX) {
		/* The oldest makes room: decided or not, it has been told about or is now lost in a
		 * storm of signals. */
		for (int i = 1; i < FORWARD_MAX; i++)
			forward->sightings[i - 1] = forward->sightings[i];
		forward->count--;
	}
	forward->sightings[forward->count++] = (struct sighting){
	    .number = number,
	    .code = code,
	    .sender = sender,
	    .by_outer = witness == FORWARD_BY_OUTER,
	    .by_runner = witness == FORWARD_BY_RUNNER,
	    .decide_at = instant_plus(now, settle),
	};
}

void
forward_see_settled(struct forward *forward, int number, int code, int sender, struct instant now)
{
	forward_see(forward, FORWARD_BY_RUNNER, number, code, sender, false, now);
	struct sighting *last = &forward->sightings[forward->count - 1];
	last->decided = true;
	last->forget_at = instant_plus(now, FORWARD_WITNESS_NS);
}

int
forward_next(struct forward *forward, struct instant now, bool *by_runner)
{
	for (int i = 0; i < forward->count; i++) {
		struct sighting *at = &forward->sightings[i];
		if (at->decided || !instant_reached(at->decide_at, now))
			continue;
		decide(at, now);
		*by_runner = at->by_runner;
		return at->number;
	}
	return 0;
}

struct instant
forward_due(const struct forward *forward)
{
	struct instant due = INSTANT_NEVER;
	for (int i = 0; i < forward->count; i++) {
		if (!forward->sightings[i].decided)
			due = instant_earlier(due, forward->sightings[i].decide_at);
	}
	return due;
}
