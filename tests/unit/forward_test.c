/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* run/forward: which signals COMMAND is still to be sent (SPEC section 4: each exactly once). */
#include "run/forward.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "tap.h"

#define MS NS_PER_MS
#define BY_USER 0           /* SI_USER: kill(2) */
#define BY_KERNEL SI_KERNEL /* a terminal */

enum act {
	END,
	OUTER,       /* OUTER got it */
	RUNNER,      /* RUNNER got it */
	OUTER_GROUP, /* the same, from a sender in dlock's process group */
	RUNNER_GROUP,
	OUTER_ALL, /* the same, and it is known that the whole group got it */
	RUNNER_ALL,
	SETTLED, /* RUNNER got it before COMMAND was there */
};

struct step {
	int64_t at_ms;
	enum act act;
	int number;
	int sender;
	int code;
};

/* What is seen, and what must come of it: how often each signal is sent, and when first. */
static const struct scene {
	const char *what;
	struct step steps[6];
	int number, times;
	int64_t first_ms;
} scenes[] = {
    {"kill PID: OUTER alone got it: sent on when the group has had its 10 ms",
	{{0, OUTER, SIGTERM, 50, BY_USER}}, SIGTERM, 1, 10},
    {"kill -- -PGID: both got it: COMMAND has it",
	{{0, OUTER, SIGTERM, 50, BY_USER}, {1, RUNNER, SIGTERM, 50, BY_USER}}, SIGTERM, 0, 0},
    {"the group, seen by RUNNER first",
	{{0, RUNNER, SIGTERM, 50, BY_USER}, {1, OUTER, SIGTERM, 50, BY_USER}}, SIGTERM, 0, 0},
    {"the group, and OUTER takes its time to ask",
	{{0, RUNNER, SIGTERM, 50, BY_USER}, {99, OUTER, SIGTERM, 50, BY_USER}}, SIGTERM, 0, 0},
    {"a child signals its parent: RUNNER alone got it: sent on after 100 ms",
	{{0, RUNNER, SIGUSR1, 60, BY_USER}}, SIGUSR1, 1, 100},
    {"Ctrl-C: the terminal signals the whole group",
	{{0, OUTER, SIGINT, 0, BY_KERNEL}, {0, RUNNER, SIGINT, 0, BY_KERNEL}}, SIGINT, 0, 0},
    {"the hang-up goes to the session leader alone", {{0, OUTER, SIGHUP, 0, BY_KERNEL}}, SIGHUP, 1,
	10},
    {"timeout(1): to dlock, then to the group it is in itself",
	{{0, OUTER_GROUP, SIGTERM, 50, BY_USER}, {1, OUTER_GROUP, SIGTERM, 50, BY_USER},
	    {1, RUNNER_GROUP, SIGTERM, 50, BY_USER}},
	SIGTERM, 0, 0},
    {"timeout(1), slowed down for 90 ms between the two",
	{{0, OUTER_GROUP, SIGTERM, 50, BY_USER}, {90, OUTER_GROUP, SIGTERM, 50, BY_USER},
	    {91, RUNNER_GROUP, SIGTERM, 50, BY_USER}},
	SIGTERM, 0, 0},
    {"timeout(1), its signal for the group seen by RUNNER first",
	{{0, OUTER_GROUP, SIGTERM, 50, BY_USER}, {1, RUNNER_GROUP, SIGTERM, 50, BY_USER},
	    {2, OUTER_GROUP, SIGTERM, 50, BY_USER}},
	SIGTERM, 0, 0},
    {"a member of the group signals dlock alone: sent on after 100 ms",
	{{0, OUTER_GROUP, SIGTERM, 50, BY_USER}}, SIGTERM, 1, 100},
    {"twice within 10 ms from one sender counts once",
	{{0, OUTER, SIGUSR1, 50, BY_USER}, {9, OUTER, SIGUSR1, 50, BY_USER}}, SIGUSR1, 1, 10},
    {"twice within 10 ms, the second just after the decision, counts once",
	{{0, OUTER, SIGUSR1, 50, BY_USER}, {10, OUTER, SIGUSR1, 50, BY_USER}}, SIGUSR1, 1, 10},
    {"twice, 12 ms apart, counts twice, though the first was decided just before",
	{{0, OUTER, SIGUSR1, 50, BY_USER}, {12, OUTER, SIGUSR1, 50, BY_USER}}, SIGUSR1, 2, 10},
    {"two for the group 10 ms apart, one witness a moment earlier than the other",
	{{0, OUTER, SIGUSR1, 50, BY_USER}, {0, RUNNER, SIGUSR1, 50, BY_USER},
	    {10, RUNNER, SIGUSR1, 50, BY_USER}, {11, OUTER, SIGUSR1, 50, BY_USER}},
	SIGUSR1, 0, 0},
    {"the same, the other witness earlier",
	{{0, RUNNER, SIGUSR1, 50, BY_USER}, {0, OUTER, SIGUSR1, 50, BY_USER},
	    {11, RUNNER, SIGUSR1, 50, BY_USER}, {11, OUTER, SIGUSR1, 50, BY_USER}},
	SIGUSR1, 0, 0},
    {"twice, 30 ms apart, counts twice",
	{{0, OUTER, SIGUSR1, 50, BY_USER}, {30, OUTER, SIGUSR1, 50, BY_USER}}, SIGUSR1, 2, 10},
    {"from two senders counts twice",
	{{0, OUTER, SIGUSR1, 50, BY_USER}, {1, OUTER, SIGUSR1, 51, BY_USER}}, SIGUSR1, 2, 10},
    {"two witnesses of different senders are no group",
	{{0, OUTER, SIGUSR1, 50, BY_USER}, {0, RUNNER, SIGUSR1, 51, BY_USER}}, SIGUSR1, 2, 10},
    {"two witnesses of different codes are no group",
	{{0, OUTER, SIGHUP, 0, BY_KERNEL}, {0, RUNNER, SIGHUP, 0, BY_USER}}, SIGHUP, 2, 10},
    {"another signal from the same sender is no double",
	{{0, OUTER, SIGUSR1, 50, BY_USER}, {0, RUNNER, SIGUSR2, 50, BY_USER}}, SIGUSR1, 1, 10},
    {"the group twice: COMMAND has both",
	{{0, OUTER, SIGINT, 50, BY_USER}, {0, RUNNER, SIGINT, 50, BY_USER},
	    {200, OUTER, SIGINT, 50, BY_USER}, {200, RUNNER, SIGINT, 50, BY_USER}},
	SIGINT, 0, 0},
    {"the group, and 200 ms later dlock alone",
	{{0, OUTER, SIGINT, 50, BY_USER}, {0, RUNNER, SIGINT, 50, BY_USER},
	    {200, OUTER, SIGINT, 50, BY_USER}},
	SIGINT, 1, 210},
    {"the group, its double, and 14 ms later dlock alone",
	{{0, OUTER, SIGINT, 50, BY_USER}, {1, RUNNER, SIGINT, 50, BY_USER},
	    {10, OUTER, SIGINT, 50, BY_USER}, {15, OUTER, SIGINT, 50, BY_USER}},
	SIGINT, 1, 25},
    {"before COMMAND was there: dealt with, also when OUTER asks later",
	{{0, SETTLED, SIGTERM, 50, BY_USER}, {60, OUTER, SIGTERM, 50, BY_USER}}, SIGTERM, 0, 0},
    {"before COMMAND was there, two of them, and OUTER asks about the first",
	{{0, SETTLED, SIGTERM, 50, BY_USER}, {0, SETTLED, SIGINT, 50, BY_USER},
	    {60, OUTER, SIGTERM, 50, BY_USER}},
	SIGTERM, 0, 0},
    {"before COMMAND was there, the same again, and OUTER asks later",
	{{0, SETTLED, SIGTERM, 50, BY_USER}, {0, SETTLED, SIGINT, 50, BY_USER},
	    {60, SETTLED, SIGTERM, 50, BY_USER}, {120, OUTER, SIGTERM, 50, BY_USER}},
	SIGTERM, 0, 0},
    {"a shell's hang-up and the kernel's, which RUNNER got as one",
	{{0, OUTER, SIGHUP, 50, BY_USER}, {0, OUTER_ALL, SIGHUP, 0, BY_KERNEL},
	    {1, RUNNER, SIGHUP, 50, BY_USER}},
	SIGHUP, 0, 0},
    {"the same, and OUTER got them as one",
	{{0, RUNNER, SIGHUP, 50, BY_USER}, {0, RUNNER_ALL, SIGHUP, 0, BY_KERNEL},
	    {1, OUTER, SIGHUP, 50, BY_USER}},
	SIGHUP, 0, 0},
    {"the kernel's to all, told by both, the second one late",
	{{0, OUTER_ALL, SIGINT, 0, BY_KERNEL}, {90, RUNNER_ALL, SIGINT, 0, BY_KERNEL}}, SIGINT, 0,
	0},
    {"a session leader's own hang-up, and then its group's",
	{{0, OUTER, SIGHUP, 0, BY_KERNEL}, {50, RUNNER_ALL, SIGHUP, 0, BY_KERNEL}}, SIGHUP, 1, 10},
    {"long after that it is a new signal",
	{{0, SETTLED, SIGTERM, 50, BY_USER}, {150, OUTER, SIGTERM, 50, BY_USER}}, SIGTERM, 1, 160},
};

