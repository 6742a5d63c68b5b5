/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What --check has found out about a server, and what of it means that locks are not well kept
 * there. Pure: no I/O.
 *
 * What is not known is -1, or an empty text: a user who may do little is told little. */
#ifndef DLOCK_VIEW_CHECK_FACTS_H
#define DLOCK_VIEW_CHECK_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lock/lease.h"
#include "lock/store.h"
#include "net/link.h"

/* What dlock can do on a server. */
enum check_feature {
	FEATURE_LOCK,     /* an exclusive lock: acquired, renewed, released */
	FEATURE_WAIT,     /* in line */
	FEATURE_MESSAGES, /* a waiter is told, instead of asking */
	FEATURE_FOREIGN,  /* and is told, too, what clients that are no dlock do */
	FEATURE_WATCH,    /* a holder is told of changes */
	FEATURE_SHARED,
	FEATURE_SLOTS,
	FEATURE_COUNTER, /* --fence counter */
	FEATURE_STATUS,
	FEATURE_LIST,
	FEATURE_BREAK,
	FEATURES,
};

enum check_result {
	CHECK_NOT_TRIED,
	CHECK_WORKS,
	CHECK_FAILS,
};

struct check_trial {
	enum check_result result;
	char why[256];     /* it fails: what the server said, or else */
	char missing[200]; /* commands that this user may not use, a blank between two */
};

/* Who is asked where it is refused: what cannot be told then. */
enum check_source {
	SOURCE_HELLO,
	SOURCE_INFO,
	SOURCE_CONFIG,
	SOURCES,
};

#define CHECK_ROUNDS 20

struct check_facts {
	/* What was asked. */
	const char *server, *prefix;
	int db;
	struct lease_terms terms;

	/* One of several servers. */
	int64_t quarantine_s; /* so long it must have been up to vote; 0: there is one server */
	const char *same_as;  /* another one that it is, NULL: none; */
	bool is_copy;         /* or its replica, or master */

	/* Getting there. */
	int64_t lookup_ns, connect_ns, login_ns;
	bool is_reached;      /* logged in */
	enum outcome failure; /* OK, or why that, or what followed, was broken off */
	struct problem problem;

	bool told[SOURCES];
	char product[32]; /* redis, valkey, ... */
	char version[32];
	char run_id[64];
	char other_run_id[64]; /* that another connection was shown */
	char replid[64];       /* of its data and its replicas' */
	char role[24], mode[24];
	char master_link[16]; /* a replica's: up, down */
	int64_t uptime_s;
	int64_t loading;

	int64_t rdb_failed, aof_failed; /* the last writing to disk */
	int64_t aof;                    /* is on */
	bool save_known;
	char save[128]; /* when snapshots are made, empty: never */
	char appendfsync[16];

	int64_t memory_used, memory_most; /* 0: no limit */
	char policy[32];
	int64_t replicas, good_replicas, min_replicas;
	int64_t clients, clients_most, idle_s; /* idle_s 0: never cut */

	/* Where sentinels say who the master is, else sentinels is -1: how many are named in the
	 * URL, and of these say so; how many there are, and how many it takes to call it down; the
	 * replicas that they know, and of these call alive. */
	int64_t sentinels, agreeing, known_sentinels, quorum;
	int64_t listed_replicas, alive_replicas;
	char master[96];

	bool is_cluster; /* asked as one; all else is of the node that has the trial's lock */
	char cluster_state[16];
	int64_t cluster_slots;    /* that have an owner */
	int64_t cluster_masters;  /* that have slots */
	int64_t cluster_replicas; /* the fewest of one of them */

	char seen_as[80]; /* our address as the server has it, where it is not what we have */
	int64_t rounds;   /* how many round trips there were */
	int64_t round_ns[CHECK_ROUNDS]; /* ascending once check_facts_sort was called */
	int64_t clock_us;               /* the server's clock less ours */
	int64_t clock_error_us;         /* half the round trip; -1: not measured */
	int64_t message_ns;             /* from a release to the waiter who is told */
	struct check_trial trials[FEATURES];
};

/* Nothing is known. The texts are borrowed. */
void
check_facts_init(struct check_facts *facts, const char *server, const char *prefix, int db,
    const struct lease_terms *terms);

/* The text of any section of INFO. Fields that are not there, or are no numbers where there should
 * be one, stay what they were. */
void
check_facts_take_info(struct check_facts *facts, const char *text, size_t length);

/* HELLO's answer, and CONFIG GET's: names and values. False: it makes no sense. */
bool
check_facts_take_hello(struct check_facts *facts, const struct reply *reply);
bool
check_facts_take_config(struct check_facts *facts, const struct reply *reply);

/* A command of a script was refused, with that error: notes it with each feature that needs it. */
void
check_facts_take_refusal(struct check_facts *facts, const char *command, const char *error);

/* The result of trying a feature, which a later failure overrules, but no later success. */
void
check_facts_take_trial(struct check_facts *facts, enum check_feature feature, bool works,
    const char *why);

/* One round trip, in which the server's clock was read: its microseconds, and ours at its send. */
void
check_facts_take_round(struct check_facts *facts, int64_t round_ns, int64_t server_us,
    int64_t sent_us);
void
check_facts_sort(struct check_facts *facts);

/* What it is called: "locks", "waiting", ... */
const char *
check_feature_name(enum check_feature feature);

#endif
