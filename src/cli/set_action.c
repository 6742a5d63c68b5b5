/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* The options that ask for something else than a run, and those that say how much is said. */
#include "cli/options_parts.h"
#include "cli/setters.h"

/* One thing is asked at a time; the same one twice is no harm. */
static bool
take_action(struct options *options, enum option_action action, struct problem *problem)
{
	if (options->action != ACTION_RUN && options->action != action) {
		problem_set(problem, "it does not go with %s: one of them at a time, %s or %s",
		    actions_name(options->action), actions_form(options->action),
		    actions_form(action));
		return false;
	}
	options->action = action;
	return true;
}

bool
set_held(struct options *options, const char *value, struct problem *problem)
{
	(void)value;
	return take_action(options, ACTION_HELD, problem);
}

bool
set_status(struct options *options, const char *value, struct problem *problem)
{
	(void)value;
	return take_action(options, ACTION_STATUS, problem);
}

bool
set_list(struct options *options, const char *value, struct problem *problem)
{
	(void)value;
	return take_action(options, ACTION_LIST, problem);
}

bool
set_break(struct options *options, const char *value, struct problem *problem)
{
	(void)value;
	return take_action(options, ACTION_BREAK, problem);
}

bool
set_check(struct options *options, const char *value, struct problem *problem)
{
	(void)value;
	return take_action(options, ACTION_CHECK, problem);
}

bool
set_json(struct options *options, const char *value, struct problem *problem)
{
	(void)value;
	(void)problem;
	options->json = true;
	return true;
}

bool
set_force(struct options *options, const char *value, struct problem *problem)
{
	(void)value;
	(void)problem;
	options->force = true;
	return true;
}

bool
set_token(struct options *options, const char *value, struct problem *problem)
{
	if (value[0] == '\0') {
		problem_set(problem, "an empty token");
		return false;
	}
	options->token = value;
	return true;
}

bool
set_verbose(struct options *options, const char *value, struct problem *problem)
{
	(void)value;
	(void)problem;
	options->verbosity++;
	return true;
}

bool
set_quiet(struct options *options, const char *value, struct problem *problem)
{
	(void)value;
	(void)problem;
	options->quiet = true;
	return true;
}

bool
set_help(struct options *options, const char *value, struct problem *problem)
{
	(void)value;
	(void)problem;
	options->wants_help = true;
	return true;
}

bool
set_version(struct options *options, const char *value, struct problem *problem)
{
	(void)value;
	(void)problem;
	options->wants_version = true;
	return true;
}
