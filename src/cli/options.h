/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* The command line, the environment and the config file. One table (options_table) describes every
 * option; getopt, the environment, the file, --help and the tests that compare man page and
 * completions all read it.
 *
 * Each option has its value from the strongest source that names it: command line, environment,
 * config file, default. A value that a stronger source replaces is not looked at in the
 * environment, which belongs to others too, but it is in the file: a broken file is found the day
 * it is written. */
#ifndef DLOCK_CLI_OPTIONS_H
#define DLOCK_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/problem.h"
#include "job/job.h"
#include "net/url.h"
#include "store/quorum.h"

enum options_result {
	OPTIONS_RUN,
	OPTIONS_HELD,   /* --held: `name` may be NULL */
	OPTIONS_STATUS, /* --status: `names` */
	OPTIONS_LIST,   /* --list: `glob` */
	OPTIONS_BREAK,  /* --break: `name` */
	OPTIONS_CHECK,  /* --check */
	OPTIONS_HELP,
	OPTIONS_VERSION,
	OPTIONS_USAGE_ERROR,  /* 64 */
	OPTIONS_CONFIG_ERROR, /* 78 */
};

/* Who gave an option its value; the greater is the stronger. */
enum option_source {
	SOURCE_DEFAULT,
	SOURCE_FILE,
	SOURCE_ENVIRONMENT,
	SOURCE_LINE,
};

/* What is to be done. */
enum option_action {
	ACTION_RUN,
	ACTION_HELD,
	ACTION_STATUS,
	ACTION_LIST,
	ACTION_BREAK,
	ACTION_CHECK,
};

/* Where the server's password comes from. */
enum password_from {
	PASSWORD_NONE,
	PASSWORD_IN_URL,
	PASSWORD_IN_VARIABLE,
	PASSWORD_IN_FILE,
	PASSWORD_BY_COMMAND,
};

#define OPTIONS_MAX 64

struct options {
	int64_t wait_ns; /* 0: do not wait; WAIT_FOR_EVER */
	int conflict_status;
	enum lock_mode mode;
	int slots;             /* MODE_SLOTS: how many; else 0 */
	int64_t max_waiters;   /* -1: no limit */
	int64_t wait_replicas; /* or WAIT_REPLICAS_AUTO */
	bool watch;
	bool reentrant;
	int64_t ttl_ns;
	int64_t grace_ns;
	int first_signal;
	enum on_lost on_lost;
	int64_t max_hold_ns;
	enum descendants descendants;
	int64_t at_least_ns;
	enum if_unreachable if_unreachable;
	const char *prefix;
	enum fence_mode fence_mode;
	int64_t min_fence;
	const char *label;
	const char *report; /* NULL: none */
	int64_t connect_timeout_ns;
	int url_count; /* servers; options_url(1) and so on are the others than `url` */
	int64_t quarantine_ns;
	struct tls_settings tls; /* what the options say */
	enum password_from password_from;
	const char *password_variable; /* its name */
	const char *password_file;
	const char *password_command;
	int verbosity;
	bool quiet;

	const char *name;
	char **command;    /* NULL-terminated; with -c, a shell and its arguments */
	char **names;      /* --status: NULL-terminated, one at least */
	const char *glob;  /* --list; NULL: all */
	const char *token; /* --break; NULL: whichever */
	bool json;
	bool force;

	enum option_action action;
	bool wants_help;
	bool wants_version;
	bool has_server;
	bool has_grace;
	bool has_connect_timeout;
	bool has_quarantine;
	const char *config; /* the file that was named, else the one that was found; NULL: none */
	struct kept_text *kept;                 /* what the file said, for as long as the options */
	enum option_source source[OPTIONS_MAX]; /* of each row of the table */
	bool by_letter[OPTIONS_MAX];            /* SOURCE_LINE: it was written -n, not --nonblock */
	/* Last, as they are large, and what is not needed of them is not touched. */
	struct url url; /* its `tls` is what counts, when all has been read */
	struct url more_urls[QUORUM_MOST - 1];
};

/* What an option may be beside its row's other columns. */
enum option_trait {
	/* Nothing that lasts: refused in a config file. */
	OPTION_FOR_NOW = 1,
	/* --held NAME needs it to know which lock is meant; it looks at no other setting, so that a
	 * bad one is nothing to it. */
	OPTION_NAMES_LOCK = 2,
	/* What --status, --list, --break and --check take; the others on a command line with them
	 * are a slip, in the environment and the file they are for runs. */
	OPTION_OF_REPORTS = 4,
	/* What --check takes beside those: it tells what a lease is good for. */
	OPTION_OF_CHECK = 8,
	/* Those of one group set the same thing: who names one of them on the command line has
	 * overruled the others in the environment and the file. */
	OPTION_SETS_WAIT = 1 << 8,
	OPTION_SETS_MODE = 1 << 9,
	OPTION_SETS_PASSWORD = 1 << 10,
	OPTION_GROUPS = 0xff00,
};

#define OPTION_NAMES 4

/* Which option: a row of the table. */
struct option_row {
	char letter;                     /* 0: none */
	const char *names[OPTION_NAMES]; /* long ones, the first is the main one; NULL-terminated */
	const char *argument;            /* how --help calls it; NULL: none */
	const char *environment[2];      /* variables that stand for it */
	const char *help;
	/* Takes the value (NULL without an argument). False and a sentence that says what would be
	 * right. */
	bool (*set)(struct options *options, const char *value, struct problem *problem);
	unsigned long traits; /* of enum option_trait, 0: a value like others */
};

/* The rows and their number. */
const struct option_row *
options_table(size_t *count);

/* Who gave the option of that (main) name its value. */
enum option_source
options_source(const struct options *options, const char *name);

/* Of two options that do not go together: who gave the one that is to blame, the stronger one? */
enum option_source
options_blamed(const struct options *options, const char *one, const char *other);

/* Is that a matter of configuration, and not of the command line? If of a file, the problem names
 * it from now on. */
bool
options_blame(const struct options *options, enum option_source blamed, struct problem *problem);

/* The servers, from 0. */
struct url *
options_url(struct options *options, int index);

/* All of them for people, a blank between two. */
void
options_print_servers(struct options *options, char *out, size_t size);

/* Room for that. */
#define SERVERS_SIZE (QUORUM_MOST * 1024)

/* Says so where their number is no good one. */
void
options_warn_of_servers(const struct options *options);

/* Reads command line, environment and config file. argv may be scrubbed: a password in it
 * is overwritten at once. On an error `problem` is the line to be printed. */
enum options_result
options_parse(struct options *options, int argc, char **argv, struct problem *problem);

#endif
