/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "run/password.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/helper.h"

/* A helper that ends is soon gone, and nobody but its parent learns of it. */
#define PULSE_NS NS_PER_MS
/* Longer than it gives what it ended; then it was stopped itself. */
#define PATIENCE_NS (3 * NS_PER_S)
#define PULSE_AFTER_KILL_NS (50 * NS_PER_MS)

static struct password *
from_source(struct secret_source *source)
{
	return (struct password *)source;
}

static void
tell(struct password *password, const char *secret, const struct problem *why)
{
	password->state = PASSWORD_IDLE;
	password->source.told(password->source.context, secret, why);
}

static void
wipe(struct password *password)
{
	explicit_bzero(password->answer, sizeof *password->answer);
	password->received = 0;
}

static void
close_pipe(struct password *password)
{
	if (password->watch.fd < 0)
		return;
	loop_unwatch(password->loop, &password->watch);
	close(password->watch.fd);
	password->watch.fd = -1;
}

/* -- the helper ------------------------------------------------------------------------------- */

static int
start_helper(struct password *password)
{
	int end, beside = 0;
	wipe(password);
	prctl(PR_GET_CHILD_SUBREAPER, &beside); /* RUNNER is one */
	password->errand.beside_command = beside != 0;
	password->errand.asker = getpid();
	pid_t helper = helper_fork(&end);
	if (helper < 0)
		return -1;
	if (helper == 0)
		password_helper_run(&password->errand, end);
	password->helper = helper;
	password->state = PASSWORD_ASKED;
	password->watch.fd = end;
	loop_watch(password->loop, &password->watch);
	return 0;
}

static void
start(struct password *password)
{
	struct problem why;
	if (start_helper(password) == 0)
		return;
	problem_set_errno(&why, "cannot start a process that asks for the password", errno);
	why.is_system = true;
	tell(password, NULL, &why);
}

static void
tell_answer(struct password *password)
{
	struct password_answer *answer = password->answer;
	if (password->received < sizeof *answer) {
		wipe(password);
		problem_set(&answer->problem,
		    "the process that asks %s for the password ended without an answer",
		    password->source.origin);
	}
	if (answer->problem.text[0] != '\0')
		tell(password, NULL, &answer->problem);
	else
		tell(password, answer->text, NULL);
}

static void
on_pulse(void *context, struct instant now)
{
	struct password *password = context;
	if (!helper_reap(password->helper)) {
		bool late = instant_reached(password->patience_until, now);
		if (late)
			helper_signal(password->helper, SIGKILL);
		loop_set_timer(password->loop, &password->pulse,
		    instant_plus(now, late ? PULSE_AFTER_KILL_NS : PULSE_NS));
		return;
	}
	password->helper = 0;
	switch (password->state) {
	case PASSWORD_ANSWERED:
		tell_answer(password);
		break;
	case PASSWORD_QUEUED:
		start(password);
		break;
	case PASSWORD_ENDING:
		password->state = PASSWORD_IDLE;
		break;
	case PASSWORD_IDLE:
	case PASSWORD_ASKED:
		break;
	}
}

static void
wait_for_end(struct password *password, enum password_state state)
{
	struct instant now = clock_now();
	close_pipe(password);
	password->state = state;
	password->patience_until = instant_plus(now, PATIENCE_NS);
	loop_set_timer(password->loop, &password->pulse, now);
}

static void
on_readable(void *context, short revents)
{
	struct password *password = context;
	size_t room = sizeof *password->answer - password->received;
	(void)revents;
	ssize_t got = read(password->watch.fd, (char *)password->answer + password->received, room);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got > 0)
		password->received += (size_t)got;
	if (got <= 0 || password->received == sizeof *password->answer)
		wait_for_end(password, PASSWORD_ANSWERED);
}

/* -- the source ------------------------------------------------------------------------------- */

static void
password_ask(struct secret_source *source)
{
	struct password *password = from_source(source);
	if (password->helper != 0)
		password->state = PASSWORD_QUEUED;
	else
		start(password);
}

static void
password_cancel(struct secret_source *source)
{
	struct password *password = from_source(source);
	switch (password->state) {
	case PASSWORD_ASKED:
		/* Who reads a file has nothing to clean up; who runs a command may be stopped. */
		helper_signal(password->helper, password->errand.file != NULL ? SIGKILL : SIGCONT);
		wait_for_end(password, PASSWORD_ENDING);
		break;
	case PASSWORD_ANSWERED:
	case PASSWORD_QUEUED:
		password->state = PASSWORD_ENDING;
		break;
	case PASSWORD_IDLE:
	case PASSWORD_ENDING:
		break;
	}
	wipe(password);
}

static void
password_forget(struct secret_source *source)
{
	struct password *password = from_source(source);
	if (password->watch.fd >= 0)
		close(password->watch.fd);
	password->watch.fd = -1;
	password->state = PASSWORD_IDLE;
	wipe(password);
}

int
password_init(struct password *password, struct loop *loop, const struct signals *signals,
    const char *file, const char *command)
{
	static const struct secret_operations operations = {
	    .ask = password_ask,
	    .cancel = password_cancel,
	    .forget = password_forget,
	};
	*password = (struct password){
	    .source = {.operations = &operations,
		.origin = password->origin,
		.helper = &password->helper},
	    .loop = loop,
	    .errand = {.file = file, .command = command, .signals = signals},
	    .watch = {.fd = -1, .events = POLLIN, .ready = on_readable, .context = password},
	    .pulse = {.due = on_pulse, .context = password},
	    .answer = secret_open_pages(sizeof *password->answer),
	};
	if (file != NULL)
		snprintf(password->origin, sizeof password->origin, "the file '%.200s'", file);
	else
		strcpy(password->origin, "the password command");
	return password->answer == NULL ? -1 : 0;
}
