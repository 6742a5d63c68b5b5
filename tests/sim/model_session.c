/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Commands about the connection and the server. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "model_parts.h"

void
run_time(struct request *request)
{
	char text[24];
	answer_array(request->model, 2);
	answer_text(request->model, text, write_integer(text, request->model->now_us / 1000000));
	answer_text(request->model, text, write_integer(text, request->model->now_us % 1000000));
}

void
run_ping(struct request *request)
{
	struct model *model = request->model;
	bool has_text = request->count == 2;
	if (request->count > 2) {
		answer_error(model, "ERR wrong number of arguments for 'ping' command");
	} else if (request->client->listens && model->lua == NULL) {
		answer_array(model, 2);
		answer_words(model, "pong");
		if (has_text)
			answer_text(model, request->words[1].at, request->words[1].length);
		else
			answer_words(model, "");
	} else if (has_text) {
		answer_text(model, request->words[1].at, request->words[1].length);
	} else {
		answer_status(model, "PONG");
	}
}

/* -- login ------------------------------------------------------------------------------------ */

static bool
authenticate(struct request *request, const struct word *user, const struct word *password)
{
	const char *wanted = request->model->options.password;
	bool is_good = (user == NULL || word_is(user, "default")) &&
	    (wanted == NULL || word_is(password, wanted));
	if (is_good)
		request->client->is_in = true;
	else
		answer_error(request->model,
		    "WRONGPASS invalid username-password pair or user is disabled.");
	return is_good;
}

void
run_auth(struct request *request)
{
	struct model *model = request->model;
	const struct word *words = request->words;
	if (request->count > 3)
		answer_error(model, "ERR syntax error");
	else if (request->count == 2 && model->options.password == NULL)
		answer_error(model,
		    "ERR AUTH <password> called without any password configured for the default "
		    "user. Are you sure your configuration is correct?");
	else if (authenticate(request, request->count == 3 ? &words[1] : NULL,
		     &words[request->count - 1]))
		answer_ok(model);
}

/* False, and an error was answered. */
static bool
set_name(struct request *request, const struct word *name)
{
	for (size_t i = 0; i < name->length; i++) {
		if (name->at[i] < '!' || name->at[i] > '~') {
			answer_error(request->model,
			    "ERR Client names cannot contain spaces, newlines or special "
			    "characters.");
			return false;
		}
	}
	bytes_set(&request->client->name, name->at, name->length);
	return true;
}

void
run_client_setname(struct request *request)
{
	if (set_name(request, &request->words[2]))
		answer_ok(request->model);
}

void
run_client_id(struct request *request)
{
	answer_integer(request->model, request->client->id);
}

static const char *
version_of(const struct model *model, char *text, size_t size)
{
	int version = model->options.version;
	snprintf(text, size, "%d.%d.%d", version / 10000, version / 100 % 100, version % 100);
	return text;
}

/* False, and an error was answered. */
static bool
read_hello(struct request *request)
{
	struct model *model = request->model;
	const struct word *words = request->words;
	int64_t version;
	if (request->count > 1 && !word_read_integer(&words[1], &version)) {
		answer_error(model, "ERR Protocol version is not an integer or out of range");
		return false;
	}
	if (request->count > 1 && version != 2) {
		answer_error(model, "NOPROTO unsupported protocol version");
		return false;
	}
	for (size_t i = 2; i < request->count; i++) {
		if (word_is_like(&words[i], "auth") && i + 2 < request->count) {
			if (!authenticate(request, &words[i + 1], &words[i + 2]))
				return false;
			i += 2;
		} else if (word_is_like(&words[i], "setname") && i + 1 < request->count) {
			if (!set_name(request, &words[++i]))
				return false;
		} else {
			answer_error(model, "ERR Syntax error in HELLO option '%.*s'",
			    (int)words[i].length, words[i].at);
			return false;
		}
	}
	if (request->client->is_in)
		return true;
	answer_error(model,
	    "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO "
	    "AUTH <user> <pass> option can be used to authenticate the client and select the RESP "
	    "protocol version at the same time");
	return false;
}

