/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* TLS 1.2 and newer on a socket that is connected and non-blocking, by OpenSSL.
 *
 * libssl is loaded by the first tls_new of a process and not before: linked, it would make every
 * start half as long again. 3 and 1.1 will do, whichever the headers were of. Nothing of OpenSSL is
 * used elsewhere.
 *
 * The files are read by each tls_new, so that a connection made after a rotation uses what is there
 * now. The server's certificate must be signed by a CA that is trusted (the system's, or those of
 * `cacert` and `cacertdir` and no other), and be for the name or address that is asked for; unless
 * `insecure`.
 *
 * No step waits. No alert is sent at the end: closing is the socket's owner's business, and a
 * process that only inherited it must not say goodbye. */
#ifndef DLOCK_NET_TLS_H
#define DLOCK_NET_TLS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/problem.h"
#include "net/tls_settings.h"
#include "net/transfer.h"

struct tls;

/* Loads the library and reads the files. NULL and why: no library or no memory (is_system), or a
 * file that is of no use (is_setting). `host` is the name or literal address of the server.
 * Settings and host are borrowed. */
struct tls *
tls_new(const struct tls_settings *settings, const char *host, struct problem *why);

/* Begins anew on a socket, which stays its owner's. False and why. */
bool
tls_begin(struct tls *tls, int fd, struct problem *why);

/* To be called until it is DONE. why->is_denied: the certificate, the server's or ours, was
 * refused. */
enum transfer
tls_handshake(struct tls *tls, struct problem *why);

/* *got, *sent: bytes, when it is DONE. In TLS 1.3 a server's refusal of our certificate comes after
 * the handshake: it is what the first read fails with. */
enum transfer
tls_read(struct tls *tls, char *bytes, size_t size, size_t *got, struct problem *why);

/* May send less than all. After WANTS it is to be called with the same bytes, or these and more. */
enum transfer
tls_write(struct tls *tls, const char *bytes, size_t length, size_t *sent, struct problem *why);

/* Is something there, decrypted already, that poll(2) does not see? */
bool
tls_has_pending(const struct tls *tls);

/* Can something be read? What only TLS itself has to say, a session ticket for instance, is dealt
 * with here and does not count. A failure is kept for the next step. */
bool
tls_has_unread(struct tls *tls);

/* Has the other side said anything at all, be it no TLS? */
bool
tls_has_heard(const struct tls *tls);

/* Harmless with NULL. */
void
tls_free(struct tls *tls);

#endif
