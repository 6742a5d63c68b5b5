/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* dlock --status, --list, --break and --check: what is on the server, for people or as JSON, taking
 * a lock from its holder, and whether the server is fit to keep locks at all.
 *
 * One process, one connection, no lease and nothing that has to be kept up: a question is asked
 * within its limits, or it has failed. What is printed is complete: when the server is lost half
 * way, stdout gets nothing. A signal that ends a process by default ends this one at once.
 *
 * Each NAME has passed keys_make with that prefix. Each returns dlock's exit status, after saying
 * why on stderr where it is not 0: 69 no server or no service, 77 the user is refused, 78 what the
 * password comes from is of no use, 71 the system. Or the process dies of a signal, also of PIPE
 * when stdout is closed early. */
#ifndef DLOCK_VIEW_VIEW_H
#define DLOCK_VIEW_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"
#include "base/secret.h"
#include "lock/lease.h"
#include "net/url.h"
#include "run/signals.h"
#include "store/route.h"

/* One of several servers. */
struct view_node {
	const struct url *url;
	struct secret_source *secret;
	const char *server;
};

#define VIEW_MAX_NODES 15

/* All is borrowed. */
struct view_settings {
	struct loop *loop;             /* open */
	const struct signals *signals; /* taken over */
	const struct url *url;
	struct route *route;          /* says where the server is; NULL: the URL does */
	struct secret_source *secret; /* the password, NULL: none */
	const char *server;           /* the URL for people */
	const struct view_node
	    *nodes;            /* where a majority decides; url and secret are not looked at then */
	int node_count;        /* below 2: there is one server, and no nodes */
	int64_t quarantine_ns; /* --check: a node that is younger does not vote */
	const char *prefix;
	int64_t connect_limit_ns; /* look-up, connection and login together */
	int64_t answer_limit_ns;  /* each answer */
	bool json;
	bool quiet;        /* --check says its verdict alone */
	bool force;        /* --break --force */
	const char *token; /* --break --token T: only that holding; NULL: all */
};

/* --status: each of `names`, NULL-terminated, in the order given. 0: every one is held (or done,
 * broken or foreign: not to be had), 1: at least one is free. */
int
view_status(const struct view_settings *settings, char *const *names);

/* --list: every lock under the prefix whose NAME the glob (Redis's, as in KEYS) matches, NULL: all,
 * in the order of their names. 0, also when there is none. */
int
view_list(const struct view_settings *settings, const char *glob);

/* --break: takes the lock from whoever holds it. `record` (base/identity.h) is who does that, and
 * is left for the holder to say. 0: it is broken, or was already; 1: it is free, or not held by
 * settings->token; 75: a foreign client's, and --force was not given (-E does not change that
 * number). */
int
view_break(const struct view_settings *settings, const char *name, const char *record);

/* --check: what the server is, what it may forget, and what dlock can do there, tried with a lock
 * of a random name, of which nothing is left. 0: fit, though maybe not for everything; 69: unfit,
 * or not reached: that is on stdout, too. */
int
view_check(const struct view_settings *settings, const struct lease_terms *terms);

#endif
