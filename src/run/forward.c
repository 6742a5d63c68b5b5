/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "run/forward.h"

#include <stddef.h>

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

static struct sighting *
find(struct forward *forward, int number, int code, int sender)
{
	for (int i = 0; i < forward->count; i++) {
		struct sighting *at = &forward->sightings[i];
		if (at->number == number && at->code == code && at->sender == sender)
			return at;
	}
	return NULL;
}

/* Makes room for one more; in a storm of signals the oldest undecided one becomes due. */
static void
make_room(struct forward *forward, struct instant now)
{
	int undecided = 0, oldest_decided = -1, oldest_undecided = -1;
	for (int i = forward->count - 1; i >= 0; i--) {
		const struct sighting *at = &forward->sightings[i];
		if (at->decided)
			oldest_decided = i;
		else if (!instant_reached(at->decide_at, now))
			oldest_undecided = i;
		undecided += !at->decided;
	}
	if (undecided >= FORWARD_MAX && oldest_undecided >= 0)
		forward->sightings[oldest_undecided].decide_at = now;
	if (forward->count < FORWARD_ROOM)
		return;
	/* All due and nobody asks for them: then, and only then, one is dropped. */
	int victim = oldest_decided >= 0 ? oldest_decided : 0;
	for (int i = victim + 1; i < forward->count; i++)
		forward->sightings[i - 1] = forward->sightings[i];
	forward->count--;
}

static void
see_again(struct sighting *at, enum forward_witness witness, struct instant now)
{
	if (witness == FORWARD_BY_RUNNER) {
		at->by_runner = true;
	} else {
		if (!at->by_outer || instant_between(at->by_outer_at, now) > FORWARD_SAME_NS) {
			at->times++;
			at->by_outer_at = now;
		}
		at->by_outer = true;
	}
	if (at->by_outer && at->by_runner && !at->decided)
		decide(at, now);
}

static struct sighting *
see(struct forward *forward, enum forward_witness witness, int number, int code, int sender,
    int64_t settle_ns, struct instant now)
{
	forget_old(forward, now);
	struct sighting *at = find(forward, number, code, sender);
	if (at == NULL) {
		make_room(forward, now);
		at = &forward->sightings[forward->count++];
		*at = (struct sighting){
		    .number = number,
		    .code = code,
		    .sender = sender,
		    .decide_at = instant_plus(now, settle_ns),
		};
	}
	see_again(at, witness, now);
	return at;
}

void
forward_see(struct forward *forward, enum forward_witness witness, int number, int code, int sender,
    bool from_group, struct instant now)
{
	int64_t settle_ns = from_group ? FORWARD_SETTLE_GROUP_NS : FORWARD_SETTLE_NS;
	if (witness == FORWARD_BY_RUNNER)
		settle_ns = FORWARD_WITNESS_NS;
	see(forward, witness, number, code, sender, settle_ns, now);
}

void
forward_see_settled(struct forward *forward, int number, int code, int sender, struct instant now)
{
	struct sighting *at =
	    see(forward, FORWARD_BY_RUNNER, number, code, sender, FORWARD_WITNESS_NS, now);
	at->decided = true;
	at->forget_at = instant_plus(now, FORWARD_WITNESS_NS);
}

int
forward_next(struct forward *forward, struct instant now, bool *by_runner)
{
	for (int i = 0; i < forward->count; i++) {
		struct sighting *at = &forward->sightings[i];
		if (at->decided || !instant_reached(at->decide_at, now))
			continue;
		*by_runner = at->by_runner;
		/* Sent one by one, as they came: two at once would become one. */
		if (--at->times > 0)
			at->decide_at = instant_plus(now, FORWARD_SAME_NS);
		else
			decide(at, now);
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
