/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What the tests of --check's verdict and print share: facts of a server, and what is judged of
 * them. */
#ifndef DLOCK_TESTS_CHECK_BENCH_H
#define DLOCK_TESTS_CHECK_BENCH_H

#include "view/check_facts.h"
#include "view/check_judge.h"

struct check_bench {
	struct check_facts facts;
	struct check_judgement judgement;
};

/* The facts of a server with which nothing is wrong. */
void
check_bench_begin(struct check_bench *bench);

/* It says this in INFO. */
void
check_bench_info(struct check_bench *bench, const char *text);

/* Has the judgement this verdict, and a reason of that code? NULL: it is good. */
void
check_bench_judged(struct check_bench *bench, enum check_verdict verdict, const char *code);

#endif