void
run_hello(struct request *request)
{
	struct model *model = request->model;
	char version[16];
	if (!read_hello(request))
		return;
	answer_array(model, 14);
	answer_words(model, "server");
	answer_words(model, "redis");
	answer_words(model, "version");
	answer_words(model, version_of(model, version, sizeof version));
	answer_words(model, "proto");
	answer_integer(model, 2);
	answer_words(model, "id");
	answer_integer(model, request->client->id);
	answer_words(model, "mode");
	answer_words(model, "standalone");
	answer_words(model, "role");
	answer_words(model, model->is_replica ? "replica" : "master");
	answer_words(model, "modules");
	answer_array(model, 0);
}

void
run_select(struct request *request)
{
	struct model *model = request->model;
	int64_t db;
	if (!word_read_integer(&request->words[1], &db)) {
		answer_error(model, "ERR value is not an integer or out of range");
	} else if (db < INT_MIN || db > INT_MAX) {
		answer_error(model, "ERR value is out of range, value must between %d and %d",
		    INT_MIN, INT_MAX);
	} else if (db < 0 || db > 15) {
		answer_error(model, "ERR DB index is out of range");
	} else {
		model->db = (int)db;
		/* A script has its own. */
		if (model->lua == NULL)
			request->client->db = (int)db;
		answer_ok(model);
	}
}

void
run_quit(struct request *request)
{
	answer_ok(request->model);
	request->client->is_closed = true;
}

/* -- the server ------------------------------------------------------------------------------- */

/* What dlock reads of it. */
void
run_info(struct request *request)
{
	struct model *model = request->model;
	char text[1024], version[16];
	size_t used = 0;
	bool all = request->count == 1;
	bool server = all, replication = all;
	for (size_t i = 1; i < request->count; i++) {
		server = server || word_is_like(&request->words[i], "server");
		replication = replication || word_is_like(&request->words[i], "replication");
	}
	if (server)
		used += (size_t)snprintf(text + used, sizeof text - used,
		    "# Server\r\nredis_version:%s\r\nredis_mode:standalone\r\n"
		    "run_id:%040" PRIx64 "\r\nserver_time_usec:%" PRId64 "\r\n"
		    "uptime_in_seconds:%" PRId64 "\r\n",
		    version_of(model, version, sizeof version), model->run_number, model->now_us,
		    (model->now_us - model->started_us) / 1000000);
	if (replication)
		used += (size_t)snprintf(text + used, sizeof text - used,
		    "%s# Replication\r\nrole:%s\r\nconnected_slaves:%" PRId64 "\r\n"
		    "master_replid:%040" PRIx64 "\r\n"
		    "master_replid2:0000000000000000000000000000000000000000\r\n"
		    "master_repl_offset:%" PRIu64 "\r\nsecond_repl_offset:-1\r\n",
		    server ? "\r\n" : "", model->is_replica ? "slave" : "master",
		    model->acknowledged, model->run_number, model->writes);
	answer_text(model, text, used);
}

void
run_role(struct request *request)
{
	struct model *model = request->model;
	answer_array(model, 3);
	answer_words(model, model->is_replica ? "slave" : "master");
	answer_integer(model, (int64_t)model->writes);
	answer_array(model, 0);
}

void
run_wait(struct request *request)
{
	struct model *model = request->model;
	int64_t number;
	if (model->is_replica)
		answer_error(model,
		    "ERR WAIT cannot be used with replica instances. Please also note that since "
		    "Redis 4.0 if a replica is configured to be writable (which is not the "
		    "default) writes to replicas are just local and are not propagated.");
	else if (!word_read_integer(&request->words[1], &number))
		answer_error(model, "ERR value is not an integer or out of range");
	else if (!word_read_integer(&request->words[2], &number))
		answer_error(model, "ERR timeout is not an integer or out of range");
	else if (number < 0)
		answer_error(model, "ERR timeout is negative");
	else
		answer_integer(model, model->acknowledged);
}

void
run_cluster_slots(struct request *request)
{
	answer_error(request->model, "ERR This instance has cluster support disabled");
}
