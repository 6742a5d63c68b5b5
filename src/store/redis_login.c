/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "store/redis_login.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "store/redis_answer.h"

/* So much of a password in a server's answer gives it away. */
#define TELLTALE 8
/* How versions quote it differs. */
#define UNKNOWN "ERR unknown command"

static void
fail(struct redis_login *login, enum outcome outcome, const struct problem *why)
{
	struct problem copy = *why; /* it may be the login's own */
	redis_login_end(login);
	login->failed(login->context, outcome, &copy);
}

/* -- asking ----------------------------------------------------------------------------------- */

/* A user without a password is one that needs none. */
static bool
has_auth(const struct redis_login *login)
{
	return login->secret != NULL || login->url->user[0] != '\0';
}

static enum login_step
next_step(const struct redis_login *login, enum login_step after)
{
	for (int step = (int)after + 1; step < LOGIN_DONE; step++) {
		if ((step == LOGIN_AUTH && !has_auth(login)) ||
		    (step == LOGIN_HELLO && !login->wants_master) ||
		    (step == LOGIN_SELECT && login->url->db == 0) ||
		    (step == LOGIN_SCRIPTS && login->hashes == NULL))
			continue;
		return (enum login_step)step;
	}
	return LOGIN_DONE;
}

static void
append_exists(struct redis_login *login)
{
	const char *exists[2 + LOGIN_HASHES] = {"SCRIPT", "EXISTS"};
	for (int i = 0; i < LOGIN_HASHES; i++)
		exists[2 + i] = login->hashes[i];
	link_append(login->link, 2 + LOGIN_HASHES, exists);
}

static void
send_pipeline(struct redis_login *login, const char *password)
{
	const struct url *url = login->url;
	const char *with_user[] = {"AUTH", url->user, password};
	const char *without_user[] = {"AUTH", password};
	const char *setname[] = {"CLIENT", "SETNAME", "dlock"};
	const char *time[] = {"TIME"};
	char db[16];
	const char *select[] = {"SELECT", db};
	const char *hello[] = {"HELLO", "2"};

	login->password = password;
	login->step = next_step(login, LOGIN_PASSWORD);
	if (url->user[0] != '\0')
		link_append(login->link, 3, with_user);
	else if (has_auth(login))
		link_append(login->link, 2, without_user);
	if (login->wants_master)
		link_append(login->link, 2, hello);
	if (url->db != 0) {
		snprintf(db, sizeof db, "%d", url->db);
		link_append(login->link, 2, select);
	}
	link_append(login->link, 3, setname);
	if (login->hashes != NULL)
		append_exists(login);
	link_append(login->link, 1, time);
	if (login->append != NULL)
		login->append(login->context);
	if (!link_flush(login->link)) {
		struct problem why;
		problem_set_errno(&why, "cannot write a request", ENOMEM);
		fail(login, OUTCOME_UNREACHABLE, &why);
	}
}

static void
on_told(void *context, const char *secret, const struct problem *why)
{
	struct redis_login *login = context;
	if (secret != NULL)
		send_pipeline(login, secret);
	else
		fail(login, why->is_system ? OUTCOME_UNREACHABLE : OUTCOME_REFUSED, why);
}

void
redis_login_start(struct redis_login *login)
{
	login->step = LOGIN_PASSWORD;
	login->password = NULL;
	login->complaint.text[0] = '\0';
	login->known = 0;
	if (login->secret == NULL) {
		send_pipeline(login, "");
		return;
	}
	login->secret->told = on_told;
	login->secret->context = login;
	login->secret->operations->ask(login->secret);
}

void
redis_login_end(struct redis_login *login)
{
	login->password = NULL;
	if (login->secret != NULL)
		login->secret->operations->cancel(login->secret);
}

/* -- answers ---------------------------------------------------------------------------------- */

/* A server without AUTH (renamed, or no Redis at all) names in its answer what it was given. */
static void
quote_server(const struct redis_login *login, const char *text, struct problem *why)
{
	char telltale[TELLTALE + 1] = "";
	if (login->password != NULL)
		snprintf(telltale, sizeof telltale, "%s", login->password);
	const char *secret = telltale[0] != '\0' ? strstr(text, telltale) : NULL;
	explicit_bzero(telltale, sizeof telltale);
	if (secret != NULL)
		problem_set(why, "the server says: %.*s***", (int)(secret - text), text);
	else
		problem_set(why, "the server says: %s", text);
	why->is_passing = answer_may_pass(text);
}

/* With what the user can do about it. */
static void
explain_refusal(const struct redis_login *login, const char *text, struct problem *why)
{
	enum outcome outcome = answer_classify_error(text);
	/* The known refusals of a user do not quote it, and a password may well be a word of
	 * theirs. */
	if (login->step == LOGIN_TIME && strncmp(text, UNKNOWN, sizeof UNKNOWN - 1) == 0)
		problem_set(why,
		    "the server does not know TIME: it is a Sentinel, which keeps no locks, or TIME was "
		    "taken from it");
	else if (outcome != OUTCOME_DENIED)
		quote_server(login, text, why);
	else if (login->step == LOGIN_AUTH && login->secret && login->secret->origin)
		problem_set(why, "the server says: %s (the password is that of %s)", text,
		    login->secret->origin);
	else if (login->secret == NULL &&
	    (login->step == LOGIN_AUTH || strncmp(text, "NOAUTH", 6) == 0))
		problem_set(why,
		    "the server says: %s (give a password: --password-file, DLOCK_PASSWORD)", text);
	else
		answer_tell_error(text, why);
}