static void
take_step(struct forward *forward, const struct step *step, struct instant now)
{
	switch (step->act) {
	case OUTER:
	case OUTER_GROUP:
		forward_see(forward, FORWARD_BY_OUTER, step->number, step->code, step->sender,
		    step->act == OUTER_GROUP, now);
		break;
	case RUNNER:
	case RUNNER_GROUP:
		forward_see(forward, FORWARD_BY_RUNNER, step->number, step->code, step->sender,
		    step->act == RUNNER_GROUP, now);
		break;
	case OUTER_ALL:
	case RUNNER_ALL:
		forward_see_group(forward,
		    step->act == OUTER_ALL ? FORWARD_BY_OUTER : FORWARD_BY_RUNNER, step->number,
		    step->code, step->sender, now);
		break;
	case SETTLED:
		forward_see_settled(forward, step->number, step->code, step->sender, now);
		break;
	case END:
		break;
	}
}

/* Wakes as the keeper does: when something is seen and when forward_due says so. */
static void
play(const struct scene *scene)
{
	const struct instant start = {INT64_C(5000000000)};
	struct forward forward = {.count = 0};
	size_t next = 0;
	int times = 0;
	int64_t first_ms = -1;
	for (int turns = 0; turns < 100; turns++) {
		const struct step *step = &scene->steps[next];
		bool has_step = next < COUNT_OF(scene->steps) && step->act != END;
		struct instant now = forward_due(&forward);
		if (has_step)
			now = instant_earlier(now, instant_plus(start, step->at_ms * MS));
		if (now.ns == INT64_MAX)
			break;
		if (has_step && instant_reached(instant_plus(start, step->at_ms * MS), now)) {
			take_step(&forward, step, now);
			next++;
		}
		bool by_runner;
		for (int number; (number = forward_next(&forward, now, &by_runner)) != 0;) {
			if (number != scene->number)
				continue;
			if (times++ == 0)
				first_ms = instant_between(start, now) / MS;
		}
	}
	CHECK_INT(times, scene->times);
	if (scene->times > 0)
		CHECK_INT(first_ms, scene->first_ms);
	CHECK_INT(forward_due(&forward).ns, INT64_MAX);
}

