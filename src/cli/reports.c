/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "cli/reports.h"

#include "base/identity.h"
#include "base/keys.h"
#include "cli/complaint.h"
#include "cli/password.h"
#include "store/routes.h"
#include "view/postgres_look.h"
#include "view/view.h"

#define REPORT_ANSWER_LIMIT (2 * NS_PER_S)

/* NULL, or the first that makes no key. */
static const char *
find_bad_name(const struct options *options, struct problem *problem)
{
	static struct keys keys;
	for (char **name = options->names; *name != NULL; name++) {
		if (!keys_make(&keys, options->prefix, *name, problem))
			return *name;
	}
	return NULL;
}

static int
break_lock(const struct view_settings *settings, const struct options *options)
{
	static struct identity identity;
	char record[IDENTITY_RECORD];
	identity_gather(&identity, "dlock", options->label);
	identity_write(&identity, record);
	return view_break(settings, options->name, record);
}

/* False, and the status: the lease would be refused for a run, or the prefix makes no keys. */
static bool
prepare_check(const struct options *options, struct lease_terms *terms, int *status)
{
	static struct keys keys;
	struct problem problem;
	if (!lease_terms_make(terms, options->ttl_ns, options->grace_ns, &problem))
		*status = complaint_of_options(options, &problem, "ttl", "kill-after");
	else if (!keys_make(&keys, options->prefix, "x", &problem))
		*status = complaint_of_key(options, "x", &problem);
	else
		return true;
	return false;
}

static void
list_nodes(struct options *options, const struct password_place *password, struct view_node *nodes)
{
	static char names[QUORUM_MOST][1024];
	for (int i = 0; i < options->url_count; i++) {
		url_print(options_url(options, i), names[i], sizeof names[i]);
		nodes[i] =
		    (struct view_node){options_url(options, i), password->sources[i], names[i]};
	}
}

static int
report_postgres(const struct view_settings *settings, const struct options *options,
    enum options_result what, const struct lease_terms *terms)
{
	if (what == OPTIONS_STATUS)
		return postgres_view_status(settings, options->names);
	if (what == OPTIONS_LIST)
		return postgres_view_list(settings, options->glob);
	if (what == OPTIONS_CHECK)
		return postgres_view_check(settings, terms);
	return postgres_view_break(settings, options->name);
}

int
reports_run(struct options *options, enum options_result what, struct loop *loop,
    struct signals *signals)
{
	static struct password_place password, sentinel_password;
	struct route *route;
	struct problem problem;
	static char server[SERVERS_SIZE];
	struct lease_terms terms;
	int status = 0;

	bool has_names = what == OPTIONS_STATUS || what == OPTIONS_BREAK;
	const char *bad = has_names ? find_bad_name(options, &problem) : NULL;
	if (bad != NULL)
		return complaint_of_key(options, bad, &problem);
	if (what == OPTIONS_CHECK && !prepare_check(options, &terms, &status))
		return status;
	options_print_servers(options, server, sizeof server);
	if (loop_open(loop) != 0)
		return complaint_of_system("make a timer");
	if (password_open(&password, options, loop, signals) != 0)
		return complaint_of_system("keep the password");
	struct route_settings way = {
	    .url = &options->url,
	    .limit_ns = options->connect_timeout_ns,
	};
	if (password_open_sentinel(&sentinel_password, options, loop, signals,
		&way.sentinel_secret) != 0 ||
	    route_open(&route, loop, &way) != 0)
		return complaint_of_system("set up the connection");
	static struct view_node nodes[QUORUM_MOST];
	list_nodes(options, &password, nodes);
	const struct view_settings settings = {
	    .loop = loop,
	    .signals = signals,
	    .url = &options->url,
	    .route = route,
	    .secret = password.sources[0],
	    .server = server,
	    .nodes = nodes,
	    .node_count = options->url_count,
	    .quarantine_ns = options->quarantine_ns,
	    .prefix = options->prefix,
	    .connect_limit_ns = options->connect_timeout_ns,
	    .answer_limit_ns = REPORT_ANSWER_LIMIT,
	    .json = options->json,
	    .quiet = options->quiet,
	    .force = options->force,
	    .token = options->token,
	};
	if (options->url.scheme == URL_POSTGRES)
		return report_postgres(&settings, options, what, &terms);
	if (what == OPTIONS_STATUS)
		return view_status(&settings, options->names);
	if (what == OPTIONS_LIST)
		return view_list(&settings, options->glob);
	if (what == OPTIONS_CHECK)
		return view_check(&settings, &terms);
	return break_lock(&settings, options);
}
