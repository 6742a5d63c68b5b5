/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* The options of TLS, and what comes of them and of the server's URL together. */
#include <arpa/inet.h>
#include <string.h>

#include "cli/options_parts.h"
#include "cli/setters.h"

static bool
take_text(struct options *options, const char *name, const char *value, struct problem *problem)
{
	const struct tls_text *text = tls_text_find(name, strlen(name));
	if (!tls_text_check(text, value, problem))
		return false;
	if (value[0] == '\0') {
		problem_set(problem, "no %s named", text->what);
		return false;
	}
	if (strlen(value) >= text->size) {
		problem_set(problem, "a %s has at most %zu bytes here", text->what, text->size - 1);
		return false;
	}
	memcpy(tls_text_in(&options->tls, text), value, strlen(value) + 1);
	return true;
}

bool
set_tls(struct options *options, const char *value, struct problem *problem)
{
	(void)value, (void)problem;
	options->tls.on = true;
	return true;
}

bool
set_insecure(struct options *options, const char *value, struct problem *problem)
{
	(void)value, (void)problem;
	options->tls.insecure = true;
	return true;
}

bool
set_cacert(struct options *options, const char *value, struct problem *problem)
{
	return take_text(options, "cacert", value, problem);
}

bool
set_cacertdir(struct options *options, const char *value, struct problem *problem)
{
	return take_text(options, "cacertdir", value, problem);
}

bool
set_cert(struct options *options, const char *value, struct problem *problem)
{
	return take_text(options, "cert", value, problem);
}

bool
set_key(struct options *options, const char *value, struct problem *problem)
{
	return take_text(options, "key", value, problem);
}

bool
set_sni(struct options *options, const char *value, struct problem *problem)
{
	return take_text(options, "sni", value, problem);
}

/* -- together --------------------------------------------------------------------------------- */

/* Does whoever named the server, or somebody stronger, say this of TLS? A config file may have
 * settings of TLS for the servers that need them. */
static bool
knows_server(const struct options *options, const char *name, bool is_in_url)
{
	return is_in_url || options_source(options, name) >= options_source(options, "server");
}

/* A setting of TLS that would count for nothing: whoever gave it believes in TLS. */
static bool
check_clear(const struct options *options, const struct url *url, enum option_source *blamed,
    struct problem *problem)
{
	const char *name = NULL;
	for (size_t i = 0; i < TLS_TEXTS && name == NULL; i++) {
		const struct tls_text *text = &tls_texts[i];
		bool is_in_url = tls_text_given(&url->tls, text)[0] != '\0';
		if ((is_in_url || tls_text_given(&options->tls, text)[0] != '\0') &&
		    knows_server(options, text->name, is_in_url))
			name = text->name;
	}
	if (name == NULL && (url->tls.insecure || options->tls.insecure) &&
	    knows_server(options, "insecure", url->tls.insecure))
		name = "insecure";
	if (name == NULL)
		return true;
	*blamed = options_blamed(options, name, "server");
	problem_set(problem,
	    "--%s is for TLS, and the server URL names one in clear: write rediss://, or --tls",
	    name);
	return false;
}

/* --cert alone would fail at the server, with words that help nobody. */
static bool
check_pairs(const struct options *options, const struct url *url, enum option_source *blamed,
    struct problem *problem)
{
	const struct tls_settings *tls = &url->tls;
	struct in6_addr unused;
	if ((tls->cert[0] == '\0') != (tls->key[0] == '\0')) {
		*blamed = options_blamed(options, "cert", "key");
		if (*blamed == SOURCE_DEFAULT)
			*blamed = options_source(options, "server");
		problem_set(problem,
		    "--cert and --key go together: a certificate and its key (both may be in one file)");
		return false;
	}
	if (inet_pton(AF_INET, tls->sni, &unused) == 1 ||
	    inet_pton(AF_INET6, tls->sni, &unused) == 1) {
		*blamed = options_source(options, "sni");
		problem_set(problem,
		    "--sni is a name, not an address: an address is not asked for");
		return false;
	}
	return true;
}

static bool
settle_one(const struct options *options, struct url *url, bool others_have_tls,
    enum option_source *blamed, struct problem *problem)
{
	struct tls_settings *tls = &url->tls;
	if (url->scheme == URL_UNIX && (options->tls.on || tls->on)) {
		*blamed = options_blamed(options, "tls", "server");
		problem_set(problem, "--tls does not go with unix://: a Unix socket is no network");
		if (knows_server(options, "tls", tls->on))
			return false;
	}
	tls->on = url->scheme != URL_UNIX && (tls->on || options->tls.on);
	if (!tls->on)
		return others_have_tls || check_clear(options, url, blamed, problem);
	tls->insecure = tls->insecure || options->tls.insecure;
	enum option_source server = options_source(options, "server");
	for (size_t i = 0; i < TLS_TEXTS; i++) {
		char *text = tls_text_in(tls, &tls_texts[i]);
		const char *option = tls_text_given(&options->tls, &tls_texts[i]);
		/* In the URL it is as strong as the URL; of two that are equal the option wins. */
		if (option[0] != '\0' &&
		    (text[0] == '\0' || options_source(options, tls_texts[i].name) >= server))
			memcpy(text, option, strlen(option) + 1);
	}
	return check_pairs(options, url, blamed, problem);
}

bool
tls_settle(struct options *options, enum option_source *blamed, struct problem *problem)
{
	bool has_tls = false;
	for (int i = 0; i < options->url_count; i++)
		has_tls = has_tls || options_url(options, i)->tls.on;
	for (int i = 0; i < options->url_count; i++) {
		if (!settle_one(options, options_url(options, i), has_tls, blamed, problem))
			return false;
	}
	return true;
}
