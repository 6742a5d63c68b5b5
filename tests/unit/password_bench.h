/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* run/password on a bench: a source, and what it told. */
#ifndef DLOCK_TESTS_PASSWORD_BENCH_H
#define DLOCK_TESTS_PASSWORD_BENCH_H

#include <stdbool.h>
#include <sys/types.h>

#include "run/password.h"

#define ASKER_LIMIT_MS 20000

struct password_bench {
	struct loop loop;
	struct signals signals;
	struct password password;
	char directory[32];
	char path[64]; /* of a file in it */

	/* What was told last. */
	bool over;
	int count;                   /* how often since asker_begin */
	char secret[SECRET_MAX + 1]; /* "": none */
	struct problem problem;
};

extern struct password_bench asker;

/* Once; and at the end. */
bool
asker_open(void);
void
asker_close(void);

/* A new source: a file or a command, the other is NULL. */
void
asker_begin(const char *file, const char *command);

void
asker_ask(void);
void
asker_cancel(void);

/* Turns the loop until it is told, and checks what. */
void
asker_check_told(const char *secret);
void
asker_check_refused(const char *part);

/* Turns the loop until there is no helper any more. */
void
asker_run_until_idle(void);

void
asker_write(const char *text, size_t length);

/* A pid that a shell has written to that file in the directory; waits for it. */
pid_t
asker_read_pid(const char *name);

#endif
