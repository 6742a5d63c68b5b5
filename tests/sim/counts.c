/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "counts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lua_scripts.h"
#include "model.h"
#include "stand_ins.h"

#define MOST_STATES 16

/* Every answer that a script can give, but for errors, and for OWNED of node_take: that is said
 * where two URLs lead to one server, which the quorum finds out before it asks. */
static const struct reply_kind_of {
	const char *script, *sha1, *kind;
} replies[] = {
    {"acquire", lua_acquire_sha1, "GRANTED"},
    {"acquire", lua_acquire_sha1, "OWNED"},
    {"acquire", lua_acquire_sha1, "BUSY"},
    {"acquire", lua_acquire_sha1, "FULL"},
    {"acquire", lua_acquire_sha1, "SLOTS"},
    {"acquire", lua_acquire_sha1, "FREE"},
    {"acquire", lua_acquire_sha1, "LATE"},
    {"confirm", lua_confirm_sha1, "OWNED"},
    {"confirm", lua_confirm_sha1, "UNUSUAL"},
    {"renew", lua_renew_sha1, "1"},
    {"renew", lua_renew_sha1, "0"},
    {"renew", lua_renew_sha1, "-1"},
    {"renew_member", lua_renew_member_sha1, "1"},
    {"renew_member", lua_renew_member_sha1, "0"},
    {"renew_member", lua_renew_member_sha1, "-1"},
    {"release", lua_release_sha1, "1"},
    {"release", lua_release_sha1, "0"},
    {"release", lua_release_sha1, "-1"},
    {"break", lua_break_sha1, "BROKEN"},
    {"break", lua_break_sha1, "FREED"},
    {"break", lua_break_sha1, "ALREADY"},
    {"break", lua_break_sha1, "NOTOKEN"},
    {"break", lua_break_sha1, "FREE"},
    {"break", lua_break_sha1, "FOREIGN"},
    {"break", lua_break_sha1, "LATE"},
    {"node_take", lua_node_take_sha1, "TAKEN"},
    {"node_take", lua_node_take_sha1, "BUSY"},
    {"node_take", lua_node_take_sha1, "LOW"},
    {"node_take", lua_node_take_sha1, "FREE"},
    {"node_take", lua_node_take_sha1, "LATE"},
    {"node_accept", lua_node_accept_sha1, "ACCEPTED"},
    {"node_accept", lua_node_accept_sha1, "LOW"},
    {"node_accept", lua_node_accept_sha1, "GONE"},
    {"node_release", lua_node_release_sha1, "1"},
    {"node_release", lua_node_release_sha1, "0"},
    {"node_release", lua_node_release_sha1, "-1"},
};
#define REPLIES (sizeof replies / sizeof *replies)

struct totals {
	uint64_t counted[COUNTED_KINDS];
	uint64_t faults[FAULT_KINDS];
	uint64_t states[MOST_STATES];
	uint64_t outcomes[MOST_STATES];
	uint64_t replies[REPLIES];
	uint64_t seed;
};

static struct totals *shared, *own;

void
counts_share(void)
{
	shared = __real_mmap(NULL, MOST_WORKERS * sizeof *shared, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		abort();
	own = shared;
}

void
counts_be_worker(int number)
{
	own = &shared[number];
}

void
counts_add(enum counted what, uint64_t many)
{
	own->counted[what] += many;
}

void
counts_add_fault(enum fault_kind kind)
{
	own->faults[kind]++;
}

void
counts_add_state(int state)
{
	own->states[state]++;
}

void
counts_add_outcome(int outcome)
{
	own->outcomes[outcome]++;
}

static void
add_reply(void *context, const char *sha1, const char *kind, uint64_t count)
{
	(void)context;
	for (size_t i = 0; i < REPLIES; i++) {
		if (strcmp(replies[i].sha1, sha1) == 0 && strcmp(replies[i].kind, kind) == 0)
			own->replies[i] += count;
	}
}

void
counts_add_replies(void)
{
	model_tell_replies(add_reply, NULL);
}

void
counts_note_seed(uint64_t seed)
{
	own->seed = seed;
}

uint64_t
counts_seed_of(int worker)
{
	return shared[worker].seed;
}

/* -- telling ----------------------------------------------------------------------------------- */

static uint64_t
sum(const uint64_t *first)
{
	uint64_t total = 0;
	for (size_t i = 0; i < MOST_WORKERS; i++)
		total += *(const uint64_t *)((const char *)first + i * sizeof *shared);
	return total;
}

uint64_t
counts_get(enum counted what)
{
	return sum(&shared->counted[what]);
}

static bool
print(const char *group, const char *name, uint64_t count, uint64_t floor)
{
	bool enough = count >= floor;
	printf("%s%-12s %-40s %12" PRIu64 "\n", enough ? "  " : "! ", group, name, count);
	return enough;
}

static bool
print_lock(uint64_t floor)
{
	static const char *const states[] = {"idle", "asking", "waiting", "held", "doubtful",
	    "lost", "releasing", "released", "leaving", "failed"};
	static const char *const outcomes[] = {"ran", "conflict", "lost", "max-hold",
	    "not executed", "unreachable", "refused", "denied", "skipped", "unlocked",
	    "interrupted", "system error"};
	bool enough = true;
	for (size_t i = 1; i < sizeof states / sizeof *states; i++)
		enough &= print("lock state", states[i], sum(&shared->states[i]), floor);
	for (size_t i = 0; i < sizeof outcomes / sizeof *outcomes; i++) {
		/* What no schedule is made for. */
		bool is_out = i == REPORT_DENIED || i == REPORT_SKIPPED || i == REPORT_UNLOCKED ||
		    i == REPORT_SYSTEM_ERROR;
		enough &=
		    print("outcome", outcomes[i], sum(&shared->outcomes[i]), is_out ? 0 : floor);
	}
	return enough;
}

bool
counts_print(uint64_t floor)
{
	static const char *const counted[COUNTED_KINDS] = {"schedules", "events",
	    "commands that ran", "of them excused (a server forgot)", "pairs of fences compared",
	    "hand-offs measured", "ends of --at-least seen"};
	char name[64];
	uint64_t one = floor > 0;
	bool enough = true;
	for (int i = 0; i < COUNTED_KINDS; i++)
		print("checked", counted[i], counts_get((enum counted)i), 0);
	for (int i = 0; i < FAULT_KINDS; i++)
		enough &=
		    print("fault", fault_name((enum fault_kind)i), sum(&shared->faults[i]), floor);
	enough &= print_lock(one);
	for (size_t i = 0; i < REPLIES; i++) {
		snprintf(name, sizeof name, "%s %s", replies[i].script, replies[i].kind);
		enough &= print("script", name, sum(&shared->replies[i]), one);
	}
	if (!enough)
		printf("what is marked with ! was not reached often enough\n");
	return enough;
}
