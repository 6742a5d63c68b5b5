/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "run/password_helper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compat/close_range.h"
#include "base/helper.h"
#include "run/proc.h"
#include "run/tree.h"
#include "run/urgency.h"

/* The pipe is moved here, next to stderr, and all behind it is closed. */
#define OUT_FD 3

/* A prompt that is ended has turned the echo off, and this long to turn it on again. */
#define GRACE_NS (200 * NS_PER_MS)
/* What does not die of KILL is not waited for longer. */
#define SWEEP_PATIENCE_NS (2 * NS_PER_S)

/* With its \r\n. */
#define LINE_MAX_BYTES (SECRET_MAX + 2)

struct helper {
	const struct password_errand *errand;
	struct tree tree; /* the command's, whose parent this process is */
	pid_t shell;      /* 0: it has ended */
	int from;         /* its output, -1: at its end */
	int signal_fd;    /* CHLD */
	int code, status; /* how it ended, as waitid says */
	size_t used;
	struct password_answer answer;
	char line[LINE_MAX_BYTES + 1]; /* what comes first */
};

bool
password_take_line(char *text, size_t length, struct problem *problem)
{
	const char *newline = memchr(text, '\n', length);
	if (newline != NULL) {
		length = (size_t)(newline - text);
		if (length > 0 && text[length - 1] == '\r')
			length--;
	}
	text[length] = '\0';
	if (length == 0)
		problem_set(problem, "is empty");
	else if (length > SECRET_MAX)
		problem_set(problem, "is longer than %d bytes", SECRET_MAX);
	else if (strlen(text) != length)
		problem_set(problem, "has a NUL byte in it");
	else
		return true;
	return false;
}

/* Is more needed to know the first line? */
static bool
is_line_open(const struct helper *helper)
{
	return helper->used < LINE_MAX_BYTES && memchr(helper->line, '\n', helper->used) == NULL;
}

static _Noreturn void
answer(struct helper *helper)
{
	struct password_answer *answer = &helper->answer;
	const char *at = (const char *)answer;
	size_t left = sizeof *answer;
	answer->problem.is_setting = answer->problem.text[0] != '\0' && !answer->problem.is_system;
	while (left > 0) {
		ssize_t written = write(OUT_FD, at, left);
		if (written < 0 && errno != EINTR)
			_exit(1);
		at += written > 0 ? written : 0;
		left -= written > 0 ? (size_t)written : 0;
	}
	_exit(0);
}

static _Noreturn void
answer_errno(struct helper *helper, const char *what)
{
	problem_set_errno(&helper->answer.problem, what, errno);
	answer(helper);
}

/* -- a file ----------------------------------------------------------------------------------- */

/* Only the file's own name can be opened here: <(command) and /dev/stdin, which could not be read
 * again after a lost connection, are closed already. */
static _Noreturn void
read_file(struct helper *helper)
{
	const char *file = helper->errand->file;
	struct problem *problem = &helper->answer.problem;
	struct problem why;
	ssize_t got = 1;
	int fd = open(file, O_RDONLY | O_NOCTTY | O_CLOEXEC);
	while (fd >= 0 && got > 0 && is_line_open(helper)) {
		do
			got = read(fd, helper->line + helper->used, LINE_MAX_BYTES - helper->used);
		while (got < 0 && errno == EINTR);
		helper->used += got > 0 ? (size_t)got : 0;
	}
	if (fd < 0 || got < 0) {
		problem_set_errno(&why, NULL, errno);
		problem_set(problem, "cannot read the password file '%.200s': %s", file, why.text);
		problem->is_system = why.is_system;
	} else if (password_take_line(helper->line, helper->used, &why)) {
		strcpy(helper->answer.text, helper->line);
	} else {
		problem_set(problem, "the first line of the password file '%.200s' %s", file,
		    why.text);
	}
	answer(helper);
}

/* -- a command -------------------------------------------------------------------------------- */

static _Noreturn void
become_command(const struct helper *helper, int output, pid_t parent)
{
	static char shell[] = "sh", dash_c[] = "-c";
	union { /* execve takes pointers as non-const; it only reads */
		const char *given;
		char *wanted;
	} command = {.given = helper->errand->command};
	char *argv[] = {shell, dash_c, command.wanted, NULL};
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	if (helper->errand->beside_command)
		setsid();
	urgency_lower();
	dup2(output, STDOUT_FILENO);
	signals_restore(helper->errand->signals);
	execve("/bin/sh", argv, environ);
	_exit(127);
}

