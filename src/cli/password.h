/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Which of the places that may name a password is the one.
 *
 *   command line    --password-file or --password-command, or the password in -S: one of them
 *   environment     the password in DLOCK_SERVER or REDIS_URL, DLOCK_PASSWORD, REDISCLI_AUTH
 *   config file     as on the command line
 *
 * The first that is there is taken. A URL names its own server's password, so it comes before the
 * variables, as it does in redis-cli(1). */
#ifndef DLOCK_CLI_PASSWORD_H
#define DLOCK_CLI_PASSWORD_H

#include "base/secret.h"
#include "base/secret_share.h"
#include "cli/options.h"
#include "run/password.h"

/* After the command line: does it name one at most? */
bool
password_check_line(const struct options *options, struct problem *problem);

/* When all has been read: sets options->password_from and what belongs to it. */
bool
password_choose(struct options *options, struct problem *problem);

/* Is DLOCK_SENTINEL_PASSWORD such that it can be used? False and a sentence. */
bool
password_check_sentinel(const struct options *options, struct problem *problem);

/* What is behind a source: one of the two. Of several servers each has a source of its own, which
 * for a file or a command are fronts of one. */
struct password_place {
	struct kept_secret kept[QUORUM_MOST];
	struct password asked;
	struct secret_share share;
	struct secret_source *sources[QUORUM_MOST]; /* of each server; NULL: none */
};

/* Moves a password that was given as such, PASSWORD_IN_URL or PASSWORD_IN_VARIABLE, to where no
 * core dump has it: that of each server to place->kept. What the URLs and DLOCK_PASSWORD said is
 * overwritten in any case: COMMAND is not to see it, nor who looks at /proc/PID/environ. 0, or -1
 * and errno. */
int
password_keep(struct password_place *place, struct options *options);

/* Fills in place->sources; they use loop and signals. password_keep is done. 0, or -1 and errno. */
int
password_open(struct password_place *place, struct options *options, struct loop *loop,
    struct signals *signals);

/* The same for the password of the sentinels: the URL's own, or the file that it names, else
 * DLOCK_SENTINEL_PASSWORD, which is overwritten in any case. That of the server is never given to a
 * sentinel. */
int
password_open_sentinel(struct password_place *place, struct options *options, struct loop *loop,
    struct signals *signals, struct secret_source **source);

#endif
