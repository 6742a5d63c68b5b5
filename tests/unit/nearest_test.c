/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* base/nearest: which name was meant. */
#include "base/nearest.h"

#include <stdio.h>
#include <string.h>

#include "tap.h"

static const struct {
	const char *one, *other;
	int steps;
} distances[] = {
    {"", "", 0},
    {"ttl", "ttl", 0},
    {"TTL", "ttl", 0},
    {"", "abc", 3},
    {"abc", "", 3},
    {"a", "b", 1},
    {"ab", "ba", 1}, /* neighbours that changed places */
    {"abcd", "acbd", 1},
    {"badc", "abcd", 2},
    {"ca", "abc", 3}, /* no letter is moved twice */
    {"wiat", "wait", 1},
    {"wait", "wai", 1},
    {"wait", "waiit", 1},
    {"wait", "want", 1},
    {"kitten", "sitting", 3},
    {"on_lost", "on-lost", 1},
    {"\xc3\xa9", "e", 2},
    {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "", 40},
    {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "", -1},
    {"", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", -1},
};

static const struct {
	const char *word, *name; /* NULL: none */
} rows[] = {
    {"nonblok", "nonblock"},
    {"no-block", "nonblock"},
    {"NONBLOCK", "nonblock"},
    {"kill-afer", "kill-after"},
    {"killafter", "kill-after"},
    {"kill_after", "kill-after"},
    {"tll", "ttl"},
    {"tl", "ttl"},
    {"serevr", "server"},
    {"servers", "server"},
    {"wiat", "wait"},
    {"want", "wait"},
    {"x", NULL},
    {"", NULL},
    {"xyz", NULL},
    {"frobnicate", NULL},
    {"wxyz", NULL},
    {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", NULL},
};

int
main(void)
{
	static const char *const names[] = {"nonblock", "wait", "ttl", "kill-after", "server",
	    "watch"};
	for (size_t i = 0; i < COUNT_OF(distances); i++) {
		tap_case("from '%s' to '%s'", distances[i].one, distances[i].other);
		CHECK_INT(nearest_steps(distances[i].one, distances[i].other), distances[i].steps);
		CHECK_INT(nearest_steps(distances[i].other, distances[i].one), distances[i].steps);
	}
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct nearest nearest = {.word = rows[i].word};
		tap_case("the nearest to '%s'", rows[i].word);
		for (size_t k = 0; k < COUNT_OF(names); k++)
			nearest_offer(&nearest, names[k]);
		if (rows[i].name != NULL)
			CHECK_TEXT(nearest.name, rows[i].name);
		else
			CHECK(nearest.name == NULL);
	}
	tap_case("of two that are equally near the first one stays");
	struct nearest nearest = {.word = "watt"};
	nearest_offer(&nearest, "wait");
	nearest_offer(&nearest, "watt?");
	CHECK_TEXT(nearest.name, "wait");
	return tap_end();
}
