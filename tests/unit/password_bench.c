/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "password_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "forks.h"
#include "peer.h"
#include "tap.h"

struct password_bench asker = {.directory = "/tmp/dlock-password-XXXXXX"};

bool
asker_open(void)
{
	if (!forks_open() || signals_take_over(&asker.signals) != 0 ||
	    loop_open(&asker.loop) != 0 || mkdtemp(asker.directory) == NULL)
		return false;
	sigemptyset(&asker.signals.mask);
	snprintf(asker.path, sizeof asker.path, "%s/password", asker.directory);
	return true;
}

void
asker_close(void)
{
	unlink(asker.path);
	rmdir(asker.directory);
}

static void
on_told(void *context, const char *secret, const struct problem *why)
{
	CHECK(context == &asker);
	asker.over = true;
	asker.count++;
	asker.secret[0] = '\0';
	asker.problem = (struct problem){.text = ""};
	if (secret != NULL)
		snprintf(asker.secret, sizeof asker.secret, "%s", secret);
	else
		asker.problem = *why;
}

void
asker_begin(const char *file, const char *command)
{
	asker.over = false;
	asker.count = 0;
	CHECK(password_init(&asker.password, &asker.loop, &asker.signals, file, command) == 0);
	asker.password.source.told = on_told;
	asker.password.source.context = &asker;
}

void
asker_ask(void)
{
	asker.over = false;
	asker.password.source.operations->ask(&asker.password.source);
}

void
asker_cancel(void)
{
	asker.password.source.operations->cancel(&asker.password.source);
}

void
asker_check_told(const char *secret)
{
	if (!CHECK(peer_run_until(&asker.loop, &asker.over, ASKER_LIMIT_MS)))
		return;
	CHECK_TEXT(asker.problem.text, "");
	CHECK_TEXT(asker.secret, secret);
	CHECK_INT(asker.password.helper, 0);
}

void
asker_check_refused(const char *part)
{
	if (!CHECK(peer_run_until(&asker.loop, &asker.over, ASKER_LIMIT_MS)))
		return;
	CHECK_TEXT(asker.secret, "");
	CHECK_HAS(asker.problem.text, part);
	CHECK(asker.problem.is_setting);
	CHECK_INT(asker.password.helper, 0);
}

void
asker_run_until_idle(void)
{
	for (int i = 0; i < ASKER_LIMIT_MS && asker.password.helper != 0; i++)
		peer_run(&asker.loop, 1);
	CHECK_INT(asker.password.helper, 0);
	CHECK(asker.loop.watches == NULL && asker.loop.timers == NULL);
}

void
asker_write(const char *text, size_t length)
{
	FILE *file = fopen(asker.path, "w");
	CHECK(file != NULL && fwrite(text, 1, length, file) == length && fclose(file) == 0);
}

pid_t
asker_read_pid(const char *name)
{
	char file[160], text[32] = "";
	snprintf(file, sizeof file, "%s/%s", asker.directory, name);
	for (int i = 0; i < ASKER_LIMIT_MS && text[0] == '\0'; i++) {
		FILE *from = fopen(file, "r");
		if (from != NULL) {
			if (fgets(text, sizeof text, from) == NULL)
				text[0] = '\0';
			fclose(from);
		} else {
			peer_run(&asker.loop, 1);
		}
	}
	pid_t pid = (pid_t)strtol(text, NULL, 10);
	CHECK(pid > 0);
	unlink(file);
	return pid;
}
