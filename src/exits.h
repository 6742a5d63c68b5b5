/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* The exit statuses of dlock itself (SPEC section 2). COMMAND's own status, or its death by a
 * signal, is passed through. Numbers follow sysexits(3), so that people know them from cron and
 * systemd. */
#ifndef DLOCK_EXITS_H
#define DLOCK_EXITS_H

enum dlock_exit {
	EXIT_USAGE = 64,       /* bad command line; nothing was sent to a server */
	EXIT_UNREACHABLE = 69, /* no server answers, or it refuses service */
	EXIT_SYSTEM = 71,      /* the operating system refused: fork, memory, descriptors */
	EXIT_CONFLICT = 75,    /* the lock was not had in time (-E changes it) */
	EXIT_DENIED = 77,      /* the server refuses the user */
	EXIT_CONFIG = 78,      /* bad config file or environment setting, or no server named */
	EXIT_LOST = 79,        /* the lock was lost, or could not be confirmed, while COMMAND ran */
	EXIT_MAX_HOLD = 124,   /* --max-hold ran out; the number is timeout(1)'s */
	EXIT_CANNOT_EXECUTE = 126,
	EXIT_NOT_FOUND = 127,
	EXIT_BY_SIGNAL = 128, /* plus its number, where dying of it cannot be */
};

#endif
