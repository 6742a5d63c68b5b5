/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Several servers: a quorum. What goes with one, and what does not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/message.h"
#include "cli/options_parts.h"
#include "net/pq_link.h"

#define BLANKS " \t\r\n\v\f"
#define URL_MOST 4096

struct url *
options_url(struct options *options, int index)
{
	return index == 0 ? &options->url : &options->more_urls[index - 1];
}

/* Are there blanks between whole URLs, rather than in one? */
static bool
has_several(const char *text)
{
	int count = 0;
	for (text += strspn(text, BLANKS); *text != '\0'; text += strspn(text, BLANKS)) {
		size_t length = strcspn(text, BLANKS);
		const char *scheme = strstr(text, "://");
		if (scheme == NULL || (size_t)(scheme - text) >= length)
			return false;
		text += length;
		count++;
	}
	return count > 1;
}

static bool
add_one(struct options *options, const char *text, enum url_unknown_keys unknown,
    struct problem *problem)
{
	struct problem why;
	if (options->url_count == QUORUM_MOST) {
		problem_set(problem, "more than %d servers", QUORUM_MOST);
		return false;
	}
	struct url *url = options_url(options, options->url_count);
	if (!url_parse(url, text, unknown, &why)) {
		if (options->url_count == 0)
			*problem = why;
		else
			problem_set(problem, "server %d: %s", options->url_count + 1, why.text);
		return false;
	}
	options->url_count++;
	return true;
}

bool
options_add_servers(struct options *options, const char *text, enum url_unknown_keys unknown,
    struct problem *problem)
{
	char word[URL_MOST];
	bool good = true;
	options->has_server = true;
	if (!has_several(text))
		return add_one(options, text, unknown, problem);
	for (text += strspn(text, BLANKS); good && *text != '\0'; text += strspn(text, BLANKS)) {
		size_t length = strcspn(text, BLANKS);
		if (length >= sizeof word) {
			problem_set(problem, "a server URL of more than %d bytes", URL_MOST - 1);
			return false;
		}
		memcpy(word, text, length);
		word[length] = '\0';
		good = add_one(options, word, unknown, problem);
		explicit_bzero(word, length);
		text += length;
	}
	return good;
}

/* The database is left out: it is the server that may be down. */
static bool
is_same_place(const struct url *one, const struct url *other)
{
	if (one->scheme != other->scheme)
		return false;
	if (one->scheme == URL_UNIX)
		return strcmp(one->path, other->path) == 0;
	return one->port == other->port && strcasecmp(one->host, other->host) == 0;
}

/* They fail over by themselves, and forget locks by that: the quorum is there to survive without.
 */
static bool
check_members(struct options *options, struct problem *problem)
{
	char printed[1024];
	for (int i = 0; i < options->url_count; i++) {
		const struct url *url = options_url(options, i);
		if (url->scheme == URL_REDIS || url->scheme == URL_UNIX)
			continue;
		url_print(url, printed, sizeof printed);
		if (url->scheme == URL_POSTGRES) {
			problem_set(problem,
			    "%.200s is no member of a quorum: PostgreSQL keeps a lock by itself, "
			    "name it alone",
			    printed);
			return false;
		}
		problem_set(problem,
		    "%.200s is no member of a quorum: behind that name another server may take over "
		    "which has forgotten a lock; name independent servers (redis://, rediss://, "
		    "unix://)",
		    printed);
		return false;
	}
	return true;
}

static bool
check_distinct(struct options *options, struct problem *problem)
{
	char printed[1024];
	for (int i = 0; i < options->url_count; i++) {
		for (int k = 0; k < i; k++) {
			if (!is_same_place(options_url(options, i), options_url(options, k)))
				continue;
			url_print(options_url(options, i), printed, sizeof printed);
			problem_set(problem,
			    "%.200s is named twice: of several servers each has one vote", printed);
			return false;
		}
	}
	return true;
}

/* NULL, or the option that does not go with several servers; *why not. */
static const char *
find_unfit(const struct options *options, const char **why)
{
	if (options->mode == MODE_SHARED) {
		*why = "shared locks of several servers do not compose to one: a majority here and "
		       "another one there is all of them";
		return "shared";
	}
	if (options->mode == MODE_SLOTS) {
		*why =
		    "slots of several servers do not compose: N may hold it on each of them, and "
		    "more than N on a majority";
		return "slots";
	}
	if (options->fence_mode == FENCE_COUNTER) {
		*why = "counters of several servers differ, and their highest repeats; the clock's "
		       "numbers are made to increase there, too";
		return "fence";
	}
	if (options->max_waiters > 0) {
		*why = "who waits for several servers asks again and again, and stands in no line "
		       "that could be counted (0 means -n, as ever)";
		return "max-waiters";
	}
	if (options->wait_replicas != 0) {
		*why =
		    "replicas of independent servers have no vote, and a node that forgets is what "
		    "--quarantine is for";
		return "wait-replicas";
	}
	if (options->watch) {
		*why = "a change at one of several servers is no loss; a holder learns at its "
		       "renewals how many still have its lock";
		return "watch";
	}
	return NULL;
}

