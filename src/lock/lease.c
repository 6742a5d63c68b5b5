/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "lock/lease.h"

#include "base/values.h"

#define SLACK_LEAST (20 * NS_PER_MS)
#define SLACK_MOST (500 * NS_PER_MS)
#define RENEW_LIMIT_LEAST (100 * NS_PER_MS)

static int64_t
least(int64_t one, int64_t other)
{
	return one < other ? one : other;
}

static int64_t
most(int64_t one, int64_t other)
{
	return one > other ? one : other;
}

int64_t
lease_default_grace(int64_t ttl_ns)
{
	return least(5 * NS_PER_S, ttl_ns / 4);
}

bool
lease_terms_make(struct lease_terms *terms, int64_t ttl_ns, int64_t grace_ns,
    struct problem *problem)
{
	char ttl[32], grace[32], room_text[32];
	value_print_duration(ttl, sizeof ttl, ttl_ns);
	if (ttl_ns < LEASE_TTL_LEAST || ttl_ns > LEASE_TTL_MOST) {
		problem_set(problem,
		    "a TTL of %s: it must be between 1s and 30d (shorter ones cannot be renewed in "
		    "time)",
		    ttl);
		return false;
	}
	terms->ttl_ns = ttl_ns;
	terms->grace_ns = grace_ns;
	terms->drift_ns = ttl_ns / 100 + 2 * NS_PER_MS;
	terms->slack_ns = most(SLACK_LEAST, least(SLACK_MOST, ttl_ns / 20));

	int64_t room = ttl_ns - terms->drift_ns - 2 * terms->slack_ns - ttl_ns / 3 -
	    2 * lease_renew_limit(terms);
	if (grace_ns > room) {
		problem_set(problem,
		    "a grace of %s (--kill-after) leaves no room for a renewal and a retry in a "
		    "TTL of %s: at most %s",
		    value_print_duration(grace, sizeof grace, grace_ns), ttl,
		    value_print_duration(room_text, sizeof room_text, room));
		return false;
	}
	return true;
}

struct instant
lease_renew_at(const struct lease_terms *terms, struct instant t0)
{
	return instant_plus(t0, terms->ttl_ns / 3);
}

struct instant
lease_term_at(const struct lease_terms *terms, struct instant t0)
{
	return instant_plus(lease_kill_at(terms, t0), -terms->grace_ns);
}

struct instant
lease_kill_at(const struct lease_terms *terms, struct instant t0)
{
	return instant_plus(lease_guard_at(terms, t0), -terms->slack_ns);
}

struct instant
lease_guard_at(const struct lease_terms *terms, struct instant t0)
{
	return instant_plus(lease_sure_until(terms, t0), -terms->slack_ns);
}

struct instant
lease_sure_until(const struct lease_terms *terms, struct instant t0)
{
	return instant_plus(t0, terms->ttl_ns - terms->drift_ns);
}

int64_t
lease_renew_limit(const struct lease_terms *terms)
{
	return most(RENEW_LIMIT_LEAST, terms->ttl_ns / 12);
}

int64_t
lease_confirm_limit(const struct lease_terms *terms)
{
	return least(2 * NS_PER_S, 2 * lease_renew_limit(terms));
}

int64_t
lease_request_limit(const struct lease_terms *terms)
{
	return least(2 * NS_PER_S, terms->ttl_ns / 6);
}

int64_t
lease_default_connect_limit(int64_t ttl_ns)
{
	return least(5 * NS_PER_S, ttl_ns / 3);
}

int64_t
lease_longest_outage(const struct lease_terms *terms)
{
	struct instant t0 = {0};
	return instant_between(lease_renew_at(terms, t0), lease_term_at(terms, t0));
}

int64_t
lease_sure_outage(const struct lease_terms *terms)
{
	return lease_longest_outage(terms) - 2 * lease_renew_limit(terms);
}

int64_t
lease_patience(const struct lease_terms *terms)
{
	return most(2 * terms->ttl_ns, 60 * NS_PER_S);
}