static void
test_who_saw_it(void)
{
	struct forward forward = {.count = 0};
	const struct instant now = {0}, later = {MS * 200};
	bool by_runner = false;
	tap_case("it is told whether RUNNER alone saw it");
	forward_see(&forward, FORWARD_BY_RUNNER, SIGTERM, 0, 50, false, now);
	CHECK_INT(forward_next(&forward, later, &by_runner), SIGTERM);
	CHECK(by_runner);
	forward_see(&forward, FORWARD_BY_OUTER, SIGINT, 0, 50, false, now);
	CHECK_INT(forward_next(&forward, later, &by_runner), SIGINT);
	CHECK(!by_runner);
	CHECK_INT(forward_next(&forward, later, &by_runner), 0);
}

static void
test_shared(void)
{
	struct forward forward = {.count = 0};
	const struct instant now = {0}, soon = {MS}, later = {MS * 200};
	bool by_runner;
	tap_case("what the whole group got is told apart, once, and is not sent");
	forward_see(&forward, FORWARD_BY_OUTER, SIGTERM, 0, 50, false, now);
	CHECK_INT(forward_next_shared(&forward), 0);
	forward_see(&forward, FORWARD_BY_RUNNER, SIGTERM, 0, 50, false, soon);
	CHECK_INT(forward_next(&forward, later, &by_runner), 0);
	CHECK_INT(forward_next_shared(&forward), SIGTERM);
	CHECK_INT(forward_next_shared(&forward), 0);

	tap_case("what one alone got is not shared, also when the other comes too late");
	forward = (struct forward){.count = 0};
	forward_see(&forward, FORWARD_BY_OUTER, SIGINT, 0, 50, false, now);
	CHECK_INT(forward_next(&forward, (struct instant){10 * MS}, &by_runner), SIGINT);
	forward_see(&forward, FORWARD_BY_RUNNER, SIGINT, 0, 50, false, (struct instant){12 * MS});
	CHECK_INT(forward_next(&forward, later, &by_runner), 0);
	CHECK_INT(forward_next_shared(&forward), 0);
}

