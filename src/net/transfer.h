/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What became of one step of a transfer that never waits: in clear or in TLS the same. */
#ifndef DLOCK_NET_TRANSFER_H
#define DLOCK_NET_TRANSFER_H

enum transfer {
	TRANSFER_DONE,
	/* To be called again when the socket can be read, or written to: in TLS a read may want to
	 * write, and a write to read. */
	TRANSFER_WANTS_READ,
	TRANSFER_WANTS_WRITE,
	TRANSFER_CLOSED, /* by the other side */
	TRANSFER_FAILED, /* with a problem */
};

#endif