/* The same for PostgreSQL. */
static const char *
find_unfit_for_postgres(const struct options *options, const char **why)
{
	static const char *const of_tls[] = {"tls", "cacert", "cacertdir", "cert", "key", "sni",
	    "insecure"};
	if (options->at_least_ns > 0) {
		*why = "its locks end with the session that has them, and nobody stays behind to "
		       "keep one (let the command itself sleep)";
		return "at-least";
	}
	/* Beyond it the server would end a silent session sooner than its holder lets go. */
	if (options->ttl_ns > INT32_MAX * NS_PER_MS) {
		*why = "at most 24d: after 24 days and some hours it ends any silent session";
		return "ttl";
	}
	if (options->fence_mode == FENCE_COUNTER) {
		*why = "its fencing numbers are those of its transactions, and counters would need "
		       "a table";
		return "fence";
	}
	if (options_source(options, "wait-replicas") >= options_source(options, "server") &&
	    options->wait_replicas != 0) {
		*why = "which standbys a commit waits for is set there "
		       "(synchronous_standby_names), and a promotion keeps no lock";
		return "wait-replicas";
	}
	if (options->mode == MODE_SLOTS && options->url.has_lock_number) {
		*why = "dlock_key in the server URL is the number of one lock, and slots are N of "
		       "them";
		return "slots";
	}
	for (size_t i = 0; i < sizeof of_tls / sizeof *of_tls; i++) {
		enum option_source source = options_source(options, of_tls[i]);
		if (source == SOURCE_DEFAULT || source < options_source(options, "server"))
			continue;
		*why =
		    "libpq has its own names for that: sslmode=verify-full, sslrootcert, sslcert "
		    "and sslkey in the server URL";
		return of_tls[i];
	}
	return NULL;
}

/* As options_settle_servers. */
static bool
settle_postgres(struct options *options, enum option_source *blamed, struct problem *problem)
{
	const char *why = "";
	const char *unfit = options->action == ACTION_RUN || options->action == ACTION_CHECK
	    ? find_unfit_for_postgres(options, &why)
	    : NULL;
	if (unfit != NULL) {
		*blamed = options_blamed(options, unfit, "server");
		problem_set(problem, "--%s does not go with PostgreSQL: %s", unfit, why);
		return false;
	}
	return pq_link_check(&options->url, problem);
}

/* A fence that Redis can exceed. */
static bool
check_min_fence(const struct options *options, enum option_source *blamed, struct problem *problem)
{
	if (options->min_fence < FENCE_BELOW || options->url.scheme == URL_POSTGRES)
		return true;
	*blamed = options_source(options, "min-fence");
	problem_set(problem, "--min-fence: %lld is too high: at most %lld, but with PostgreSQL",
	    (long long)options->min_fence, (long long)FENCE_BELOW - 1);
	return false;
}

bool
options_settle_servers(struct options *options, enum option_source *blamed, struct problem *problem)
{
	const char *why = "", *unfit;
	char name[64];
	*blamed = options_source(options, "server");
	if (!options->has_quarantine)
		options->quarantine_ns = options->ttl_ns;
	if (!check_min_fence(options, blamed, problem))
		return false;
	if (options->url_count < 2) {
		if (options_source(options, "quarantine") != SOURCE_LINE)
			return options->url.scheme != URL_POSTGRES ||
			    settle_postgres(options, blamed, problem);
		*blamed = SOURCE_LINE;
		problem_set(problem, "--quarantine goes with several servers (-S more than once)");
		return false;
	}
	if (!check_members(options, problem) || !check_distinct(options, problem))
		return false;
	unfit = options->action == ACTION_RUN ? find_unfit(options, &why) : NULL;
	if (unfit == NULL)
		return true;
	*blamed = options_blamed(options, unfit, "server");
	snprintf(name, sizeof name, "--%s", unfit);
	problem_set(problem, "%s does not go with several servers: %s", name, why);
	return false;
}

void
options_warn_of_servers(const struct options *options)
{
	int count = options->url_count;
	if (count < 2 || count % 2 != 0)
		return;
	message_notice(
	    "%d servers: a majority are %d, so that no more of them may fail than of %d: use "
	    "an odd number",
	    count, count / 2 + 1, count - 1);
}

/* "a, b and c" is not what a URL looks like: a blank between two. */
void
options_print_servers(struct options *options, char *out, size_t size)
{
	size_t used = 0;
	out[0] = '\0';
	for (int i = 0; i < options->url_count && used + 2 < size; i++) {
		if (i > 0)
			out[used++] = ' ';
		url_print(options_url(options, i), out + used, size - used);
		used += strlen(out + used);
	}
}
