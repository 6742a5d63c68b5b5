/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* dlock: run a command under a lock that every machine can see.
 *
 * A map of the house, in reading order. A folder uses those below it here, never one above.
 *
 *   main.c           from arguments to a run
 *   exits.h          the exit statuses
 *   cli/             options.h (what they are), table.c (ONE table of all options), setters.h (what
 *                    gives each its value), options_parts.h (command_line.c, environment.c,
 *                    config_file.c, operands.c, actions.c: what goes with what), config.h (the text
 *                    of a config file), password.h (which of several), engine.h (a run's store),
 *                    reports.h (to view/), complaint.h, help.h
 *   view/            view.h (--status, --list, --break, --check), look.h (asking about one lock),
 *                    sight.h (what the answers show), picture.h (how it is printed), slice.h,
 *                    text.h, glob.h, list_parts.h, visit.h (to a server), panel.h (to several),
 *                    check_facts.h, check_judge.h (what was found, and what it means),
 *                    check_ask.h, check_trial.h, check_party.h, check_watch.h, check_print.h,
 *                    postgres_look.h (all of that at PostgreSQL: postgres_views.c,
 *                    postgres_check.c)
 *   job/             job.h (COMMAND under its lock: where the two halves meet), waiter.h, keeper.h
 *                    (RUNNER), ending.h, nets.h, relay.h (signals and messages to it), variables.h,
 *                    standin.h (no lock of its own), ancestor.h (a lock that is held above),
 *                    answering.h, asking.h (--held), words.h, verdict.h (for --report), job_parts.h
 *   run/             the process half: guard.h (OUTER), command.h (COMMAND's life), spawn.h,
 *                    birth.h, tree.h (finding and killing processes), proc.h, forward.h (signals
 *                    exactly once), signals.h, terminal.h, channel.h, report.h, deadman.h,
 *                    urgency.h, descriptors.h, password.h (the file or command that has it),
 *                    password_helper.h, held.h (DLOCK_HELD), inquiry.h (asking RUNNER), descent.h,
 *                    testing.h
 *   lock/            the lock half: lock.h (the state machine; acquiring.c, waiting.c, holding.c,
 *                    releasing.c, lock_parts.h), lease.h (when what is due), store.h (what an
 *                    engine offers)
 *   store/           redis.h (the engine; redis_exchange.c, redis_parts.h), redis_login.h, line.h
 *                    (asking and being told on one connection), redis_request.h, redis_answer.h
 *                    (what an answer means), redis_watch.h and redis_look.h (--watch),
 *                    redis_query.h (for view/), route.h (where the server is; routes.h),
 *                    sentinel.h (as sentinels say: sentinel_round.c, sentinel_member.h,
 *                    sentinel_view.h, sentinel_parts.h), cluster.h (as the nodes of a
 *                    cluster say: cluster_map.h, cluster_redirect.h, cluster_slot.h), ear.h
 *                    (where a waiter in a cluster is told), lua/, postgres.h (the other engine:
 *                    postgres_answer.c, postgres_wait.c, postgres_parts.h), postgres_session.h
 *                    (may it keep locks? postgres_pooler.c, postgres_session_parts.h),
 *                    postgres_sql.h (what is asked), none.h (no server)
 *   net/             link.h (a connection; link_traffic.c, link_parts.h), transport.h (in clear or
 *                    in TLS), tls.h (by OpenSSL: tls_library.h, tls_explain.h), transfer.h,
 *                    reader.h (RESP), resolve.h (names), url.h (url_places.c, url_query.c,
 *                    url_print.c, url_postgres.c, url_parts.h), pq_link.h (a connection to
 *                    PostgreSQL: pq_connect.c, pq_places.c, pq_library.h, pq_parts.h)
 *   base/            loop.h, clock.h, step.h, values.h, keys.h, identity.h, message.h, json.h,
 *                    secret.h, secret_share.h, sha256.h, helper.h, problem.h, compat/ (one missing
 * or awkward thing a file)
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/identity.h"
#include "base/keys.h"
#include "base/message.h"
#include "cli/complaint.h"
#include "cli/engine.h"
#include "cli/help.h"
#include "cli/options.h"
#include "cli/password.h"
#include "cli/reports.h"
#include "exits.h"
#include "job/asking.h"
#include "job/job.h"
#include "run/descriptors.h"
#include "store/routes.h"

/* Everything about a run that outlives its set-up. */
struct run {
	struct options options;
	struct keys keys;
	char token[TOKEN_SIZE];
	struct identity identity;
	char record[IDENTITY_RECORD];
	char mode[sizeof((struct identity *)NULL)->mode];
	struct report report;
	char server[SERVERS_SIZE];
	struct password_place password, sentinel_password;
	struct route *route;
	struct engine engine;
	struct job_settings settings;
	struct signals signals;
	struct tree tree;
	struct loop loop;
};

/* Where settings came from that nobody named on the command line. */
static void
say_sources(const struct options *options)
{
	if (options->config != NULL)
		message_verbose("options are read from '%s'", options->config);
	if (options->url.ignored[0] != '\0')
		message_verbose(
		    "REDIS_URL in the environment: ignored what dlock does not know: %s",
		    options->url.ignored);
}

/* Who we are. It is asked while the server answers the login, unless it is needed before. */
static void
identify(void *context)
{
	struct run *run = context;
	if (run->record[0] != '\0')
		return;
	identity_gather(&run->identity, run->options.command[0], run->options.label);
	memcpy(run->identity.mode, run->mode, sizeof run->identity.mode);
	identity_write(&run->identity, run->record);
}

/* The mode of the lock as all who use it are told. */
static void
name_mode(struct run *run)
{
	const struct options *options = &run->options;
	switch (options->mode) {
	case MODE_EXCLUSIVE:
		snprintf(run->mode, sizeof run->mode, "exclusive");
		break;
	case MODE_SHARED:
		snprintf(run->mode, sizeof run->mode, "shared");
		break;
	case MODE_SLOTS:
		snprintf(run->mode, sizeof run->mode, "slots:%d", options->slots);
		break;
	}
}

/* Seeds the jitter: any two waiters have different tokens. */
static uint64_t
seed_from_token(const char *token)
{
	uint64_t seed = UINT64_C(14695981039346656037); /* FNV-1a */
	for (; *token != '\0'; token++)
		seed = (seed ^ (unsigned char)*token) * UINT64_C(1099511628211);
	return seed;
}

/* Where the server is, if the URL does not say it. */
static int
open_route(struct run *run)
{
	struct route_settings settings = {
	    .url = &run->options.url,
	    .limit_ns = run->options.connect_timeout_ns,
	    .listens = true,
	    .key = run->keys.lock,
	};
	if (password_open_sentinel(&run->sentinel_password, &run->options, &run->loop,
		&run->signals, &settings.sentinel_secret) != 0)
		return -1;
	return route_open(&run->route, &run->loop, &settings);
}

static bool
is_fifo(const char *path)
{
	struct stat status;
	return stat(path, &status) == 0 && S_ISFIFO(status.st_mode);
}

/* False, and why: it cannot be opened. */
static bool
open_report(struct run *run, struct problem *problem)
{
	const struct identity *identity = &run->identity;
	if (run->options.report != NULL)
		identify(run);
	if (report_open(&run->report, run->options.report) != 0) {
		struct problem why;
		bool no_peer = errno == ENXIO; /* a FIFO; a socket or a device says so too */
		problem_set_errno(&why, NULL, errno);
		bool nobody_reads = no_peer && is_fifo(run->options.report);
		problem_set(problem, "--report: cannot append to '%s': %s", run->options.report,
		    nobody_reads ? "nobody reads from it" : why.text);
		problem->is_system = why.is_system;
		return false;
	}
	run->report.name = run->options.name;
	run->report.key = run->keys.lock;
	run->report.server = run->server;
	run->report.host = identity->host;
	run->report.pid = getpid();
	run->report.command = identity->command;
	run->report.label = identity->label;
	run->report.max_hold_ns = run->options.max_hold_ns;
	return true;
}

static int
report_system_error(struct run *run, const char *what)
{
	const struct report_end end = {.outcome = REPORT_SYSTEM_ERROR,
	    .status = EXIT_SYSTEM,
	    .reason = strerror(errno)};
	int status = complaint_of_system(what);
	report_write(&run->report, &end);
	return status;
}

/* What to run, and how: all that job_run is told. */
static void
fill_in_settings(struct run *run, const struct lease_terms *terms, struct store *store)
{
	const struct options *options = &run->options;
	run->settings = (struct job_settings){
	    .name = options->name,
	    .key = run->keys.lock,
	    .token = run->token,
	    .lock = {.terms = *terms,
		.wait_ns = options->wait_ns,
		.connect_limit_ns = options->connect_timeout_ns,
		.mode = options->mode},
	    .store = store,
	    .seed = seed_from_token(run->token),
	    .argv = options->command,
	    .first_signal = options->first_signal,
	    .on_lost = options->on_lost,
	    .max_hold_ns = options->max_hold_ns,
	    .descendants = options->descendants,
	    .at_least_ns = options->at_least_ns,
	    .if_unreachable = options->if_unreachable,
	    .conflict_status = options->conflict_status,
	    .reentrant = options->reentrant,
	    .report = &run->report,
	    .signals = &run->signals,
	    .tree = &run->tree,
	    .loop = &run->loop,
	};
}

static int
run_command(struct run *run)
{
	const struct options *options = &run->options;
	struct problem problem;
	struct lease_terms terms;

	if (!keys_make(&run->keys, options->prefix, options->name, &problem))
		return complaint_of_key(options, options->name, &problem);
	if (!lease_terms_make(&terms, options->ttl_ns, options->grace_ns, &problem))
		return complaint_of_options(options, &problem, "ttl", "kill-after");
	identity_make_token(run->token);
	name_mode(run);
	options_print_servers(&run->options, run->server, sizeof run->server);
	options_warn_of_servers(options);
	if (!open_report(run, &problem))
		return complaint_of_options(options, &problem, "report", "report");
	if (loop_open(&run->loop) != 0)
		return report_system_error(run, "make a timer");
	if (password_open(&run->password, &run->options, &run->loop, &run->signals) != 0)
		return report_system_error(run, "keep the password");
	if (open_route(run) != 0)
		return report_system_error(run, "set up the connection");
	const struct engine_terms use = {
	    .route = run->route,
	    .password = &run->password,
	    .server = run->server,
	    .keys = &run->keys,
	    .token = run->token,
	    .record = run->record,
	    .mode = run->mode,
	    .identity = &run->identity,
	    .lease = &terms,
	    .prepare = identify,
	    .prepare_context = run,
	    .seed = seed_from_token(run->token),
	};
	struct store *store = engine_open(&run->engine, &run->options, &run->loop, &use);
	if (store == NULL)
		return report_system_error(run, "set up the connection");
	fill_in_settings(run, &terms, store);
	int status = job_run(&run->settings);
	engine_free(&run->engine, store);
	route_free(run->route);
	return status;
}

/* To `dlock --help | head` it shall look like any program: ended by PIPE, unless the caller has
 * that ignored. */
static int
cannot_write(const struct run *run)
{
	if (errno == EPIPE && !signals_ignored_pipe(&run->signals))
		signals_die_of(SIGPIPE);
	return complaint_of_system("write to stdout");
}

static int
ask_about_lock(struct run *run)
{
	const struct options *options = &run->options;
	struct problem problem;
	if (options->name == NULL)
		return asking_run(NULL, NULL);
	if (!keys_make(&run->keys, options->prefix, options->name, &problem))
		return complaint_of_key(options, options->name, &problem);
	return asking_run(options->name, run->keys.lock);
}

int
main(int argc, char **argv)
{
	static struct run run;
	struct problem problem;

	if (descriptors_fill_gaps() != 0)
		return EXIT_SYSTEM;
	tree_init(&run.tree);
	if (signals_take_over(&run.signals) != 0)
		return complaint_of_system("take over the signals");

	enum options_result result = options_parse(&run.options, argc, argv, &problem);
	message_set_level(run.options.quiet, run.options.verbosity);
	switch (result) {
	case OPTIONS_HELP:
		return help_print() == 0 ? 0 : cannot_write(&run);
	case OPTIONS_VERSION:
		return help_print_version() == 0 ? 0 : cannot_write(&run);
	case OPTIONS_USAGE_ERROR:
	case OPTIONS_CONFIG_ERROR:
		return complaint_of_setting(&problem, result == OPTIONS_CONFIG_ERROR);
	case OPTIONS_HELD:
		return ask_about_lock(&run);
	case OPTIONS_STATUS:
	case OPTIONS_LIST:
	case OPTIONS_BREAK:
	case OPTIONS_CHECK:
		say_sources(&run.options);
		return reports_run(&run.options, result, &run.loop, &run.signals);
	case OPTIONS_RUN:
		break;
	}
	say_sources(&run.options);
	return run_command(&run);
}
