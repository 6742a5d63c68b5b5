/*
 * Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT
 *
 * ptyrun FILE ACTION... -- COMMAND [ARG...]: runs COMMAND as the leader of a new session on a new
 * terminal and does what the ACTIONs say, one after the other:
 *
 *   expect:TEXT   wait (at most 10 s) until TEXT has come out since the last expect that matched
 *   send:TEXT     type TEXT; \n is Return, \xHH a byte: \x03 Ctrl-C, \x1a Ctrl-Z, \x04 end of file
 *   run:STRING    run STRING with sh -c; it must succeed; the leader's pid is in PTY_LEADER
 *   size:ROWSxCOLUMNS  the window gets that size
 *   hangup        close the terminal
 *   end           wait (at most 10 s) until COMMAND has ended
 *
 * What comes out of the terminal goes to stdout. FILE gets `exit N` or `signal N`. Status 0 when
 * all actions went well, 98 with a line on stderr otherwise; then COMMAND is killed.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define LIMIT_MS 10000

static int master = -1;
static pid_t child;
static int child_status;
static int child_ended;
static char seen[1 << 16]; /* what came out and no expect has matched yet */
static size_t seen_len;

static long long
now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

__attribute__((noreturn)) static void
fail(const char *action, const char *why)
{
	fflush(stdout);
	fprintf(stderr, "\nptyrun: %s: %s\n", action, why);
	if (!child_ended)
		kill(child, SIGKILL);
	exit(98);
}

static void
check_child(void)
{
	if (!child_ended && waitpid(child, &child_status, WNOHANG) == child)
		child_ended = 1;
}

/* Takes what the terminal has to say, waiting for it at most wait_ms. */
static void
take_output(int wait_ms)
{
	struct pollfd pollfd = {.fd = master, .events = POLLIN};
	char bytes[4096];
	ssize_t len;

	if (poll(&pollfd, 1, wait_ms) <= 0 || master < 0)
		return;
	len = read(master, bytes, sizeof bytes);
	if (len <= 0) {
		/* EIO: nobody has the other side open at the moment. */
		poll(NULL, 0, wait_ms);
		return;
	}
	fwrite(bytes, 1, (size_t)len, stdout);
	fflush(stdout);
	if (seen_len + (size_t)len > sizeof seen)
		seen_len = 0;
	memcpy(seen + seen_len, bytes, (size_t)len);
	seen_len += (size_t)len;
}

static void
do_expect(const char *action, const char *text)
{
	long long end = now_ms() + LIMIT_MS;

	for (;;) {
		char *found = memmem(seen, seen_len, text, strlen(text));

		if (found != NULL) {
			size_t used = (size_t)(found - seen) + strlen(text);

			memmove(seen, seen + used, seen_len - used);
			seen_len -= used;
			return;
		}
		if (now_ms() > end)
			fail(action, "did not come");
		take_output(10);
		check_child();
	}
}

static void
do_send(const char *action, const char *text)
{
	char bytes[1024];
	size_t len = 0;

	while (*text != '\0' && len < sizeof bytes) {
		if (text[0] == '\\' && text[1] == 'n') {
			bytes[len++] = '\r';
			text += 2;
		} else if (text[0] == '\\' && text[1] == 'x' && text[2] != '\0' &&
		    text[3] != '\0') {
			const char digits[3] = {text[2], text[3], '\0'};

			bytes[len++] = (char)strtol(digits, NULL, 16);
			text += 4;
		} else {
			bytes[len++] = *text++;
		}
	}
	if (write(master, bytes, len) != (ssize_t)len)
		fail(action, strerror(errno));
}

static void
do_run(const char *action, const char *string)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", string, (char *)NULL);
		_exit(127);
	}
	for (;;) {
		pid_t ended = waitpid(pid, &status, WNOHANG);

		if (ended == pid)
			break;
		if (ended < 0)
			fail(action, strerror(errno));
		take_output(5);
	}
	if (status != 0)
		fail(action, "failed");
}

static void
do_end(const char *action)
{
	long long end = now_ms() + LIMIT_MS;

	while (!child_ended) {
		if (now_ms() > end)
			fail(action, "the command goes on");
		take_output(5);
		check_child();
	}
	take_output(0);
}

static void
do_size(const char *action, const char *text)
{
	struct winsize size = {0};

	if (sscanf(text, "%hux%hu", &size.ws_row, &size.ws_col) != 2 ||
	    ioctl(master, TIOCSWINSZ, &size) != 0)
		fail(action, "no such size");
}

static void
do_action(const char *action)
{
	if (strncmp(action, "expect:", 7) == 0)
		do_expect(action, action + 7);
	else if (strncmp(action, "send:", 5) == 0)
		do_send(action, action + 5);
	else if (strncmp(action, "run:", 4) == 0)
		do_run(action, action + 4);
	else if (strncmp(action, "size:", 5) == 0)
		do_size(action, action + 5);
	else if (strcmp(action, "hangup") == 0) {
		close(master);
		master = -1;
	} else if (strcmp(action, "end") == 0)
		do_end(action);
	else
		fail(action, "no such action");
}

/* Returns in the parent only. */
static void
start_child(char **argv)
{
	struct winsize size = {.ws_row = 25, .ws_col = 200};
	char *name;
	char pid[16];

	master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0 ||
	    (name = ptsname(master)) == NULL) {
		perror("ptyrun: terminal");
		exit(71);
	}
	ioctl(master, TIOCSWINSZ, &size);
	child = fork();
	if (child == 0) {
		int tty;

		for (int number = 1; number < NSIG; number++)
			signal(number, SIG_DFL);
		setsid();
		tty = open(name, O_RDWR);
		if (tty < 0 || ioctl(tty, TIOCSCTTY, 0) != 0)
			_exit(71);
		dup2(tty, 0);
		dup2(tty, 1);
		dup2(tty, 2);
		if (tty > 2)
			close(tty);
		execvp(argv[0], argv);
		_exit(127);
	}
	if (child < 0) {
		perror("ptyrun: fork");
		exit(71);
	}
	snprintf(pid, sizeof pid, "%d", (int)child);
	setenv("PTY_LEADER", pid, 1);
}

int
main(int argc, char **argv)
{
	FILE *out;
	int i;
	int dashes = 2;

	while (dashes < argc && strcmp(argv[dashes], "--") != 0)
		dashes++;
	if (dashes + 1 >= argc) {
		fprintf(stderr, "usage: ptyrun FILE ACTION... -- COMMAND [ARG...]\n");
		return 64;
	}
	start_child(argv + dashes + 1);
	for (i = 2; i < dashes; i++)
		do_action(argv[i]);
	do_end("end");
	out = fopen(argv[1], "we");
	if (out == NULL) {
		perror(argv[1]);
		return 71;
	}
	if (WIFSIGNALED(child_status))
		fprintf(out, "signal %d\n", WTERMSIG(child_status));
	else
		fprintf(out, "exit %d\n", WEXITSTATUS(child_status));
	return fclose(out) != 0;
}
