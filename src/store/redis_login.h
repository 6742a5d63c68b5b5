/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* The login of one connection: the password is asked for, then one pipeline is sent (AUTH, SELECT,
 * CLIENT SETNAME, SCRIPT EXISTS, TIME; where somebody else said that this is the master, HELLO 2 as
 * well).
 *
 * The password is asked for when the connection stands, not before: a server that is down for a
 * while would otherwise have a command run, or a person asked, at every try to reach it. */
#ifndef DLOCK_STORE_REDIS_LOGIN_H
#define DLOCK_STORE_REDIS_LOGIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/secret.h"
#include "lock/store.h"
#include "net/link.h"
#include "net/url.h"

#define LOGIN_HASHES 3

/* What is awaited: the password, or an answer, in the order of the pipeline. */
enum login_step {
	LOGIN_PASSWORD,
	LOGIN_AUTH,
	LOGIN_HELLO, /* the role, where it is wanted */
	LOGIN_SELECT,
	LOGIN_SETNAME,
	LOGIN_SCRIPTS,
	LOGIN_TIME,
	LOGIN_DONE,
};

struct redis_login {
	/* Borrowed, and set by the user. */
	struct link *link;
	const struct url *url;
	struct secret_source *secret; /* NULL: none */
	bool wants_master;            /* a server that says it is none is refused */
	const char *const *hashes;    /* of scripts, LOGIN_HASHES of them; NULL: not of interest */
	/* One of these is called, once, from the loop. */
	void (*done)(void *context, int64_t server_us);
	void (*failed)(void *context, enum outcome outcome, const struct problem *why);
	/* Appends what is to be asked in the same pipeline, behind the login; its answers follow
	 * `done`. May be NULL. */
	void (*append)(void *context);
	void *context;

	enum login_step step;
	const char *password;     /* the source's, while it is of use */
	struct problem complaint; /* a refusal of what is merely nice */
	unsigned int known;       /* a bit each: the server has these scripts; when done */
};

/* On a link that has just been opened. */
void
redis_login_start(struct redis_login *login);

/* Whatever the server says until done or failed was called. */
void
redis_login_answer(struct redis_login *login, const struct reply *reply);

/* What becomes of a request when the link has failed for that reason before it was sent. */
enum outcome
redis_login_judge(const struct redis_login *login, const struct problem *why);

/* Time is over, or the link has failed for the reason given: says why this login did not come
 * about. To be followed by redis_login_end. */
enum outcome
redis_login_explain_delay(const struct redis_login *login, struct problem *why);
enum outcome
redis_login_explain_failure(const struct redis_login *login, const struct problem *failure,
    struct problem *why);

/* Lets go of the password, or stops asking for it. Harmless at any time. */
void
redis_login_end(struct redis_login *login);

#endif
