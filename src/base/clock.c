/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "base/clock.h"

#include <time.h>

#include "base/compat/boottime.h"

struct instant
clock_now(void)
{
	struct timespec now;
	clock_gettime(COMPAT_CLOCK_BOOTTIME, &now);
	return (struct instant){(int64_t)now.tv_sec * NS_PER_S + now.tv_nsec};
}

struct instant
instant_plus(struct instant at, int64_t ns)
{
	struct instant sum;
	if (at.ns == INT64_MAX || __builtin_add_overflow(at.ns, ns, &sum.ns))
		return INSTANT_NEVER;
	return sum;
}

int64_t
instant_between(struct instant from, struct instant to)
{
	int64_t ns;
	if (__builtin_sub_overflow(to.ns, from.ns, &ns))
		return to.ns > from.ns ? INT64_MAX : INT64_MIN;
	return ns;
}

bool
instant_reached(struct instant at, struct instant now)
{
	return at.ns != INT64_MAX && now.ns >= at.ns;
}

struct instant
instant_earlier(struct instant one, struct instant other)
{
	return one.ns <= other.ns ? one : other;
}

int64_t
ms_from_ns(int64_t ns)
{
	return ns / NS_PER_MS;
}