static void
fail_by_nonsense(struct redis_login *login)
{
	static const char *const commands[LOGIN_DONE] = {
	    [LOGIN_AUTH] = "AUTH",
	    [LOGIN_HELLO] = "HELLO",
	    [LOGIN_SELECT] = "SELECT",
	    [LOGIN_SETNAME] = "CLIENT SETNAME",
	    [LOGIN_SCRIPTS] = "SCRIPT EXISTS",
	    [LOGIN_TIME] = "TIME",
	};
	struct problem why;
	problem_set(&why, "the server's answer to %s makes no sense: is it a Redis?",
	    commands[login->step]);
	fail(login, OUTCOME_REFUSED, &why);
}

static void
take_time(struct redis_login *login, const struct reply *reply)
{
	int64_t server_us = answer_read_time(reply);
	if (server_us == 0) {
		fail_by_nonsense(login);
		return;
	}
	redis_login_end(login);
	login->done(login->context, server_us);
}

/* False, and the login has failed: it is not what was wanted there. */
static bool
take_role(struct redis_login *login, const struct reply *reply)
{
	struct problem why;
	char role[16];
	if (!answer_read_role(reply, role, sizeof role)) {
		fail_by_nonsense(login);
		return false;
	}
	if (strcmp(role, "master") == 0)
		return true;
	problem_set(&why, "it is no master: its role is %s", role);
	why.is_passing = true;
	fail(login, OUTCOME_REFUSED, &why);
	return false;
}

/* False: it makes no sense. */
static bool
take_known(struct redis_login *login, const struct reply *reply)
{
	if (reply->kind != REPLY_ARRAY || reply->count != LOGIN_HASHES)
		return false;
	for (unsigned int i = 0; i < LOGIN_HASHES; i++) {
		if (reply->items[i]->kind != REPLY_INTEGER)
			return false;
		login->known |= (unsigned int)(reply->items[i]->integer == 1) << i;
	}
	return true;
}

static bool
makes_sense(struct redis_login *login, const struct reply *reply)
{
	if (login->step == LOGIN_HELLO || reply->kind == REPLY_ERROR)
		return true; /* judged already */
	return login->step == LOGIN_SCRIPTS ? take_known(login, reply) : answer_is_ok(reply);
}

void
redis_login_answer(struct redis_login *login, const struct reply *reply)
{
	struct problem why;
	if (reply->kind == REPLY_ERROR && login->step == LOGIN_SETNAME) {
		/* A name is merely nice. But "max number of clients reached" comes here too, and
		 * then the end. */
		explain_refusal(login, reply->text, &login->complaint);
	} else if (reply->kind == REPLY_ERROR && login->step == LOGIN_SCRIPTS) {
		login->known = 0; /* nice, too: scripts are sent as text then */
	} else if (reply->kind == REPLY_ERROR) {
		/* While the password is asked for, too: nothing was sent, and this is the end. */
		enum outcome outcome = answer_classify_error(reply->text);
		explain_refusal(login, reply->text, &why);
		fail(login, outcome, &why);
		return;
	} else if (login->step == LOGIN_PASSWORD) {
		problem_set(&why, "the server answers what was not asked");
		fail(login, OUTCOME_REFUSED, &why);
		return;
	}
	if (login->step == LOGIN_TIME)
		take_time(login, reply);
	else if (login->step == LOGIN_HELLO && !take_role(login, reply))
		return;
	else if (!makes_sense(login, reply))
		/* A login that did not happen, or the wrong database, would go unnoticed. */
		fail_by_nonsense(login);
	else
		login->step = next_step(login, login->step);
}

/* -- no answer -------------------------------------------------------------------------------- */

enum outcome
redis_login_judge(const struct redis_login *login, const struct problem *why)
{
	if (why->is_denied)
		return OUTCOME_DENIED;
	if (why->is_setting)
		return OUTCOME_REFUSED;
	/* Who has said something, be it nonsense, is there. */
	return login->link->spoke ? OUTCOME_REFUSED : OUTCOME_UNREACHABLE;
}

enum outcome
redis_login_explain_delay(const struct redis_login *login, struct problem *why)
{
	if (login->step != LOGIN_PASSWORD) {
		problem_set(why, "no answer to the login in time");
		return redis_login_judge(login, why);
	}
	problem_set(why, "no password in time from %s", login->secret->origin);
	why->is_setting = true;
	return OUTCOME_REFUSED;
}

/* A server with TLS hangs up on who does not speak it, often without a word. */
static bool
may_want_tls(const struct redis_login *login)
{
	return login->step != LOGIN_PASSWORD && !login->link->spoke &&
	    login->url->scheme != URL_UNIX && !login->url->tls.on;
}

enum outcome
redis_login_explain_failure(const struct redis_login *login, const struct problem *failure,
    struct problem *why)
{
	bool complained = login->complaint.text[0] != '\0';
	*why = complained ? login->complaint : *failure;
	if (!complained && may_want_tls(login))
		problem_set(why, "%s (if the server wants TLS, write rediss://)", failure->text);
	return complained ? answer_classify_error(why->text) : redis_login_judge(login, why);
}
