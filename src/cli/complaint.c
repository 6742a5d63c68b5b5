/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "cli/complaint.h"

#include <errno.h>
#include <string.h>

#include "base/keys.h"
#include "base/message.h"
#include "exits.h"

int
complaint_of_system(const char *what)
{
	message_error("cannot %s: %s", what, strerror(errno));
	return EXIT_SYSTEM;
}

int
complaint_of_setting(const struct problem *problem, bool is_configured)
{
	message_error("%s", problem->text);
	if (problem->is_system)
		return EXIT_SYSTEM;
	return is_configured ? EXIT_CONFIG : EXIT_USAGE;
}

int
complaint_of_options(const struct options *options, const struct problem *problem, const char *one,
    const char *other)
{
	struct problem copy = *problem;
	bool is_configured = options_blame(options, options_blamed(options, one, other), &copy);
	return complaint_of_setting(&copy, is_configured);
}

int
complaint_of_key(const struct options *options, const char *name, const struct problem *problem)
{
	struct keys keys;
	struct problem ignored;
	bool name_is_good = keys_make(&keys, "", name, &ignored);
	return name_is_good ? complaint_of_options(options, problem, "prefix", "prefix")
			    : complaint_of_setting(problem, false);
}
