/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "base/problem.h"

#include <stdarg.h>
#include <stdio.h>

void
problem_set(struct problem *problem, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(problem->text, sizeof problem->text, format, arguments);
	va_end(arguments);
}
