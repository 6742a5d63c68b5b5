/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include <stdlib.h>
#include <string.h>

#include "base/keys.h"
#include "base/values.h"
#include "cli/options.h"
#include "lock/lease.h"

#define FENCE_BELOW (INT64_C(1) << 53)
#define LABEL_MAX 255

static bool
set_nonblock(struct options *options, const char *value, struct problem *problem)
{
	(void)value;
	(void)problem;
	options->wait_ns = 0;
	return true;
}

static bool
set_wait(struct options *options, const char *value, struct problem *problem)
{
	return value_parse_duration(value, &options->wait_ns, problem);
}

static bool
set_conflict_status(struct options *options, const char *value, struct problem *problem)
{
	int64_t status;
	if (!value_parse_count(value, 0, 255, &status, problem))
		return false;
	options->conflict_status = (int)status;
	return true;
}

/* Accepted for what scripts written for flock(1) say: it is so anyway. */
static bool
set_nothing(struct options *options, const char *value, struct problem *problem)
{
	(void)options;
	(void)value;
	(void)problem;
	return true;
}

static bool
set_ttl(struct options *options, const char *value, struct problem *problem)
{
	if (!value_parse_duration(value, &options->ttl_ns, problem))
		return false;
	if (options->ttl_ns < LEASE_TTL_LEAST) {
		problem_set(problem,
		    "not a TTL from 1s to 30d: '%.64s' is too short to be renewed in time", value);
		return false;
	}
	if (options->ttl_ns > LEASE_TTL_MOST) {
		problem_set(problem,
		    "not a TTL from 1s to 30d: '%.64s' is longer (for so long a dead holder would "
		    "block the others)",
		    value);
		return false;
	}
	return true;
}

static bool
set_grace(struct options *options, const char *value, struct problem *problem)
{
	options->has_grace = true;
	return value_parse_duration(value, &options->grace_ns, problem);
}

static bool
set_signal(struct options *options, const char *value, struct problem *problem)
{
	return value_parse_signal(value, &options->first_signal, problem);
}

static bool
set_on_lost(struct options *options, const char *value, struct problem *problem)
{
	if (strcmp(value, "kill") != 0 && strcmp(value, "signal") != 0) {
		problem_set(problem, "neither 'kill' nor 'signal': '%.64s'", value);
		return false;
	}
	options->on_lost = value[0] == 'k' ? ON_LOST_KILL : ON_LOST_SIGNAL;
	return true;
}

static bool
set_at_least(struct options *options, const char *value, struct problem *problem)
{
	if (!value_parse_duration(value, &options->at_least_ns, problem))
		return false;
	if (options->at_least_ns > LEASE_TTL_MOST) {
		problem_set(problem, "longer than 30d: '%.64s'", value);
		return false;
	}
	return true;
}

/* Which of three words; -1: none of them. */
static int
choose(const char *value, const char *const words[3], struct problem *problem)
{
	for (int i = 0; i < 3; i++) {
		if (strcmp(value, words[i]) == 0)
			return i;
	}
	problem_set(problem, "none of '%s', '%s' and '%s': '%s'", words[0], words[1], words[2],
	    value);
	return -1;
}

static bool
set_max_hold(struct options *options, const char *value, struct problem *problem)
{
	return value_parse_duration(value, &options->max_hold_ns, problem);
}

static bool
set_descendants(struct options *options, const char *value, struct problem *problem)
{
	static const char *const words[] = {
	    [DESCENDANTS_LEAVE] = "leave",
	    [DESCENDANTS_WAIT] = "wait",
	    [DESCENDANTS_KILL] = "kill",
	};
	int which = choose(value, words, problem);
	options->descendants = which < 0 ? DESCENDANTS_LEAVE : (enum descendants)which;
	return which >= 0;
}

static bool
set_if_unreachable(struct options *options, const char *value, struct problem *problem)
{
	static const char *const words[] = {
	    [IF_UNREACHABLE_FAIL] = "fail",
	    [IF_UNREACHABLE_SKIP] = "skip",
	    [IF_UNREACHABLE_RUN] = "run",
	};
	int which = choose(value, words, problem);
	options->if_unreachable = which < 0 ? IF_UNREACHABLE_FAIL : (enum if_unreachable)which;
	return which >= 0;
}

