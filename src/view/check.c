/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include <stdio.h>
#include <string.h>

#include "base/message.h"
#include "exits.h"
#include "view/check_ask.h"
#include "view/check_print.h"
#include "view/panel.h"
#include "view/view.h"
#include "view/visit.h"

/* A failure that is this machine's, or of what the user has set, says nothing of a server. */
int
check_status(const struct check_facts *facts, const struct check_judgement *judgement)
{
	if (facts->failure == OUTCOME_DENIED)
		return EXIT_DENIED;
	if (facts->failure != OUTCOME_OK && facts->problem.is_setting)
		return EXIT_CONFIG;
	if (facts->failure != OUTCOME_OK && facts->problem.is_system)
		return EXIT_SYSTEM;
	return judgement->verdict == VERDICT_UNFIT ? EXIT_UNREACHABLE : 0;
}

/* Says why it could not be checked, if so, and prints the rest. */
static void
add(struct text *text, const struct view_settings *settings, const struct check_facts *facts,
    const struct check_judgement *judgement)
{
	if (settings->json) {
		check_print_json(text, facts, judgement);
		return;
	}
	if (!settings->quiet)
		check_print_facts(text, facts);
	check_print_verdict(text, facts, judgement);
}

int
view_check(const struct view_settings *settings, const struct lease_terms *terms)
{
	static struct check_facts facts;
	static struct check_judgement judgement;
	struct text text = {.bytes = NULL};
	if (settings->node_count > 1)
		return panel_check(settings, terms);
	check_facts_init(&facts, settings->server, settings->prefix, settings->url->db, terms);
	check_ask(&facts, settings);
	check_judge(&facts, &judgement);
	int status = check_status(&facts, &judgement);
	if (facts.failure != OUTCOME_OK)
		message_error("cannot check %s: %s", settings->server, facts.problem.text);
	if (status != EXIT_CONFIG && status != EXIT_SYSTEM) {
		if (settings->json)
			text_add(&text, "[", 1);
		add(&text, settings, &facts, &judgement);
		if (settings->json)
			text_add(&text, "]\n", 2);
		int failure = visit_print(settings, &text);
		status = failure != 0 ? failure : status;
	}
	text_free(&text);
	return status;
}

/* -- several servers --------------------------------------------------------------------------- */

/* What only shows when all of them have been asked. */
static void
compare(struct check_facts *facts, int index, const struct check_facts *others)
{
	for (int i = 0; i < index; i++) {
		const struct check_facts *other = &others[i];
		bool same = facts->run_id[0] != '\0' && strcmp(facts->run_id, other->run_id) == 0;
		bool copy = facts->replid[0] != '\0' && strcmp(facts->replid, other->replid) == 0;
		if (!same && !copy)
			continue;
		facts->same_as = other->server;
		facts->is_copy = !same;
		return;
	}
}

static void
add_verdict(struct text *text, int fit, int voting, int count)
{
	char line[160], but[80] = "";
	int majority = count / 2 + 1;
	const char *verdict = voting < majority ? "unfit" : voting < count ? "works but" : "good";
	if (voting < fit)
		snprintf(but, sizeof but, "%s%d of them vote by now (--quarantine), ",
		    voting < majority ? "but " : "", voting);
	snprintf(line, sizeof line, "quorum: %s: %d of %d servers are fit, %sa majority are %d",
	    verdict, fit, count, but, majority);
	text_add_line(text, line);
}

int
panel_check(const struct view_settings *settings, const struct lease_terms *terms)
{
	static struct check_facts facts[VIEW_MAX_NODES];
	static struct check_judgement judgement;
	struct text text = {.bytes = NULL};
	int count = settings->node_count, fit = 0, voting = 0, worst = EXIT_UNREACHABLE;
	bool is_twice = false;
	if (settings->json)
		text_add(&text, "[", 1);
	for (int i = 0; i < count; i++) {
		struct view_settings one = *settings;
		one.url = settings->nodes[i].url;
		one.secret = settings->nodes[i].secret;
		one.server = settings->nodes[i].server;
		check_facts_init(&facts[i], one.server, one.prefix, one.url->db, terms);
		facts[i].quarantine_s = (settings->quarantine_ns + NS_PER_S - 1) / NS_PER_S;
		check_ask(&facts[i], &one);
		compare(&facts[i], i, facts);
		check_judge(&facts[i], &judgement);
		int status = check_status(&facts[i], &judgement);
		if (facts[i].failure != OUTCOME_OK)
			message_error("cannot check %s: %s", one.server, facts[i].problem.text);
		fit += status == 0;
		voting += status == 0 && !check_is_young(&facts[i]);
		is_twice = is_twice || facts[i].same_as != NULL;
		if (status != 0 && worst == EXIT_UNREACHABLE)
			worst = status;
		if (settings->json && i > 0)
			text_add(&text, ",\n", 2);
		add(&text, &one, &facts[i], &judgement);
	}
	if (settings->json)
		text_add(&text, "]\n", 2);
	else
		add_verdict(&text, is_twice ? 0 : fit, is_twice ? 0 : voting, count);
	int failure = visit_print(settings, &text);
	text_free(&text);
	if (failure != 0)
		return failure;
	return voting >= count / 2 + 1 && !is_twice ? 0 : worst;
}
