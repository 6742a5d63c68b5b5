/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* A lock that a dlock above this one holds already: waiting for it would never end.
 *
 * It is recognised by its token: when the server says that the token at the key is one that
 * DLOCK_HELD names, it is that lock, however its server is spelled; and the RUNNER that DLOCK_HELD
 * names must be a living ancestor of this process. Anything else, such as a variable that at(1) has
 * carried elsewhere, is an ordinary conflict. */
#ifndef DLOCK_JOB_ANCESTOR_H
#define DLOCK_JOB_ANCESTOR_H

#include "job/job_parts.h"

/* Reads DLOCK_HELD. False, with the reason said: dlocks are nested too deep. */
bool
ancestors_read(struct job *job);

/* The server has said who holds the lock (job->lock.holder): sets job->ancestor if that is one
 * above. Blocks for some milliseconds, in a strange pid namespace for up to half a second, and not
 * while a signal waits to be read. */
bool
ancestor_recognise(struct job *job);

/* May COMMAND run under that lock? An exclusive one covers any, a shared one no exclusive work. */
bool
ancestor_covers(const struct job *job);

/* --reentrant: has the ancestor confirm its lock, and makes the job one that runs under it, with an
 * engine that grants everything. True, or false: *status is dlock's exit status, said why. */
bool
ancestor_enter(struct job *job, int *status);

#endif