static bool
set_prefix(struct options *options, const char *value, struct problem *problem)
{
	if (strlen(value) > PREFIX_MAX_BYTES) {
		problem_set(problem, "a prefix has at most %d bytes, not %zu", PREFIX_MAX_BYTES,
		    strlen(value));
		return false;
	}
	options->prefix = value; /* keys_make sees to braces */
	return true;
}

static bool
set_fence(struct options *options, const char *value, struct problem *problem)
{
	if (strcmp(value, "clock") != 0 && strcmp(value, "counter") != 0) {
		problem_set(problem, "neither 'clock' nor 'counter': '%.64s'", value);
		return false;
	}
	options->fence_mode = strcmp(value, "clock") == 0 ? FENCE_CLOCK : FENCE_COUNTER;
	return true;
}

static bool
set_min_fence(struct options *options, const char *value, struct problem *problem)
{
	return value_parse_count(value, 0, FENCE_BELOW - 1, &options->min_fence, problem);
}

static bool
set_label(struct options *options, const char *value, struct problem *problem)
{
	if (strlen(value) > LABEL_MAX) {
		problem_set(problem, "a label has at most %d bytes, not %zu", LABEL_MAX,
		    strlen(value));
		return false;
	}
	options->label = value;
	return true;
}

static bool
set_password_file(struct options *options, const char *value, struct problem *problem)
{
	if (value[0] == '\0') {
		problem_set(problem, "no file named");
		return false;
	}
	/* It would be there for one login, and cost the lock at the next. */
	if (strncmp(value, "/dev/fd/", 8) == 0 || strncmp(value, "/proc/self/fd/", 14) == 0 ||
	    strcmp(value, "/dev/stdin") == 0) {
		problem_set(problem,
		    "'%.40s' cannot be read again at the next login: write --password-command "
		    "'...' instead of <(...)",
		    value);
		return false;
	}
	options->password_file = value;
	return true;
}

static bool
set_password_command(struct options *options, const char *value, struct problem *problem)
{
	if (value[strspn(value, " \t\n")] == '\0') {
		problem_set(problem, "no command named");
		return false;
	}
	options->password_command = value;
	return true;
}

static bool
set_report(struct options *options, const char *value, struct problem *problem)
{
	if (value[0] == '\0') {
		problem_set(problem, "an empty file name");
		return false;
	}
	options->report = value;
	return true;
}

static bool
set_connect_timeout(struct options *options, const char *value, struct problem *problem)
{
	options->has_connect_timeout = true;
	return value_parse_timeout(value, &options->connect_timeout_ns, problem);
}

static bool
set_server(struct options *options, const char *value, struct problem *problem)
{
	if (options->has_server) {
		problem_set(problem, URL_SEVERAL_SERVERS);
		return false;
	}
	options->has_server = true;
	return url_parse(&options->url, value, URL_REFUSE_UNKNOWN_KEYS, problem);
}

static bool
set_config(struct options *options, const char *value, struct problem *problem)
{
	if (value[0] == '\0') {
		problem_set(problem, "no file named (for no config file at all: /dev/null)");
		return false;
	}
	options->config = value;
	return true;
}

static bool
set_verbose(struct options *options, const char *value, struct problem *problem)
{
	(void)value;
	(void)problem;
	options->verbosity++;
	return true;
}

static bool
set_quiet(struct options *options, const char *value, struct problem *problem)
{
	(void)value;
	(void)problem;
	options->quiet = true;
	return true;
}

static bool
set_reentrant(struct options *options, const char *value, struct problem *problem)
{
	(void)value;
	(void)problem;
	options->reentrant = true;
	return true;
}

static bool
set_held(struct options *options, const char *value, struct problem *problem)
{
	(void)value;
	(void)problem;
	options->wants_held = true;
	return true;
}

static bool
set_help(struct options *options, const char *value, struct problem *problem)
{
	(void)value;
	(void)problem;
	options->wants_help = true;
	return true;
}

static bool
set_version(struct options *options, const char *value, struct problem *problem)
{
	(void)value;
	(void)problem;
	options->wants_version = true;
	return true;
}

