/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* The arithmetic of a lease (SPEC section 5, DESIGN.md section 4). Pure.
 *
 *   t0 ---- T/3 ---- term_at ------- kill_at ------- guard_at ------ T-D ------- T
 *           renew    = kill_at-G     = guard_at-s    = T-D-s                     the key expires
 *                    RUNNER signals  RUNNER sweeps   OUTER kills RUNNER, sweeps
 *
 * t0 is the instant just before the last confirmed request was written to the socket: the server
 * cannot have started its own count earlier. Validity counted from the answer instead is the
 * classic mistake (it is long by the whole delay of the answer). */
#ifndef DLOCK_LOCK_LEASE_H
#define DLOCK_LOCK_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/problem.h"

#define LEASE_TTL_LEAST NS_PER_S
#define LEASE_TTL_MOST (INT64_C(30) * 24 * 3600 * NS_PER_S)

struct lease_terms {
	int64_t ttl_ns;
	int64_t drift_ns; /* D: how much slower our clock may run than the server's, T/100 + 2 ms */
	int64_t slack_ns; /* s: the time each of the two processes has for its sweep */
	int64_t grace_ns; /* G: between the first signal and KILL */
};

/* The grace when none is given: min(5 s, T/4). */
int64_t
lease_default_grace(int64_t ttl_ns);

/* Works out the terms. False, and a sentence with the numbers in it: the TTL is out of range, or
 * the grace leaves no room for a renewal and a retry. */
bool
lease_terms_make(struct lease_terms *terms, int64_t ttl_ns, int64_t grace_ns,
    struct problem *problem);

/* The instants of a lease that was confirmed at t0. */
struct instant
lease_renew_at(const struct lease_terms *terms, struct instant t0);
struct instant
lease_term_at(const struct lease_terms *terms, struct instant t0);
struct instant
lease_kill_at(const struct lease_terms *terms, struct instant t0);
struct instant
lease_guard_at(const struct lease_terms *terms, struct instant t0);

/* The last instant at which the lock is surely ours: T - D. */
struct instant
lease_sure_until(const struct lease_terms *terms, struct instant t0);

/* How long a renewal may stay unanswered: max(100 ms, T/12); also the longest pause between two
 * tries. */
int64_t
lease_renew_limit(const struct lease_terms *terms);

/* How long a confirmation that somebody waits for may take: two renewals, at most 2 s. */
int64_t
lease_confirm_limit(const struct lease_terms *terms);

/* How long any other request may stay unanswered: min(2 s, T/6). */
int64_t
lease_request_limit(const struct lease_terms *terms);

/* The bound on name look-up, connect and login together when none is given: min(5 s, T/3). */
int64_t
lease_default_connect_limit(int64_t ttl_ns);

/* The longest absence of the server that does not disturb a holder, if it begins at the worst
 * instant, just before a renewal, and a try falls into its very end; and the longest that never
 * does, though a try hangs when it ends, and the next comes after the longest pause. */
int64_t
lease_longest_outage(const struct lease_terms *terms);
int64_t
lease_sure_outage(const struct lease_terms *terms);

/* How long a server that was lost while waiting, or that left an answer in doubt, is tried again
 * when no -w says otherwise: max(2 T, 60 s). */
int64_t
lease_patience(const struct lease_terms *terms);

#endif
