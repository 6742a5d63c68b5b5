/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Messages to who waits:
 *
 *   f         the lock was given back
 *   t TICKET  it was taken, by who had that ticket in line, 0: by somebody else
 *   s TICKET  the same, and there may be room for more
 *   l TICKET  who had that ticket has left
 *
 * A ticket is the time at which the session began. Messages are hints: a statement decides. */
#include <stdlib.h>

#include "store/postgres_parts.h"

/* From one in line to the next, so that the lock is taken, and that told, before the next one asks
 * for it. */
#define TURN (8 * NS_PER_MS)
#define TURNS_MOST 125
/* A holder that dies sends no message. */
#define LOOK_AGAIN (400 * NS_PER_MS)

/* xorshift64, as in lock/waiting.c. */
static int64_t
jitter(struct postgres_store *postgres, int64_t below)
{
	postgres->random ^= postgres->random << 13;
	postgres->random ^= postgres->random >> 7;
	postgres->random ^= postgres->random << 17;
	return (int64_t)(postgres->random % (uint64_t)below);
}

int64_t
postgres_wait_look_again(struct postgres_store *postgres)
{
	return LOOK_AGAIN - LOOK_AGAIN / 4 + jitter(postgres, LOOK_AGAIN / 2);
}

static void
take_turn(struct postgres_store *postgres, struct instant now)
{
	loop_stop_timer(postgres->loop, &postgres->turn);
	if (postgres->pending || postgres->asked != ASK_NOTHING) {
		postgres->freed = true;
		return;
	}
	postgres->freed = false;
	postgres->store.events->woken(postgres->store.context, WAKE_GRANTED, -1, now);
}

static void
on_turn(void *context, struct instant now)
{
	take_turn(context, now);
}

static void
on_freed(struct postgres_store *postgres)
{
	struct instant now = clock_now();
	int64_t rank = postgres->rank < TURNS_MOST ? postgres->rank : TURNS_MOST;
	if (rank == 0)
		take_turn(postgres, now);
	else
		loop_set_timer(postgres->loop, &postgres->turn,
		    instant_plus(now, rank * TURN + jitter(postgres, TURN / 2)));
}

/* Somebody before us is in line no more. */
static void
move_up(struct postgres_store *postgres, int64_t ticket)
{
	if (ticket == 0 || ticket >= postgres->ticket || postgres->rank == 0)
		return;
	if (--postgres->rank == 0 && !postgres->pending && !postgres->turn.linked)
		postgres->store.events->woken(postgres->store.context, WAKE_HEAD,
		    postgres_wait_look_again(postgres), clock_now());
}

void
postgres_wait_notified(struct postgres_store *postgres, const char *payload)
{
	int64_t ticket;
	if (postgres->is_held || !postgres->is_joined)
		return;
	if (payload[0] == 'f') {
		on_freed(postgres);
		return;
	}
	if (!postgres_read_number(payload + (payload[0] != '\0'), &ticket))
		return;
	if (payload[0] == 't') {
		postgres->freed = false;
		loop_stop_timer(postgres->loop, &postgres->turn);
	}
	move_up(postgres, ticket);
}

void
postgres_wait_answered(struct postgres_store *postgres)
{
	if (postgres->freed && postgres->is_joined)
		loop_set_timer(postgres->loop, &postgres->turn, clock_now());
}

void
postgres_wait_end(struct postgres_store *postgres)
{
	postgres->listens = false;
	postgres->is_joined = false;
	postgres->freed = false;
	loop_stop_timer(postgres->loop, &postgres->turn);
}

void
postgres_wait_init(struct postgres_store *postgres)
{
	postgres->random = postgres->settings->seed | 1;
	postgres->turn = (struct timer){.due = on_turn, .context = postgres};
}
