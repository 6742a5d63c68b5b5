/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "check_bench.h"

#include <string.h>

#include "tap.h"

void
check_bench_begin(struct check_bench *bench)
{
	struct lease_terms terms;
	struct problem problem;
	CHECK(lease_terms_make(&terms, 30 * NS_PER_S, 5 * NS_PER_S, &problem));
	check_facts_init(&bench->facts, "redis://db1", "lock:", 0, &terms);
	bench->facts.is_reached = true;
	bench->facts.told[SOURCE_INFO] = bench->facts.told[SOURCE_CONFIG] = true;
	for (int i = 0; i < FEATURES; i++)
		check_facts_take_trial(&bench->facts, (enum check_feature)i, true, "");
}

void
check_bench_info(struct check_bench *bench, const char *text)
{
	check_facts_take_info(&bench->facts, text, strlen(text));
}

void
check_bench_judged(struct check_bench *bench, enum check_verdict verdict, const char *code)
{
	check_judge(&bench->facts, &bench->judgement);
	CHECK_INT(bench->judgement.verdict, verdict);
	bool found = code == NULL && bench->judgement.count == 0;
	for (size_t i = 0; i < bench->judgement.count; i++) {
		found =
		    found || (code != NULL && strcmp(bench->judgement.reasons[i].code, code) == 0);
		CHECK(bench->judgement.reasons[i].text[0] != '\0');
		if (i > 0)
			CHECK(bench->judgement.reasons[i - 1].is_fatal ||
			    !bench->judgement.reasons[i].is_fatal);
	}
	CHECK(found);
}
