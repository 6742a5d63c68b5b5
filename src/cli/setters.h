/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What gives an option its value: the column `set` of table.c. Each takes the value (NULL without
 * an argument); false, and a sentence that says what would be right. */
#ifndef DLOCK_CLI_SETTERS_H
#define DLOCK_CLI_SETTERS_H

#include "cli/options.h"

/* set_run.c */
bool
set_nonblock(struct options *options, const char *value, struct problem *problem);
bool
set_wait(struct options *options, const char *value, struct problem *problem);
bool
set_conflict_status(struct options *options, const char *value, struct problem *problem);
bool
set_exclusive(struct options *options, const char *value, struct problem *problem);
bool
set_shared(struct options *options, const char *value, struct problem *problem);
bool
set_slots(struct options *options, const char *value, struct problem *problem);
bool
set_max_waiters(struct options *options, const char *value, struct problem *problem);
bool
set_nothing(struct options *options, const char *value, struct problem *problem);
bool
set_ttl(struct options *options, const char *value, struct problem *problem);
bool
set_grace(struct options *options, const char *value, struct problem *problem);
bool
set_signal(struct options *options, const char *value, struct problem *problem);
bool
set_on_lost(struct options *options, const char *value, struct problem *problem);
bool
set_at_least(struct options *options, const char *value, struct problem *problem);
bool
set_max_hold(struct options *options, const char *value, struct problem *problem);
bool
set_descendants(struct options *options, const char *value, struct problem *problem);
bool
set_if_unreachable(struct options *options, const char *value, struct problem *problem);
bool
set_fence(struct options *options, const char *value, struct problem *problem);
bool
set_min_fence(struct options *options, const char *value, struct problem *problem);
bool
set_label(struct options *options, const char *value, struct problem *problem);
bool
set_report(struct options *options, const char *value, struct problem *problem);
bool
set_reentrant(struct options *options, const char *value, struct problem *problem);
bool
set_watch(struct options *options, const char *value, struct problem *problem);

/* set_server.c */
bool
set_server(struct options *options, const char *value, struct problem *problem);
bool
set_quarantine(struct options *options, const char *value, struct problem *problem);
bool
set_prefix(struct options *options, const char *value, struct problem *problem);
bool
set_password_file(struct options *options, const char *value, struct problem *problem);
bool
set_password_command(struct options *options, const char *value, struct problem *problem);
bool
set_wait_replicas(struct options *options, const char *value, struct problem *problem);
bool
set_connect_timeout(struct options *options, const char *value, struct problem *problem);
bool
set_config(struct options *options, const char *value, struct problem *problem);

/* set_tls.c */
bool
set_tls(struct options *options, const char *value, struct problem *problem);
bool
set_insecure(struct options *options, const char *value, struct problem *problem);
bool
set_cacert(struct options *options, const char *value, struct problem *problem);
bool
set_cacertdir(struct options *options, const char *value, struct problem *problem);
bool
set_cert(struct options *options, const char *value, struct problem *problem);
bool
set_key(struct options *options, const char *value, struct problem *problem);
bool
set_sni(struct options *options, const char *value, struct problem *problem);

/* set_action.c */
bool
set_held(struct options *options, const char *value, struct problem *problem);
bool
set_status(struct options *options, const char *value, struct problem *problem);
bool
set_list(struct options *options, const char *value, struct problem *problem);
bool
set_break(struct options *options, const char *value, struct problem *problem);
bool
set_check(struct options *options, const char *value, struct problem *problem);
bool
set_json(struct options *options, const char *value, struct problem *problem);
bool
set_force(struct options *options, const char *value, struct problem *problem);
bool
set_token(struct options *options, const char *value, struct problem *problem);
bool
set_verbose(struct options *options, const char *value, struct problem *problem);
bool
set_quiet(struct options *options, const char *value, struct problem *problem);
bool
set_help(struct options *options, const char *value, struct problem *problem);
bool
set_version(struct options *options, const char *value, struct problem *problem);

#endif
