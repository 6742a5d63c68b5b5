/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* --report FILE: one line of JSON that tells how a run ended, whichever process is left to write
 * it.
 *
 * The file is opened before anything is sent to a server, so that a mistake is told in time. After
 * the fork OUTER and RUNNER share a claim: the first of them to report does, so there is one line.
 * Writing allocates nothing, and a file that takes nothing is waited for 100 ms at most. */
#ifndef DLOCK_RUN_REPORT_H
#define DLOCK_RUN_REPORT_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/clock.h"

enum report_outcome {
	REPORT_RAN,          /* COMMAND ran under the lock to its end */
	REPORT_CONFLICT,     /* the lock was not had in time */
	REPORT_LOST,         /* it was lost while COMMAND ran */
	REPORT_MAX_HOLD,     /* --max-hold ended COMMAND */
	REPORT_NOT_EXECUTED, /* COMMAND was not found, or could not be executed */
	REPORT_UNREACHABLE,  /* no server answers */
	REPORT_REFUSED,      /* it refuses service */
	REPORT_DENIED,       /* it refuses the user */
	REPORT_SKIPPED,      /* --if-unreachable skip */
	REPORT_UNLOCKED,     /* --if-unreachable run: COMMAND ran without a lock */
	REPORT_INTERRUPTED,  /* a signal ended dlock: while it waited, or OUTER was killed */
	REPORT_SYSTEM_ERROR, /* the operating system refused */
};

#define REPORT_NO_STATUS (-1)

struct report {
	const char *path; /* NULL: none is wanted */
	int fd;
	_Atomic int *claim; /* shared by OUTER and RUNNER; NULL: there is one process */

	/* What is known; pointers are borrowed, NULL is unknown. */
	const char *name;
	const char *key;
	const char *server;
	const char *host;
	const char *command; /* its base name */
	const char *label;
	const char *fence;
	char started[40];
	int pid;
	int64_t max_hold_ns;        /* 0: none */
	int64_t waited_ns;          /* -1: unknown */
	struct instant acquired_at; /* INSTANT_NEVER: no lock was had */
};

struct report_end {
	enum report_outcome outcome;
	int status;         /* what dlock exits with, or REPORT_NO_STATUS */
	int signal_number;  /* what COMMAND and dlock, or dlock alone, died of; 0: none */
	const char *reason; /* NULL: none */
};

/* Opens FILE for appending and notes the time. 0, or -1 and errno. */
int
report_open(struct report *report, const char *path);

/* Appends the line, unless the other process has. One that cannot be written is warned of. */
void
report_write(struct report *report, const struct report_end *end);

#endif
