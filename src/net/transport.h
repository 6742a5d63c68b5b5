/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What carries a link's bytes: a connected socket, in clear or with TLS on it. All of it is in
 * steps that never wait. */
#ifndef DLOCK_NET_TRANSPORT_H
#define DLOCK_NET_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "net/tls.h"
#include "net/transfer.h"
#include "net/url.h"

struct transport {
	struct tls *tls;  /* NULL: in clear */
	bool is_secured;  /* the handshake is done */
	short read_event; /* what poll(2) is to wait for before the next read, and write */
	short write_event;
};

/* Before a connection: reads what TLS needs, if `url` asks for it, of a server with that
 * name or address. False and why; the transport is
 * one in clear then, and of no use. Ends what was before. */
bool
transport_prepare(struct transport *transport, const struct url *url, const char *host,
    struct problem *why);

/* On a socket that has just been connected. False and why. */
bool
transport_begin(struct transport *transport, int fd, struct problem *why);

/* Until it is DONE, which in clear it is at once. */
enum transfer
transport_handshake(struct transport *transport, struct problem *why);

enum transfer
transport_read(struct transport *transport, int fd, char *bytes, size_t size, size_t *got,
    struct problem *why);
enum transfer
transport_write(struct transport *transport, int fd, const char *bytes, size_t length, size_t *sent,
    struct problem *why);

/* Is there something to be read that poll(2) does not see? */
bool
transport_has_pending(const struct transport *transport);

/* Could a read give something now? */
bool
transport_has_unread(struct transport *transport, int fd);

/* Has the other side said anything in the handshake? */
bool
transport_has_heard(const struct transport *transport);

/* The socket is its owner's. */
void
transport_end(struct transport *transport);

#endif