static const struct option_row table[] = {
    {'n', {"nonblock", "nb"}, NULL, {0}, "do not wait for the lock", set_nonblock,
	OPTION_SETS_WAIT},
    {'w', {"wait", "timeout"}, "DUR", {0}, "wait at most DUR (default: for ever); 0 means -n",
	set_wait, OPTION_SETS_WAIT},
    {'E', {"conflict-exit-code"}, "N", {0}, "exit status when the lock was not had in time (75)",
	set_conflict_status, 0},
    {'x', {"exclusive"}, NULL, {0}, "exclusive lock (it is; accepted for flock scripts)",
	set_nothing, OPTION_SETS_MODE},
    {'e', {0}, NULL, {0}, "the same as -x", set_nothing, OPTION_SETS_MODE},
    {'t', {"ttl"}, "DUR", {"DLOCK_TTL"}, "lease: how long a dead holder blocks the others (30s)",
	set_ttl, 0},
    {'k', {"kill-after"}, "DUR", {0},
	"grace between the first signal and KILL (5s or TTL/4); 0: KILL at once", set_grace, 0},
    {0, {"signal"}, "SIG", {0}, "the first signal (TERM)", set_signal, 0},
    {0, {"on-lost"}, "kill|signal", {0},
	"kill: signal, then KILL (default); signal: signal once, and let it end", set_on_lost, 0},
    {0, {"max-hold"}, "DUR", {0}, "end COMMAND after DUR, with status 124", set_max_hold, 0},
    {0, {"descendants"}, "leave|wait|kill", {0},
	"what becomes of those that outlive COMMAND (leave)", set_descendants, 0},
    {0, {"at-least"}, "DUR", {0}, "keep the lock for DUR, even if COMMAND ends sooner",
	set_at_least, 0},
    {0, {"if-unreachable"}, "fail|skip|run", {0},
	"no server answers: fail with 69 (default), exit 0, or run without a lock",
	set_if_unreachable, 0},
    {'S', {"server"}, "URL", {"DLOCK_SERVER"},
	"redis://[user[:password]@]host[:port][/db] or unix:///path[?db=N]", set_server, 0},
    {0, {"password-file"}, "FILE", {0}, "the first line is the password, read at each login",
	set_password_file, OPTION_SETS_PASSWORD},
    {0, {"password-command"}, "CMD", {0}, "sh -c CMD prints the password, asked at each login",
	set_password_command, OPTION_SETS_PASSWORD},
    {0, {"prefix"}, "STR", {"DLOCK_PREFIX"}, "put before NAME to make the key (lock:)", set_prefix,
	OPTION_NAMES_LOCK},
    {0, {"fence"}, "clock|counter", {0}, "how fencing numbers are made (clock)", set_fence, 0},
    {0, {"min-fence"}, "N", {0}, "the fencing number shall exceed N", set_min_fence, 0},
    {0, {"connect-timeout"}, "DUR", {0}, "look-up, connect and login together (5s or TTL/3)",
	set_connect_timeout, 0},
    {0, {"label"}, "TEXT", {"DLOCK_LABEL"}, "shown to others as part of who holds the lock",
	set_label, 0},
    {0, {"report"}, "FILE", {0}, "append a line of JSON that tells how it went", set_report, 0},
    {0, {"config"}, "FILE", {"DLOCK_CONFIG"},
	"where more options stand (" DLOCK_SYSCONFDIR "/dlock.conf)", set_config,
	OPTION_FOR_NOW | OPTION_NAMES_LOCK},
    {0, {"reentrant"}, NULL, {0}, "run COMMAND under the lock if a dlock above holds it already",
	set_reentrant, 0},
    {0, {"held"}, NULL, {0}, "from inside COMMAND: is NAME's lock, or the innermost, still held?",
	set_held, OPTION_FOR_NOW},
    {'v', {"verbose"}, NULL, {0}, "say what happens; twice: protocol detail", set_verbose, 0},
    {'q', {"quiet"}, NULL, {0}, "say nothing of conflicts, waits and left-over processes",
	set_quiet, 0},
    {'o', {"close"}, NULL, {0}, "accepted for flock scripts: nothing is handed on", set_nothing, 0},
    {'h', {"help"}, NULL, {0}, "show this, and exit", set_help, OPTION_FOR_NOW},
    {'V', {"version"}, NULL, {0}, "show the version, and exit", set_version, OPTION_FOR_NOW},
};

_Static_assert(sizeof table / sizeof *table <= OPTIONS_MAX, "more options than have a source");

const struct option_row *
options_table(size_t *count)
{
	*count = sizeof table / sizeof *table;
	return table;
}
