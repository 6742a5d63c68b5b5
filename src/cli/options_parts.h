/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What the files behind options.h share: where settings come from, each source in a file of its
 * own. options.c calls them in the order of precedence, the strongest first; none of them gives an
 * option anything that a stronger one has given it. */
#ifndef DLOCK_CLI_OPTIONS_PARTS_H
#define DLOCK_CLI_OPTIONS_PARTS_H

#include "cli/options.h"

/* Options up to NAME; optind is left there. argv is scrubbed of passwords in server URLs. */
bool
command_line_parse(struct options *options, int argc, char **argv, struct problem *problem);

/* NAME COMMAND [ARG]..., NAME -- COMMAND..., NAME -c STRING. */
bool
operands_take(struct options *options, char **rest, struct problem *problem);

/* [NAME] for --held, NAME... for --status, [GLOB] for --list, NAME for --break: options->action
 * says which. rest[-1] is what stood before them. */
bool
operands_take_names(struct options *options, char **rest, struct problem *problem);

/* "--status"; of ACTION_RUN NULL. */
const char *
actions_name(enum option_action action);

/* How it is written: "dlock --status NAME...". */
const char *
actions_form(enum option_action action);

/* Do the options of the command line go with what is asked for, and with each other? */
bool
actions_check_line(const struct options *options, struct problem *problem);

/* The variables that stand for options, and REDIS_URL. */
bool
environment_parse(struct options *options, struct problem *problem);

/* The file that --config or DLOCK_CONFIG names, else SYSCONFDIR/dlock.conf if it is there. The
 * problem begins with file and line. */
bool
config_file_parse(struct options *options, struct problem *problem);

/* The row with that long name, all of it; -1: there is none. */
int
options_find(const char *name, size_t length);

/* "--wait" or "-e", as the user wrote it or nearly so. Returns `out`. */
const char *
options_print(char *out, size_t size, const struct option_row *row);

/* Gives a row its value. The problem quotes no password of a URL, wherever that was put. */
bool
options_set(struct options *options, size_t row, const char *value, struct problem *problem);

/* Has a source, whichever it is, given this row, or another that sets the same? */
bool
options_are_settled(const struct options *options, size_t row);

/* Overwrites the password of a URL: ps(1) shows arguments to everybody. NULL is harmless. */
void
options_scrub(char *text);

/* Redis's scripts have no whole numbers beyond it. */
#define FENCE_BELOW (INT64_C(1) << 53)
/* PostgreSQL's have: what fence_base may add is enough for it. */
#define FENCE_MOST (INT64_C(1) << 62)

/* Adds a server, or several, blanks between them. */
bool
options_add_servers(struct options *options, const char *text, enum url_unknown_keys unknown,
    struct problem *problem);

/* When all has been read: do the servers go with each other, and the options with several of them?
 * As tls_settle. */
bool
options_settle_servers(struct options *options, enum option_source *blamed,
    struct problem *problem);

/* When all has been read: what options and URL say of TLS together is in options->url.tls. False:
 * they contradict each other; *blamed: who gave what is to blame. */
bool
tls_settle(struct options *options, enum option_source *blamed, struct problem *problem);

/* Every option as it is when nobody says anything. */
void
options_set_defaults(struct options *options);

#endif
