/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* net/url: any text as a server's URL. A newline in it is where a secret is put, for which dlock's
 * words and what it prints are searched. */
#include "net/url.h"

#include "fuzz.h"

/* Each written so that some part of the URL might take it for its own. */
static const char *const secrets[] = {"Zq7Kanary", "Zq7/Kanary", "Zq7?Kanary", "Zq7@Kanary",
    "Zq7:Kanary", "Zq7%Kanary", "Zq7]Kanary", "Zq7#Kanary", "Zq7%2FKanary", "Zq7&db=Kanary"};

static void
check_url(const struct url *url)
{
	struct url again;
	struct problem problem;
	char printed[16384], reprinted[16384];
	FUZZ_CHECK(url->db >= 0 && url->connect_timeout_ns >= 0);
	bool several = url->scheme == URL_SENTINEL || url->scheme == URL_CLUSTER;
	if (url->scheme == URL_UNIX)
		FUZZ_CHECK(url->path[0] == '/' && url->host[0] == '\0' && !url->has_password);
	else if (url->scheme == URL_REDIS)
		FUZZ_CHECK(url->host[0] != '\0' && url->port >= 1 && url->port <= 65535);
	FUZZ_CHECK((url->place_count > 0) == several && url->place_count <= URL_MAX_PLACES);
	FUZZ_CHECK((url->service[0] != '\0') == (url->scheme == URL_SENTINEL));
	FUZZ_CHECK(url->scheme != URL_CLUSTER || url->db == 0);

	/* What is printed says all but the password and what is no part of the place. */
	url_print(url, printed, sizeof printed);
	FUZZ_CHECK(url_parse(&again, printed, URL_REFUSE_UNKNOWN_KEYS, &problem));
	FUZZ_CHECK(again.scheme == url->scheme && again.port == url->port && again.db == url->db);
	FUZZ_CHECK(strcmp(again.user, url->user) == 0 && strcmp(again.host, url->host) == 0);
	FUZZ_CHECK(strcmp(again.path, url->path) == 0 && again.has_password == url->has_password);
	FUZZ_CHECK(again.place_count == url->place_count);
	FUZZ_CHECK(strcmp(again.service, url->service) == 0);
	for (size_t i = 0; i < url->place_count; i++) {
		const struct url_place *place = &url->places[i], *same = &again.places[i];
		FUZZ_CHECK(place->host[0] != '\0' && place->port >= 1 && place->port <= 65535);
		FUZZ_CHECK(place->port == same->port && strcmp(place->host, same->host) == 0);
	}
	FUZZ_CHECK(!url->has_password || strcmp(again.password, "***") == 0);
	url_print(&again, reprinted, sizeof reprinted);
	FUZZ_CHECK(strcmp(printed, reprinted) == 0);
}

/* The bytes that are overwritten in argv: is that all of the password, and nothing else? */
static void
check_scrubbing(const char *text, const struct url *url)
{
	struct url scrubbed;
	struct problem problem;
	size_t length = 0;
	char *copy = strdup(text);
	if (copy == NULL)
		abort();
	char *password = url_find_password(copy, &length);
	bool is_postgres = url->scheme == URL_POSTGRES;
	FUZZ_CHECK(
	    !url->has_password || url->password[0] == '\0' || password != NULL || is_postgres);
	if (is_postgres) { /* where it may stand in the query, too */
		url_scrub_postgres(copy);
		if (password != NULL)
			memset(password, '*', length);
		FUZZ_CHECK(url_parse(&scrubbed, copy, URL_REFUSE_UNKNOWN_KEYS, &problem));
		FUZZ_CHECK(strspn(scrubbed.password, "*") == strlen(scrubbed.password));
	}
	size_t other_length = 0;
	char *other = url_find_sentinel_password(copy, &other_length);
	FUZZ_CHECK(url->sentinel_password[0] == '\0' || other != NULL);
	if (password != NULL) {
		FUZZ_CHECK(password >= copy && password + length <= copy + strlen(copy));
		memset(password, '*', length);
		FUZZ_CHECK(url_parse(&scrubbed, copy, URL_IGNORE_UNKNOWN_KEYS, &problem));
		FUZZ_CHECK(strspn(scrubbed.password, "*") == strlen(scrubbed.password));
		FUZZ_CHECK(strcmp(scrubbed.user, url->user) == 0);
		FUZZ_CHECK(strcmp(scrubbed.host, url->host) == 0 && scrubbed.db == url->db);
	}
	free(copy);
}

/* Is what stands before the secret such that it is a password, if @host has not been forgotten? */
static bool
is_password(const char *before)
{
	const char *login = strstr(before, "://");
	return login != NULL && login[3 + strcspn(login + 3, ":/?")] == ':';
}

/* `secret`: in what is printed of the URL; `likely`: in what is said of one that is refused. */
static void
check_text(const char *text, bool likely, bool secret)
{
	static const enum url_unknown_keys manners[] = {URL_REFUSE_UNKNOWN_KEYS,
	    URL_IGNORE_UNKNOWN_KEYS};
	for (size_t i = 0; i < 2; i++) {
		struct problem problem = {.text = ""};
		struct url url;
		char printed[16384] = "";
		if (url_parse(&url, text, manners[i], &problem)) {
			check_url(&url);
			check_scrubbing(text, &url);
			url_print(&url, printed, sizeof printed);
		} else {
			FUZZ_CHECK(problem.text[0] != '\0');
		}
		FUZZ_CHECK(!secret || strstr(printed, "Kanary") == NULL);
		FUZZ_CHECK(!likely || strstr(problem.text, "Kanary") == NULL);
		FUZZ_CHECK(!likely || strstr(problem.text, "Zq7") == NULL);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	check_text(text, false, false);
	char *after = strchr(text, '\n');
	if (after != NULL && strstr(text, "Kanary") == NULL && strstr(text, "Zq7") == NULL) {
		*after++ = '\0';
		for (size_t i = 0; i < sizeof secrets / sizeof *secrets; i++) {
			char *url = NULL;
			size_t length = 0;
			if (asprintf(&url, "%s%s%s", text, secrets[i], after) < 0)
				abort();
			bool secret = is_password(text) && strchr(after, '@') != NULL;
			bool likely = secret ||
			    (is_password(text) && strpbrk(strstr(text, "://") + 3, "/?@") == NULL);
			const char *found = url_find_password(url, &length);
			const char *planted = url + strlen(text);
			FUZZ_CHECK(!secret ||
			    (found != NULL && found <= planted &&
				found + length >= planted + strlen(secrets[i])));
			check_text(url, likely, secret);
			free(url);
		}
	}
	free(text);
	return 0;
}
