/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "base/message.h"
#include "exits.h"
#include "view/check_ask.h"
#include "view/check_print.h"
#include "view/view.h"
#include "view/visit.h"

/* A failure that is this machine's, or of what the user has set, says nothing of a server. */
static int
status_of(const struct check_facts *facts, const struct check_judgement *judgement)
{
	if (facts->failure == OUTCOME_DENIED)
		return EXIT_DENIED;
	if (facts->failure != OUTCOME_OK && facts->problem.is_setting)
		return EXIT_CONFIG;
	if (facts->failure != OUTCOME_OK && facts->problem.is_system)
		return EXIT_SYSTEM;
	return judgement->verdict == VERDICT_UNFIT ? EXIT_UNREACHABLE : 0;
}

int
view_check(const struct view_settings *settings, const struct lease_terms *terms)
{
	static struct check_facts facts;
	static struct check_judgement judgement;
	struct text text = {.bytes = NULL};
	check_facts_init(&facts, settings->server, settings->prefix, settings->url->db, terms);
	check_ask(&facts, settings);
	check_judge(&facts, &judgement);
	int status = status_of(&facts, &judgement);
	if (facts.failure != OUTCOME_OK)
		message_error("cannot check %s: %s", settings->server, facts.problem.text);
	if (status != EXIT_CONFIG && status != EXIT_SYSTEM) {
		if (settings->json) {
			check_print_json(&text, &facts, &judgement);
		} else {
			if (!settings->quiet)
				check_print_facts(&text, &facts);
			check_print_verdict(&text, &facts, &judgement);
		}
		int failure = visit_print(settings, &text);
		status = failure != 0 ? failure : status;
	}
	text_free(&text);
	return status;
}
