/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "base/problem.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void
problem_set(struct problem *problem, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(problem->text, sizeof problem->text, format, arguments);
	va_end(arguments);
	problem->is_system = false;
	problem->is_setting = false;
	problem->is_denied = false;
	problem->is_passing = false;
}

void
problem_set_errno(struct problem *problem, const char *what, int error)
{
	if (what == NULL)
		problem_set(problem, "%s", strerror(error));
	else
		problem_set(problem, "%s: %s", what, strerror(error));
	problem->is_system =
	    error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS;
}
