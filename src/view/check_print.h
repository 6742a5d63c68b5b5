/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* How --check shows what it has found: dlock(1), Checking a server. Pure but for memory. */
#ifndef DLOCK_VIEW_CHECK_PRINT_H
#define DLOCK_VIEW_CHECK_PRINT_H

#include "view/check_judge.h"
#include "view/text.h"

/* A fact a line. */
void
check_print_facts(struct text *text, const struct check_facts *facts);

/* The times among them, and which features work: these of any engine. */
void
check_print_times(struct text *text, const struct check_facts *facts);

/* The last line. */
void
check_print_verdict(struct text *text, const struct check_facts *facts,
    const struct check_judgement *judgement);

/* All of it, as an array of one object. */
void
check_print_json(struct text *text, const struct check_facts *facts,
    const struct check_judgement *judgement);

#endif
