/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* From facts to a verdict. Pure. */
#ifndef DLOCK_VIEW_CHECK_JUDGE_H
#define DLOCK_VIEW_CHECK_JUDGE_H

#include <stdbool.h>
#include <stddef.h>

#include "view/check_facts.h"

enum check_verdict {
	VERDICT_GOOD,
	VERDICT_WORKS_BUT,
	VERDICT_UNFIT,
};

struct check_reason {
	const char *code; /* for programs: one word, which does not change */
	char text[400];   /* for people */
	bool is_fatal;    /* it makes the server unfit */
};

#define MOST_REASONS 40

struct check_judgement {
	enum check_verdict verdict;
	size_t count;
	struct check_reason reasons[MOST_REASONS]; /* the fatal ones first */
};

/* The facts' round trips are sorted. */
void
check_judge(const struct check_facts *facts, struct check_judgement *judgement);

/* Is that version at least the one that dlock needs of that product? What is no version, and a
 * product that is not known, pass: the trials have the last word. */
bool
check_judge_version(const char *product, const char *version);

/* One of several servers: has it, for all that is told, not been up for the quarantine? */
bool
check_is_young(const struct check_facts *facts);

/* dlock's exit status. */
int
check_status(const struct check_facts *facts, const struct check_judgement *judgement);

/* "good", "works but", "unfit". */
const char *
check_verdict_name(enum check_verdict verdict);

#endif
