/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* A password that is read from a file, or asked of a command, each time it is needed: it may have
 * been changed meanwhile. Another process does it (password_helper.h), so that whatever hangs there
 * delays nothing here. One at a time: when the last one has not yet gone, it is waited for. */
#ifndef DLOCK_RUN_PASSWORD_H
#define DLOCK_RUN_PASSWORD_H

#include "base/loop.h"
#include "base/secret.h"
#include "run/password_helper.h"

enum password_state {
	PASSWORD_IDLE,
	PASSWORD_ASKED,
	PASSWORD_ANSWERED, /* the helper is about to end: only then it is told */
	PASSWORD_ENDING,   /* nobody wants the answer: the helper cleans up and ends */
	PASSWORD_QUEUED,   /* the same, but the next one is wanted already */
};

struct password {
	struct secret_source source; /* first: a source is converted back */
	struct loop *loop;
	struct password_errand errand;
	enum password_state state;
	pid_t helper; /* 0: none */
	struct watch watch;
	struct timer pulse; /* looks whether the helper has gone */
	struct instant patience_until;
	struct password_answer *answer; /* pages of its own */
	size_t received;                /* bytes of it */
	char origin[512];
};

/* Sets up a source that reads `file`, or runs `command`: one of them is NULL. All is borrowed. 0,
 * or -1 and errno: no memory. */
int
password_init(struct password *password, struct loop *loop, const struct signals *signals,
    const char *file, const char *command);

#endif