static void
test_due(void)
{
	struct forward forward = {.count = 0};
	bool by_runner;
	tap_case("the next decision is the earliest, and nothing is sent a nanosecond before");
	CHECK_INT(forward_due(&forward).ns, INT64_MAX);
	forward_see(&forward, FORWARD_BY_RUNNER, SIGTERM, 0, 50, false, (struct instant){0});
	CHECK_INT(forward_due(&forward).ns, 100 * MS);
	forward_see(&forward, FORWARD_BY_OUTER, SIGINT, 0, 50, false, (struct instant){0});
	CHECK_INT(forward_due(&forward).ns, 10 * MS);
	CHECK_INT(forward_next(&forward, (struct instant){10 * MS - 1}, &by_runner), 0);
	CHECK_INT(forward_next(&forward, (struct instant){10 * MS}, &by_runner), SIGINT);
	CHECK_INT(forward_due(&forward).ns, 100 * MS);
}

/* How often each of `count` signals is sent when all come at one instant: from that many senders,
 * the first one TERM, the others USR1. */
static void
storm(int count, int *terms, int *others, bool decided_first)
{
	struct forward forward = {.count = 0};
	struct instant now = {0};
	bool by_runner;
	*terms = *others = 0;
	for (int i = 0; i < count; i++) {
		int number = i == 0 ? SIGTERM : SIGUSR1;
		if (decided_first && i > 0 && i < FORWARD_MAX) {
			/* What COMMAND has already fills the table, too. */
			forward_see(&forward, FORWARD_BY_OUTER, SIGUSR2, 0, 1000 + i, false, now);
			forward_see(&forward, FORWARD_BY_RUNNER, SIGUSR2, 0, 1000 + i, false, now);
			continue;
		}
		forward_see(&forward, FORWARD_BY_OUTER, number, 0, 1000 + i, false, now);
		CHECK(forward.count <= FORWARD_ROOM);
		/* As the header asks for: a full table makes the oldest due. */
		while ((number = forward_next(&forward, now, &by_runner)) != 0) {
			*terms += number == SIGTERM;
			*others += number == SIGUSR1;
		}
	}
	for (int turns = 0; turns < 100; turns++) {
		for (int number; (number = forward_next(&forward, now, &by_runner)) != 0;) {
			*terms += number == SIGTERM;
			*others += number == SIGUSR1;
		}
		if (forward_due(&forward).ns == INT64_MAX)
			break;
		now = forward_due(&forward);
	}
}

static void
test_overflow(void)
{
	int terms, others;
	tap_case("as many as the table holds are each sent once");
	storm(FORWARD_MAX, &terms, &others, false);
	CHECK_INT(terms, 1);
	CHECK_INT(others, FORWARD_MAX - 1);

	tap_case("more than that are forwarded at once, and none is lost");
	storm(FORWARD_MAX + 1, &terms, &others, false);
	CHECK_INT(terms, 1);
	CHECK_INT(others, FORWARD_MAX);
	storm(3 * FORWARD_MAX, &terms, &others, false);
	CHECK_INT(terms, 1);
	CHECK_INT(others, 3 * FORWARD_MAX - 1);

	tap_case("what has been decided makes room before what has not");
	storm(FORWARD_MAX + 5, &terms, &others, true);
	CHECK_INT(terms, 1);
	CHECK_INT(others, 5);
}

int
main(void)
{
	for (size_t i = 0; i < COUNT_OF(scenes); i++) {
		tap_case("%s", scenes[i].what);
		play(&scenes[i]);
	}
	test_who_saw_it();
	test_shared();
	test_due();
	test_overflow();
	return tap_end();
}
