/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* The errors by which a node of a Redis Cluster says that a request is not for it, or not now.
 * Pure: any bytes that a node may send will do. In each of these cases the request was not
 * executed. */
#ifndef DLOCK_STORE_CLUSTER_REDIRECT_H
#define DLOCK_STORE_CLUSTER_REDIRECT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/problem.h"
#include "net/url.h"

enum redirect_kind {
	REDIRECT_NONE,   /* another error, or none of these in form */
	REDIRECT_MOVED,  /* the slot has another owner, for good */
	REDIRECT_ASK,    /* its keys are on their way there: this request alone, behind ASKING */
	REDIRECT_LATER,  /* half of its keys are there, half here: TRYAGAIN */
	REDIRECT_DOWN,   /* nobody serves the slot: CLUSTERDOWN */
	REDIRECT_BROKEN, /* it points nowhere: see why */
};

/* What an error text is. MOVED and ASK: where to, in *place; its host is empty where the node says
 * that it is the one that it was reached by. BROKEN: *why tells. `slot` is that of the request: an
 * answer about another one is BROKEN. */
enum redirect_kind
cluster_redirect_read(const char *text, int slot, struct url_place *place, struct problem *why);

/* "host:port" in those bytes, the host as above. False: it is none. */
bool
cluster_place_read(const char *text, size_t length, struct url_place *place);

#endif
