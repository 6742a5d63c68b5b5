/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What the files of net/pq_link.h share: pq_places.c, where to connect, pq_connect.c, how a
 * connection comes about, and pq_link.c, what is asked on it. */
#ifndef DLOCK_NET_PQ_PARTS_H
#define DLOCK_NET_PQ_PARTS_H

#include "net/pq_link.h"

/* -- pq_places.c ------------------------------------------------------------------------------ */

/* Finds the hosts, and has their names looked up: pq_connect_next is called when that is done, or
 * pq_link_fail. */
void
pq_places_find(struct pq_link *link);

/* Ends looking up. */
void
pq_places_cancel(struct pq_link *link);

/* -- pq_connect.c ----------------------------------------------------------------------------- */

void
pq_connect_next(struct pq_link *link);

/* The socket of a connection that comes about has something. */
void
pq_connect_poll(struct pq_link *link);

/* -- pq_link.c -------------------------------------------------------------------------------- */

/* Closes, and says so. */
void
pq_link_fail(struct pq_link *link, const struct problem *why);

/* libpq's text, which has lines, as a sentence; of an error that a server has sent its SQLSTATE,
 * which has room for 8 bytes, and may be NULL. */
void
pq_link_take_error(const char *text, char *sqlstate, struct problem *why);

#endif