static void
start_command(struct helper *helper)
{
	int ends[2];
	sigset_t chld;
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	helper->signal_fd = signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);
	if (helper->signal_fd < 0 || pipe2(ends, O_CLOEXEC) != 0 || tree_become_subreaper() != 0)
		answer_errno(helper, "cannot run the password command");
	pid_t parent = getpid();
	helper->shell = fork();
	if (helper->shell < 0)
		answer_errno(helper, "cannot run the password command");
	if (helper->shell == 0)
		become_command(helper, ends[1], parent);
	close(ends[1]);
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	helper->from = ends[0];
	helper->tree.can_list = proc_open();
	helper->tree.known = helper->shell;
}

/* Everything is read, so that the command does not wait; what follows the first line is dropped.
 * False: there is nothing now. */
static bool
read_output(struct helper *helper)
{
	char rest[4096];
	bool open = is_line_open(helper);
	ssize_t got = open
	    ? read(helper->from, helper->line + helper->used, LINE_MAX_BYTES - helper->used)
	    : read(helper->from, rest, sizeof rest);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (got <= 0) {
		close(helper->from);
		helper->from = -1;
		return false;
	}
	if (open)
		helper->used += (size_t)got;
	return true;
}

static void
on_reaped(void *context, pid_t pid, int code, int status)
{
	struct helper *helper = context;
	if (pid != helper->shell)
		return;
	helper->shell = 0;
	helper->code = code;
	helper->status = status;
}

static void
sweep(struct helper *helper)
{
	struct instant until = instant_plus(clock_now(), SWEEP_PATIENCE_NS);
	while (tree_sweep(&helper->tree) > 0 && !instant_reached(until, clock_now()))
		poll(NULL, 0, 1);
}

/* Nobody waits for the answer. */
static _Noreturn void
give_up(struct helper *helper)
{
	struct instant until = instant_plus(clock_now(), GRACE_NS);
	pid_t example;
	int count;
	tree_signal(&helper->tree, getpid(), SIGTERM);
	while (!tree_is_empty(&helper->tree, &example, &count) &&
	    !instant_reached(until, clock_now())) {
		tree_reap(&helper->tree);
		poll(NULL, 0, 1);
	}
	sweep(helper);
	_exit(0);
}

/* Until the shell has ended; that others still have its output does not matter. */
static void
wait_for_command(struct helper *helper)
{
	while (helper->shell != 0) {
		struct signalfd_siginfo info;
		struct pollfd fds[] = {
		    {.fd = OUT_FD, .events = 0}, /* tells when nobody reads it any more */
		    {.fd = helper->from, .events = POLLIN},
		    {.fd = helper->signal_fd, .events = POLLIN},
		};
		if (poll(fds, sizeof fds / sizeof *fds, -1) < 0 && errno != EINTR)
			give_up(helper);
		if (fds[0].revents != 0)
			give_up(helper);
		if (fds[1].revents != 0)
			read_output(helper);
		if (fds[2].revents != 0) {
			while (read(helper->signal_fd, &info, sizeof info) > 0)
				;
			tree_reap(&helper->tree);
		}
	}
	while (helper->from >= 0 && is_line_open(helper) && read_output(helper))
		;
}

/* Its text is not quoted: it may well be "echo" and a password. */
static _Noreturn void
run_command(struct helper *helper)
{
	struct problem *problem = &helper->answer.problem;
	struct problem why;
	helper->tree.reaped = on_reaped;
	helper->tree.context = helper;
	start_command(helper);
	wait_for_command(helper);
	if (helper->code != CLD_EXITED)
		problem_set(problem, "the password command was killed by signal %d (%s)",
		    helper->status, strsignal(helper->status));
	else if (helper->status != 0)
		problem_set(problem, "the password command failed with exit status %d",
		    helper->status);
	else if (password_take_line(helper->line, helper->used, &why))
		strcpy(helper->answer.text, helper->line);
	else
		problem_set(problem, "the first line that the password command printed %s",
		    why.text);
	if (helper->errand->beside_command || problem->text[0] != '\0')
		sweep(helper);
	answer(helper);
}

_Noreturn void
password_helper_run(const struct password_errand *errand, int out)
{
	static struct helper helper;
	helper.errand = errand;
	prctl(PR_SET_NAME, "dlock-ask");
	prctl(PR_SET_DUMPABLE, 0);
	/* A KILL for COMMAND's group must not keep this process from cleaning up. */
	if (errand->beside_command)
		setsid();
	if (out != OUT_FD && dup3(out, OUT_FD, O_CLOEXEC) < 0)
		_exit(1);
	/* Copies of the connection or of the channel would hide their end from the peers. Not even
	 * stdin is passed on: it is COMMAND's. */
	compat_close_from(OUT_FD + 1);
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	if (errand->file != NULL) {
		helper_die_with(errand->asker);
		close(STDERR_FILENO);
		read_file(&helper);
	}
	open("/dev/null", O_RDONLY);
	open("/dev/null", O_WRONLY); /* so that no pipe gets this number */
	run_command(&helper);
}
