/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What must hold for each part by itself, though another would make up for it: a net that is too
 * late harms nobody as long as the others are there, and then it does. */
#ifndef DLOCK_TESTS_SURE_CHECK_H
#define DLOCK_TESTS_SURE_CHECK_H

#include "node.h"
#include "task.h"

struct dlock;

void
sure_check_begin(void);

/* OUTER's deadline, and until when dlock is sure of its lease: each is over before the expiry of
 * what the servers keep for it, by true time. Looked at when they change. And what dlock believes
 * in was sent before the deadline at which COMMAND is told to end. */
void
sure_check_look(struct dlock *dlock);

/* So is the instant at which RUNNER has itself killed; `at` by its machine's clock. */
void
sure_check_timer(const struct task *runner, int64_t at);

/* A server keeps the lock for a holder until `until`, true time; it did so until `before`: who has
 * lost it by the clock does not get it back by a renewal. */
void
sure_check_renewal(const struct dlock *dlock, int64_t before, int64_t until);

/* A quorum's server is about to be told something, and has done it: the number that it has accepted
 * never falls, and only who has its lock there may raise it. */
void
sure_check_before(struct node *node);
void
sure_check_number(struct node *node);

/* That server is about to forget something: what it had accepted counts no more. */
void
sure_check_forget(const struct node *node);

#endif
