/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What befalls servers, network, machines and processes in a schedule. */
#ifndef DLOCK_TESTS_FAULTS_H
#define DLOCK_TESTS_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

enum fault_kind {
	/* on the way between a machine and a server */
	FAULT_DELAY,
	FAULT_LOSS,
	FAULT_CUT,
	FAULT_RESET,
	FAULT_RESET_BEHIND, /* what is on its way still arrives */
	FAULT_BLACK_HOLE,   /* connections die without a sign, new ones work */
	FAULT_LOOKUPS_HANG,
	/* a server */
	FAULT_CRASH,
	FAULT_CRASH_SILENT, /* of the machine below it */
	FAULT_CRASH_EMPTY,
	FAULT_FREEZE,
	FAULT_FAIL_OVER,
	FAULT_FLUSH,
	FAULT_EVICT,
	FAULT_CLOCK_FORWARD,
	FAULT_CLOCK_BACK,
	FAULT_SCRIPT_FLUSH,
	FAULT_FULL,
	FAULT_READ_ONLY,
	/* somebody else */
	FAULT_BREAK,
	FAULT_BREAK_FORCE,
	FAULT_FOREIGN_SET,
	FAULT_FOREIGN_TAKE, /* SET NX PX, as other lock libraries do */
	FAULT_FOREIGN_DELETE,
	/* a machine */
	FAULT_SUSPEND,
	FAULT_WALL_CLOCK,
	/* a process */
	FAULT_STOP_OUTER,
	FAULT_STOP_RUNNER,
	FAULT_STOP_COMMAND,
	FAULT_STOP_BOTH,
	FAULT_KILL_OUTER,
	FAULT_KILL_RUNNER,
	FAULT_KILL_BOTH,
	FAULT_KILL_COMMAND,
	FAULT_TERMINATE,
	FAULT_DELAY_MIDDLE, /* in the middle of its work */
	FAULT_STOP_MIDDLE,
	FAULT_KILL_MIDDLE,
	FAULT_KINDS,
};

struct host;
struct node;

struct fault {
	enum fault_kind kind;
	bool is_there; /* false: left out (minimise.h) */
	int64_t at;    /* true time */
	int64_t lasts;
	int host, node; /* whom it befalls; either may not matter */
	int64_t amount;
};

const char *
fault_name(enum fault_kind kind);

/* Arranges all of them. */
void
faults_begin(const struct fault *all, int all_count);

/* One of that kind has had an effect there, which dlock could notice; NULL: any. Counted once a
 * fault, when it is on: what changes nothing tries nothing. */
void
faults_felt(enum fault_kind kind, const struct host *host, const struct node *node);

/* What has begun to have an effect only now does so until then. */
void
faults_last_until(int64_t until);

/* Is anything wrong at the moment, and since when is nothing? */
bool
faults_are_on(void);
int64_t
faults_over_since(void);

/* Can none of this schedule cost anybody an answer: are they all of what a server keeps? */
bool
faults_spare_answers(void);

/* Was there none at all that could delay anybody? */
bool
faults_were_none(void);

#endif
