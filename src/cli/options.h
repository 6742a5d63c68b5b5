/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* The command line and the environment. One table (options_table) describes every option; getopt,
 * the environment, --help and the tests that compare man page and completions all read it. */
#ifndef DLOCK_CLI_OPTIONS_H
#define DLOCK_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/problem.h"
#include "job/job.h"
#include "net/url.h"

enum options_result {
	OPTIONS_RUN,
	OPTIONS_HELP,
	OPTIONS_VERSION,
	OPTIONS_USAGE_ERROR,  /* 64 */
	OPTIONS_CONFIG_ERROR, /* 78 */
};

struct options {
	int64_t wait_ns; /* 0: do not wait; WAIT_FOR_EVER */
	int conflict_status;
	int64_t ttl_ns;
	int64_t grace_ns;
	int first_signal;
	enum on_lost on_lost;
	int64_t at_least_ns;
	const char *prefix;
	enum fence_mode fence_mode;
	int64_t min_fence;
	const char *label;
	int64_t connect_timeout_ns;
	struct url url;
	int verbosity;
	bool quiet;

	const char *name;
	char **command; /* NULL-terminated; with -c, a shell and its arguments */

	bool wants_help;
	bool wants_version;
	bool has_server;
	bool has_grace;
	bool has_connect_timeout;
	uint64_t given; /* by the command line: bits of the table's rows */
};

/* Which option: a row of the table. */
struct option_row {
	char letter;                /* 0: none */
	const char *names[4];       /* long ones, the first is the main one; NULL-terminated */
	const char *argument;       /* how --help calls it; NULL: none */
	const char *environment[2]; /* variables that stand for it */
	const char *help;
	/* Takes the value (NULL without an argument). False and a sentence that says what would be
	 * right. */
	bool (*set)(struct options *options, const char *value, struct problem *problem);
};

/* The rows and their number. */
const struct option_row *
options_table(size_t *count);

/* Reads command line and environment, the former winning. argv may be scrubbed: a password in it
 * is overwritten at once. On an error `problem` is the line to be printed. */
enum options_result
options_parse(struct options *options, int argc, char **argv, struct problem *problem);

#endif
