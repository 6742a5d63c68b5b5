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
	sighting->forget_at = instant_plus(now, 2 * FORWARD_SAME_NS);
}

static bool
is_seen_by(const struct sighting *sighting, enum forward_witness witness)
{
	return sighting->seen_at[witness].ns != INT64_MAX;
}

static bool
is_within_same(struct instant earlier, struct instant now)
{
	return earlier.ns != INT64_MAX && instant_between(earlier, now) <= FORWARD_SAME_NS;
}

/* The latest sighting of this signal, undecided or decided. */
static struct sighting *
find(struct forward *forward, int number, int code, int sender, bool decided)
{
	for (int i = forward->count - 1; i >= 0; i--) {
		struct sighting *at = &forward->sightings[i];
		if (at->number == number && at->code == code && at->sender == sender &&
		    at->decided == decided)
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

/* Another look at what is not decided yet. */
static void
see_again(struct sighting *at, enum forward_witness witness, struct instant now)
{
	if (!is_seen_by(at, witness)) {
		at->seen_at[witness] = now;
		at->shared = true;
		decide(at, now);
	} else if (witness == at->first && !is_within_same(at->seen_at[witness], now)) {
		at->seen_at[witness] = now;
		at->times++;
	}
}

/* Is it what was decided already? The other witness comes late, or it is the same again. A repeat
 * is remembered: the other witness may see its copy when this sighting is too old to be the same.
 */
static bool
is_swallowed(struct sighting *before, enum forward_witness witness, struct instant now)
{
	if (!is_seen_by(before, witness)) {
		before->seen_at[witness] = now;
		return true;
	}
	if (!is_within_same(before->seen_at[witness], now))
		return false;
	before->swallowed_at[witness] = now;
	return true;
}

static struct sighting *
add(struct forward *forward, int number, int code, int sender, enum forward_witness witness,
    struct instant now)
{
	make_room(forward, now);
	struct sighting *at = &forward->sightings[forward->count++];
	*at = (struct sighting){
	    .number = number,
	    .code = code,
	    .sender = sender,
	    .seen_at = {INSTANT_NEVER, INSTANT_NEVER},
	    .swallowed_at = {INSTANT_NEVER, INSTANT_NEVER},
	    .first = witness,
	    .times = 1,
	};
	at->seen_at[witness] = now;
	return at;
}

static void
see(struct forward *forward, enum forward_witness witness, int number, int code, int sender,
    int64_t settle_ns, struct instant now)
{
	forget_old(forward, now);
	struct sighting *at = find(forward, number, code, sender, false);
	if (at != NULL) {
		see_again(at, witness, now);
		return;
	}
	struct sighting *before = find(forward, number, code, sender, true);
	if (before != NULL && is_swallowed(before, witness, now))
		return;
	enum forward_witness other =
	    witness == FORWARD_BY_OUTER ? FORWARD_BY_RUNNER : FORWARD_BY_OUTER;
	bool other_has = before != NULL && is_within_same(before->swallowed_at[other], now);
	at = add(forward, number, code, sender, witness, now);
	at->decide_at = instant_plus(now, settle_ns);
	if (other_has)
		see_again(at, other, now);
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
forward_see_group(struct forward *forward, enum forward_witness witness, int number, int code,
    int sender, struct instant now)
{
	see(forward, witness, number, code, sender, FORWARD_WITNESS_NS, now);
	struct sighting *at = find(forward, number, code, sender, false);
	if (at == NULL)
		return;
	at->shared = true;
	decide(at, now);
}

void
forward_see_settled(struct forward *forward, int number, int code, int sender, struct instant now)
{
	forget_old(forward, now);
	struct sighting *at = find(forward, number, code, sender, true);
	if (at == NULL)
		at = add(forward, number, code, sender, FORWARD_BY_RUNNER, now);
	at->seen_at[FORWARD_BY_RUNNER] = now;
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
		*by_runner = is_seen_by(at, FORWARD_BY_RUNNER);
		/* Sent one by one, as they came: two at once would become one. */
		if (--at->times > 0)
			at->decide_at = instant_plus(now, FORWARD_SAME_NS);
		else
			decide(at, now);
		return at->number;
	}
	return 0;
}

int
forward_next_shared(struct forward *forward)
{
	for (int i = 0; i < forward->count; i++) {
		struct sighting *at = &forward->sightings[i];
		if (!at->shared)
			continue;
		at->shared = false;
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
