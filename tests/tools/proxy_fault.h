/* Copyright (c) 2026 the dlock authors */
/* SPDX-License-Identifier: MIT */

/* What can befall one connection through flaky_proxy, in the words of its orders. */
#ifndef TESTS_TOOLS_PROXY_FAULT_H
#define TESTS_TOOLS_PROXY_FAULT_H

enum fault {
	FAULT_NONE,
	FAULT_DROP,
	FAULT_HALF,
	FAULT_CUT,
	FAULT_END,
	FAULT_DELAY,
	FAULT_KEEP, /* from here on: requests are held back */
	FAULT_ORPHAN,
};

static const char *const fault_names[] = {"", "drop", "half", "cut", "end", "delay", "keep",
    "orphan"};

#endif
