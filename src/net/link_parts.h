/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What the two files of net/link.h share: link.c, how a connection comes about and ends, and
 * link_traffic.c, what goes to and fro on it. */
#ifndef DLOCK_NET_LINK_PARTS_H
#define DLOCK_NET_LINK_PARTS_H

#include "net/link.h"

/* -- link.c ----------------------------------------------------------------------------------- */

/* Closes, and tells the user why: link->problem. */
void
link_fail(struct link *link);

/* -- link_traffic.c --------------------------------------------------------------------------- */

void
link_drop_output(struct link *link);

/* Waits for what the next read needs, and the next write if there is something to write. */
void
link_await(struct link *link);

/* What poll(2) says of an open link. */
void
link_on_ready(struct link *link, short revents);

#endif
