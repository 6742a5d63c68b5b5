/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "view/check_judge.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/values.h"
#include "store/cluster_slot.h"

/* A clock that is wrong by more will be set one day, and forward it ends leases early. */
#define CLOCK_MOST_US INT64_C(1000000)
/* What a duration can tell: 200 years. */
#define CLOCK_SHOWN_US INT64_C(6000000000000000)

static void
add(struct check_judgement *judgement, bool is_fatal, const char *code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void
add(struct check_judgement *judgement, bool is_fatal, const char *code, const char *format, ...)
{
	va_list arguments;
	size_t at = judgement->count;
	if (at == MOST_REASONS)
		return;
	if (is_fatal) {
		for (at = 0; at < judgement->count && judgement->reasons[at].is_fatal; at++)
			;
		memmove(&judgement->reasons[at + 1], &judgement->reasons[at],
		    (judgement->count - at) * sizeof *judgement->reasons);
	}
	struct check_reason *reason = &judgement->reasons[at];
	reason->code = code;
	reason->is_fatal = is_fatal;
	va_start(arguments, format);
	vsnprintf(reason->text, sizeof reason->text, format, arguments);
	va_end(arguments);
	judgement->count++;
	if (is_fatal)
		judgement->verdict = VERDICT_UNFIT;
	else if (judgement->verdict == VERDICT_GOOD)
		judgement->verdict = VERDICT_WORKS_BUT;
}

#define FATAL(...) add(judgement, true, __VA_ARGS__)
#define BUT(...) add(judgement, false, __VA_ARGS__)

const char *
check_verdict_name(enum check_verdict verdict)
{
	static const char *const names[] = {
	    [VERDICT_GOOD] = "good",
	    [VERDICT_WORKS_BUT] = "works but",
	    [VERDICT_UNFIT] = "unfit",
	};
	return names[verdict];
}

/* -- what it is ------------------------------------------------------------------------------- */

bool
check_judge_version(const char *product, const char *version)
{
	int major = 0, minor = 0;
	if (sscanf(version, "%9d.%9d", &major, &minor) != 2)
		return true;
	if (strcmp(product, "redis") == 0)
		return major >= 6;
	if (strcmp(product, "valkey") == 0)
		return major > 7 || (major == 7 && minor >= 2);
	return true;
}

bool
check_is_young(const struct check_facts *facts)
{
	/* It is told from the beginning of the second of its start: up to one too much. */
	return facts->quarantine_s > 0 && facts->uptime_s <= facts->quarantine_s;
}

static void
judge_identity(const struct check_facts *facts, struct check_judgement *judgement)
{
	char up[64] = "for how long it has been up it does not tell";
	if (facts->uptime_s >= 0)
		snprintf(up, sizeof up, "it has been up for %" PRId64 "s", facts->uptime_s);
	if (!check_judge_version(facts->product, facts->version))
		FATAL("version", "%s %s is too old: dlock needs Redis 6.0 or Valkey 7.2",
		    facts->product, facts->version);
	if (facts->run_id[0] != '\0' && facts->other_run_id[0] != '\0' &&
	    strcmp(facts->run_id, facts->other_run_id) != 0)
		FATAL("several-servers",
		    "two connections were shown two servers (run id %s and %s): a lock must be kept by "
		    "one",
		    facts->run_id, facts->other_run_id);
	if (strcmp(facts->mode, "cluster") == 0 && !facts->is_cluster)
		FATAL("cluster", "it is a node of a Redis Cluster: name that by redis+cluster://");
	if (strcmp(facts->role, "replica") == 0 || strcmp(facts->role, "slave") == 0)
		FATAL("replica", "it is a replica%s: locks are kept by its master",
		    strcmp(facts->master_link, "down") == 0 ? " that has lost its master" : "");
	if (facts->same_as != NULL)
		FATAL("same-server", "it is %s %s: a quorum needs independent servers",
		    facts->is_copy ? "a replica, or the master, of" : "the same server as",
		    facts->same_as);
	if (check_is_young(facts))
		BUT("quarantine", "%s, and the --quarantine is %" PRId64 "s: it does not vote yet",
		    up, facts->quarantine_s);
	if (facts->loading > 0)
		FATAL("loading", "it is still loading its data");
}

/* -- what it may forget ----------------------------------------------------------------------- */

static void
judge_memory(const struct check_facts *facts, struct check_judgement *judgement)
{
	if (facts->memory_most <= 0)
		return;
	if (facts->policy[0] != '\0' && strcmp(facts->policy, "noeviction") != 0)
		BUT("eviction",
		    "maxmemory-policy %s may drop locks when memory is short: use noeviction",
		    facts->policy);
	else if (facts->memory_used >= facts->memory_most)
		BUT("memory", "all of maxmemory is used: no lock can be taken");
	else if (facts->memory_used >= facts->memory_most / 10 * 9)
		BUT("memory", "%d%% of maxmemory are used: when it is full no lock can be taken",
		    (int)((double)facts->memory_used * 100 / (double)facts->memory_most));
}

static void
judge_persistence(const struct check_facts *facts, struct check_judgement *judgement)
{
	if (facts->aof == 0 && facts->save_known && facts->save[0] == '\0')
		BUT("no-persistence",
		    "nothing is written to disk: a restart forgets all locks, whose holders run on "
		    "until their next renewal");
	else if (facts->aof == 0 && facts->save_known)
		BUT("snapshots-only",
		    "only snapshots are written to disk: a crash forgets the locks of minutes "
		    "(appendonly yes would keep them)");
	else if (facts->aof == 1 && strcmp(facts->appendfsync, "no") == 0)
		BUT("appendfsync-no",
		    "appendfsync no: when its machine crashes the locks of half a minute are forgotten");
	if (facts->rdb_failed == 1)
		BUT("save-failed", "its last snapshot could not be written");
	if (facts->aof_failed == 1)
		BUT("append-failed", "the last write to its append-only file failed");
}

static void
judge_sentinels(const struct check_facts *facts, struct check_judgement *judgement)
{
	if (facts->sentinels < 0)
		return;
	int64_t away = facts->sentinels - facts->agreeing;
	if (away > 0)
		BUT("sentinels",
		    "%" PRId64 " of the %" PRId64
		    " sentinels in the URL do not answer, or name another "
		    "master",
		    away, facts->sentinels);
	if (facts->known_sentinels < 3 || facts->known_sentinels < facts->quorum)
		BUT("few-sentinels",
		    "there are %" PRId64 " sentinels, quorum %" PRId64
		    ": three at least agree on a new master when one of them is lost",
		    facts->known_sentinels, facts->quorum);
	if (facts->alive_replicas == 0)
		BUT("no-replica",
		    "no replica is alive: when the master is lost its locks are, and nobody takes over");
}

/* Before 7.0 Redis lets a script write however many replicas it has lost. */
static bool
scripts_need_replicas(const struct check_facts *facts)
{
	int major;
	return strcmp(facts->product, "redis") != 0 || sscanf(facts->version, "%9d", &major) != 1 ||
	    major >= 7;
}

static void
judge_replicas(const struct check_facts *facts, struct check_judgement *judgement)
{
	int64_t good = facts->good_replicas >= 0 ? facts->good_replicas : facts->replicas;
	if (facts->min_replicas > 0 && !scripts_need_replicas(facts))
		BUT("failover",
		    "min-replicas-to-write does not hold scripts back before Redis 7.0: cut off from its "
		    "replicas it goes on to give locks, which a failover forgets");
	else if (facts->min_replicas > 0 && good >= 0 && good < facts->min_replicas)
		FATAL("min-replicas",
		    "min-replicas-to-write is %" PRId64 ", and %" PRId64
		    " replicas are there: it refuses all writes",
		    facts->min_replicas, good);
	else if (facts->min_replicas == 0 && facts->replicas > 0)
		BUT("failover",
		    "it has replicas, and min-replicas-to-write is 0: cut off from them it goes on to "
		    "give locks, which a failover forgets");
}

static void
judge_cluster(const struct check_facts *facts, struct check_judgement *judgement)
{
	if (!facts->is_cluster)
		return;
	if (facts->mode[0] != '\0' && strcmp(facts->mode, "cluster") != 0)
		BUT("no-cluster", "it is no node of a Redis Cluster: name it by redis://");
	if (facts->cluster_state[0] != '\0' && strcmp(facts->cluster_state, "ok") != 0)
		FATAL("cluster-state", "the state of the cluster is %s, not ok",
		    facts->cluster_state);
	if (facts->cluster_slots >= 0 && facts->cluster_slots < CLUSTER_SLOTS)
		BUT("cluster-slots",
		    "%" PRId64
		    " of the cluster's %d slots have no owner: what is locked there can be "
		    "neither had nor kept",
		    CLUSTER_SLOTS - facts->cluster_slots, CLUSTER_SLOTS);
	if (facts->cluster_masters > 0 && facts->cluster_replicas == 0)
		BUT("cluster-replicas",
		    "a master of the cluster has no replica: when it fails its locks can be neither had "
		    "nor kept");
}

/* -- connections ------------------------------------------------------------------------------ */

static void
judge_clients(const struct check_facts *facts, struct check_judgement *judgement)
{
	char third[32];
	int64_t third_ns = facts->terms.ttl_ns / 3;
	if (facts->clients_most > 0 && facts->clients >= facts->clients_most / 10 * 9)
		BUT("maxclients", "%" PRId64 " of %" PRId64 " possible clients are connected",
		    facts->clients, facts->clients_most);
	if (facts->idle_s > 0 && facts->idle_s <= third_ns / NS_PER_S)
		BUT("idle-timeout",
		    "timeout %" PRId64
		    " cuts connections that are idle for as long as a holder's is between two "
		    "renewals (%s)",
		    facts->idle_s, value_print_duration(third, sizeof third, third_ns));
}

static void
judge_times(const struct check_facts *facts, struct check_judgement *judgement)
{
	char found[32], limit[32], ttl[32];
	int64_t limit_ns = lease_renew_limit(&facts->terms);
	int64_t clock_us = facts->clock_us < 0 ? -facts->clock_us : facts->clock_us;
	value_print_duration(limit, sizeof limit, limit_ns);
	value_print_duration(ttl, sizeof ttl, facts->terms.ttl_ns);
	if (facts->rounds > 0) {
		int64_t median = facts->round_ns[facts->rounds / 2];
		int64_t most = facts->round_ns[facts->rounds - 1];
		value_print_duration(found, sizeof found, median > limit_ns ? median : most);
		if (median > limit_ns)
			FATAL("too-slow",
			    "a round trip takes %s, and a renewal of a TTL of %s is given up after %s",
			    found, ttl, limit);
		else if (most > limit_ns)
			BUT("slow",
			    "one round trip took %s, and a renewal of a TTL of %s is given up after %s",
			    found, ttl, limit);
	}
	if (facts->clock_error_us >= 0 && clock_us - facts->clock_error_us > CLOCK_MOST_US) {
		int64_t tenths =
		    (clock_us < CLOCK_SHOWN_US ? clock_us : CLOCK_SHOWN_US) / 50000 + 1;
		value_print_duration(found, sizeof found, tenths / 2 * (NS_PER_S / 10));
		BUT("clock",
		    "its clock is %s %s this host's: when it is set right, locks may expire early",
		    found, facts->clock_us < 0 ? "behind" : "ahead of");
	}
}

/* -- what works ------------------------------------------------------------------------------- */

/* What is lost without it. */
static const char *
loss_of(enum check_feature feature)
{
	static const char *const losses[] = {
	    [FEATURE_LOCK] = "no lock can be held",
	    [FEATURE_WAIT] = "no lock can be waited for",
	    [FEATURE_MESSAGES] = "waiters are not told, and poll",
	    [FEATURE_WATCH] = "no --watch",
	    [FEATURE_FOREIGN] =
		"waiters are not told when a client that is no dlock frees the lock",
	    [FEATURE_SHARED] = "no --shared",
	    [FEATURE_SLOTS] = "no --slots",
	    [FEATURE_COUNTER] = "no --fence counter",
	    [FEATURE_STATUS] = "no --status",
	    [FEATURE_LIST] = "no --list",
	    [FEATURE_BREAK] = "no --break",
	};
	return losses[feature];
}

static void
judge_features(const struct check_facts *facts, struct check_judgement *judgement)
{
	bool is_useless = facts->trials[FEATURE_LOCK].result == CHECK_FAILS;
	for (int i = 0; i < FEATURES; i++) {
		const struct check_trial *trial = &facts->trials[i];
		/* Without a lock there is nothing to wait for, to watch, or to share. */
		if (is_useless && i > FEATURE_LOCK && i < FEATURE_STATUS)
			continue;
		if (is_useless && i > FEATURE_LOCK && trial->missing[0] == '\0' &&
		    strcmp(trial->why, facts->trials[FEATURE_LOCK].why) == 0)
			continue;
		const char *loss = loss_of((enum check_feature)i);
		bool is_fatal = i == FEATURE_LOCK;
		if (trial->missing[0] != '\0')
			add(judgement, is_fatal, check_feature_name((enum check_feature)i),
			    "%s: this user may not use %s", loss, trial->missing);
		else if (trial->result == CHECK_FAILS)
			add(judgement, is_fatal, check_feature_name((enum check_feature)i),
			    "%s: %s", loss, trial->why);
	}
}

void
check_judge(const struct check_facts *facts, struct check_judgement *judgement)
{
	memset(judgement, 0, sizeof *judgement);
	if (facts->failure == OUTCOME_DENIED)
		FATAL("denied", "%s", facts->problem.text);
	else if (facts->failure != OUTCOME_OK)
		FATAL(facts->is_reached ? "lost" : "unreachable", "%s", facts->problem.text);
	judge_identity(facts, judgement);
	judge_cluster(facts, judgement);
	judge_replicas(facts, judgement);
	judge_sentinels(facts, judgement);
	judge_memory(facts, judgement);
	judge_persistence(facts, judgement);
	judge_clients(facts, judgement);
	judge_times(facts, judgement);
	judge_features(facts, judgement);
}
